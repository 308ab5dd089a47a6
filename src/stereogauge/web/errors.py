"""Requests that the site refuses for reasons of its own."""

from __future__ import annotations

from collections.abc import Iterable

from stereogauge.errors import StereogaugeError, UnknownNameError, unknown_name


class UnknownChoiceError(UnknownNameError):
    """A name that does not exist on this site, with the names that do."""

    def __init__(self, kind: str, name: str, allowed: Iterable[str]) -> None:
        self.allowed = sorted(allowed)
        super().__init__(str(unknown_name(kind, name, self.allowed)))


class HiddenTruthError(StereogaugeError):
    """A request whose answer would show hidden ground truth."""

    def __init__(self, scene: str, what: str) -> None:
        super().__init__(f"The ground truth of {scene} is hidden: {what} not shown.")


class BusyError(StereogaugeError):
    """A request that would make others wait too long; it may be sent again later."""


def printable(text: object) -> str:
    """A text for the log on one line: what a stranger wrote must not look like an entry of its own.

    >>> printable("scene\\nERROR all is lost")
    'scene?ERROR all is lost'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in str(text))
