"""Scores, where they came from and what failed, in one SQL database: a SQLite file by default, PostgreSQL by URL."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stereogauge.store.store import Store

__all__ = ["Store", "open_store"]


def open_store(url: str | os.PathLike[str], *, read_only: bool = False, timeout: float = 30.0) -> Store:
    """The store at a path (SQLite) or a database URL (`postgresql+psycopg://user@host/name`); made when it does not
    exist.

    `read_only` refuses to write and works on media that cannot be written. `timeout` is how many seconds to wait for
    another writer.

    >>> truth = np.array([[4, 4, 8], [4, 4, 8], [4, 4, 8]])
    >>> with sg.open_store("scores.sqlite") as store:
    ...     store.write(sg.evaluate({"near": truth + 2}, sg.Scene("step", gt=truth), ["mae"], ["all"]))
    >>> with sg.open_store("scores.sqlite", read_only=True) as store:
    ...     store.scores(algorithms=["near"]).value("mae")
    2.0
    """
    from stereogauge.store.store import Store

    return Store.open(url, read_only=read_only, timeout=timeout)


def __getattr__(name: str) -> Any:
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("stereogauge.store.store").Store
