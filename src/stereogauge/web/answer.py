"""Typed answers of the API and the numbers in them."""

from __future__ import annotations

import math
from typing import Annotated, Any, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator


def finite(value: Any) -> Any:
    """A plain number or lists of them, null where one is not finite: the page shows a dash there."""
    if isinstance(value, list | tuple | np.ndarray):
        return [finite(entry) for entry in np.asarray(value).tolist()]
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


Number = Annotated[float | None, BeforeValidator(finite)]
Numbers = Annotated[list[float], BeforeValidator(finite)]
Integers = Annotated[list[int], BeforeValidator(finite)]
Bounds = Annotated[tuple[float | None, float | None], BeforeValidator(finite)]
Text = Annotated[str, BeforeValidator(lambda value: " ".join(str(value).split()))]
"""One line of text, of a docstring for example."""


class Answer(BaseModel):
    """A part of an answer."""

    @classmethod
    def of(cls, found: Any, **stated: Any) -> Self:
        """The answer with the fields that are stated; the others are attributes of `found`."""
        return cls(**{name: getattr(found, name) for name in cls.model_fields if name not in stated}, **stated)
