"""Typed answers of the API and the numbers in them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator

from stereogauge.text import json_value

Infinity = Literal["inf", "-inf"]
Number = Annotated[float | Infinity | None, BeforeValidator(json_value)]
"""A number; null where there is none, the text "inf" where it is infinite: the rule of `stereogauge.text`."""
Numbers = Annotated[list[float], BeforeValidator(json_value)]
Integers = Annotated[list[int], BeforeValidator(json_value)]
Bounds = Annotated[tuple[float | Infinity | None, float | Infinity | None], BeforeValidator(json_value)]
Text = Annotated[str, BeforeValidator(lambda value: " ".join(str(value).split()))]
"""One line of text, of a docstring for example."""


class Answer(BaseModel):
    """A part of an answer."""

    @classmethod
    def of(cls, found: Any, **stated: Any) -> Self:
        """The answer with the fields that are stated; the others are attributes of `found`."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields if name not in stated}, **stated)
