"""Single files for `stereogauge validate`: what each holds, what is wrong or suspicious about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from stereogauge.errors import StereogaugeError
from stereogauge.io.content import display_name
from stereogauge.io.inspection import FileReport, inspect_disparity


@dataclass(frozen=True)
class FileFinding:
    """One file: its report, or the sentence that says why there is none."""

    name: str
    report: FileReport | None
    error: str | None

    @property
    def is_sound(self) -> bool:
        """Whether the file was read and nothing about it is suspicious."""
        return self.report is not None and not self.report.problems

    def lines(self) -> list[str]:
        """For a person: one line on what the file holds, one for each problem."""
        if self.report is None:
            return [str(self.error)]
        report = self.report
        if report.minimum is None:
            values = "no value"
        else:
            values = f"{report.minimum:g} to {report.maximum:g} px, median {report.percentiles[50]:g}"
        size = f"{report.width} × {report.height}, {report.valid_share:.1%} known"
        return [f"{report.name}: {report.encoding}, {size}, {values}", *(f"  {problem}" for problem in report.problems)]

    def to_dict(self) -> dict[str, Any]:
        """For a program: plain values."""
        return {**asdict(self), "sound": self.is_sound}


def validate_files(
    paths: Iterable[str], *, encoding: str | None = None, scale: float | None = None, offset: float = 0.0
) -> list[FileFinding]:
    """Look at every file; one that cannot be read does not keep the others from being looked at."""
    return [_validated(path, encoding, scale, offset) for path in paths]


def _validated(path: str, encoding: str | None, scale: float | None, offset: float) -> FileFinding:
    try:
        report = inspect_disparity(path, encoding=encoding, scale=scale, offset=offset)
    except StereogaugeError as error:
        return FileFinding(display_name(path), None, str(error))
    return FileFinding(report.name, report, None)
