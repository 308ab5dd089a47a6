"""Requests that the site refuses for reasons of its own."""

from __future__ import annotations

from collections.abc import Iterable

from stereogauge.errors import StereogaugeError, UnknownNameError, unknown_name


class UnknownChoiceError(UnknownNameError):
    """A name that does not exist on this site, with the names that do."""

    def __init__(self, kind: str, name: str, allowed: Iterable[str]) -> None:
        self.allowed = sorted(allowed)
        super().__init__(str(unknown_name(kind, name, self.allowed)))


class RefusedError(StereogaugeError):
    """A refused request, with its HTTP status and the seconds after which it may be sent again."""

    def __init__(self, sentence: str, status: int = 422, wait: float = 0.0) -> None:
        super().__init__(sentence)
        self.status = status
        self.wait = wait


class HiddenTruthError(RefusedError):
    """A request whose answer would show hidden ground truth."""

    def __init__(self, scene: str, what: str) -> None:
        super().__init__(f"The ground truth of {scene} is hidden: {what} not shown.", 403)


class BusyError(RefusedError):
    """A request that would make others wait too long."""

    def __init__(self, sentence: str = "Many expensive questions are being answered; ask again in a minute.") -> None:
        super().__init__(sentence, 503, 30.0)


def printable(text: object) -> str:
    """A text for the log on one line: what a stranger wrote must not look like an entry of its own.

    >>> printable("scene\\nERROR all is lost")
    'scene?ERROR all is lost'
    """
    return "".join(letter if letter.isprintable() else "?" for letter in str(text))
