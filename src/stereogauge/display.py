"""What a notebook shows of a result, and what `.show()` and `.save()` do.

Results belong to lower layers than the code that draws them, so that code is imported when it is first used.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any, Generic, TypeVar

Array = TypeVar("Array")
DRAWING = "stereogauge.report.notebook"


def _drawing() -> Any:
    return importlib.import_module(DRAWING)


def text(result: Displayed) -> str:
    """The tables of a result as plain text."""
    return str(_drawing().text(result))


class Displayed:
    """A result that notebooks show as table or picture."""

    def _repr_html_(self) -> str:
        return str(_drawing().html(self))

    @property
    def tables(self) -> tuple[Any, ...]:
        """The tables that it is shown as; none for a picture."""
        return tuple(_drawing().tables_of(self))

    def to_html(self) -> str:
        """A fragment of a page that shows it."""
        return str(_drawing().html(self))

    def show(self) -> None:
        """Show it: in a notebook below the cell, elsewhere as a page in the browser."""
        _drawing().show(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file whose suffix says in which form; a suffix that does not fit is refused by name."""
        written: Path = _drawing().save(self, Path(path))
        return written


class NamedMaps(dict[str, Array], Displayed, Generic[Array]):
    """Maps of one image by name: a dict that notebooks show as pictures."""
