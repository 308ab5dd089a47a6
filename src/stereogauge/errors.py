"""Everything that a user can get wrong, as one sentence each.

A message names the file or value that was found, says what is allowed and what to do next. The command line prints it
and exits with code 2; an exception that is not a `StereogaugeError` is a defect of ours and keeps its traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

LONGEST_NAME = 200
"""Letters of an unknown name that its error repeats."""


class StereogaugeError(Exception):
    """Something about the input that the user can fix.

    >>> try:
    ...     sg.load_protocol("kiti-2015")
    ... except sg.StereogaugeError as problem:
    ...     print(problem)
    Unknown protocol 'kiti-2015'; known are: ... Did you mean 'kitti-2015'?
    """


class StereogaugeWarning(UserWarning):
    """Something about the input that looks wrong, although a score can be computed.

    The command line prints the same sentences as notes. `warnings.simplefilter("error", sg.StereogaugeWarning)` makes
    them errors.

    >>> import warnings
    >>> truth = np.tile(np.linspace(5, 60, 200), (50, 1))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     table = sg.evaluate((16 * truth, truth))
    >>> print(caught[0].message)
    estimate: The disparities are about 16 times too large (median 520, ground truth 32.5 px): set scale to 16.
    """


class FileError(StereogaugeError):
    """A file that cannot be read as what it should be."""


class Unreachable(StereogaugeError):  # noqa: N818
    """A server that does not answer: nothing is wrong with the file, and everything else that it holds fails too."""


class SizeError(StereogaugeError):
    """Two maps, masks or images that should have the same size do not."""


class UnknownNameError(StereogaugeError):
    """A metric, region, protocol, matcher, … that does not exist; `kind` and `name` say what was not found."""

    def __init__(self, sentence: str, kind: str = "", name: str = "") -> None:
        super().__init__(sentence)
        self.kind, self.name = kind, name


class NothingLeftError(StereogaugeError):
    """A selection in which the rule for missing scores leaves nothing to compare."""


class DatasetError(StereogaugeError):
    """A folder that is not laid out as its dataset should be."""


class ProtocolError(StereogaugeError):
    """A choice in a protocol that is not possible, or two protocols that do not agree."""


class StoreError(StereogaugeError):
    """A store that cannot be opened, read or written."""


class MatcherError(StereogaugeError):
    """A matcher that failed, ran out of time or memory, or got impossible parameters."""


class NotApplicable(StereogaugeError):  # noqa: N818 - a finding rather than a mistake
    """A metric that has no meaning for this scene, with the reason: shown as a gap, never as a number."""


class MissingDependency(StereogaugeError):  # noqa: N818
    """An optional package that this call needs."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package}; install it with: pip install 'stereogauge[{extra}]'.")


class MissingLibrary(StereogaugeError, ImportError):  # noqa: N818
    """The native library is not there, or cannot be built."""


def check_one_size(what: str, shape: tuple[int, ...], other: str, wanted: tuple[int, ...]) -> None:
    """Raise a `SizeError` where `what`, a map, mask or image, has another shape than `other`."""
    if shape != wanted:
        found, needed = ("×".join(map(str, reversed(one))) for one in (shape, wanted))
        raise SizeError(f"{what} is {found}, {other} {needed}; both must have one size.")


def unknown_name(kind: str, name: str, allowed: Iterable[str]) -> UnknownNameError:
    """The error for a name that is not in `allowed`, with the nearest one suggested."""
    names = sorted(allowed)
    close = difflib.get_close_matches(name[:LONGEST_NAME], names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    found = name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…"
    sentence = f"Unknown {kind} {found!r}; known are: {', '.join(names) or 'none'}.{hint}"
    return UnknownNameError(sentence, kind, name)


def one_of(kind: str, name: str, allowed: Iterable[str]) -> Any:
    """The name, which must be in `allowed`."""
    names = tuple(allowed)
    if name not in names:
        raise unknown_name(kind, name, names)
    return name


def cause(problem: BaseException) -> str:
    """What went wrong, without the error number and the path that the operating system puts around it."""
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


def one_line(reason: object) -> str:
    """The message of another library, shortened to fit into a sentence."""
    text = " ".join(str(reason).split()).rstrip(".")
    return text if len(text) <= 160 else text[:157] + "…"
