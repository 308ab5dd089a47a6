"""The project file `stereogauge.toml` in the current folder: defaults of commands, which then need no arguments.

store = "scores.sqlite"
protocol = "default"                    # a preset or a TOML file
profile = "driver-assistance"           # for answer, explain and tune
metrics = ["bad@1", "rms"]
[[datasets]]                            # or dataset = … and results = … where there is only one
dataset = "middlebury-v3:Q:MiddEval3"   # as on the command line
results = ["results"]
[report]                                # any option of a command, by its name
out = "report"

The command line takes precedence over the file.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from stereogauge.errors import FileError, StereogaugeError, unknown_name
from stereogauge.loading import Declaration, convert, entry, read_toml
from stereogauge.paths import PROJECT_KEYS, is_project

FILENAME = "stereogauge.toml"
Texts: TypeAlias = str | tuple[str, ...]
EVALUATING = ("evaluate", "compare")
GOES_TO: Mapping[str, tuple[str, ...]] = {
    "protocol": EVALUATING,
    "metrics": EVALUATING,
    "regions": EVALUATING,
    "profile": ("answer", "explain", "tune"),
    "dataset": ("evaluate", "validate", "tune"),
    "results": ("evaluate",),
}
"""The commands that a key of the file is for; those that are not listed are for all."""


class Project(Declaration, frozen=True):
    """The content of a project file; `commands` are its tables, with the options of one command each."""

    store: str | None = None
    protocol: str | None = None
    profile: str | None = None
    profiles: Texts = ()
    metrics: Texts = ()
    regions: Texts = ()
    dataset: str | None = None
    results: Texts = ()
    datasets: Annotated[tuple[Mapping[str, Any], ...], entry("[[datasets]] with dataset and results")] = ()
    commands: Mapping[str, Mapping[str, Any]] = {}

    @property
    def common(self) -> dict[str, Any]:
        """What holds for every dataset."""
        found = {
            "store": self.store,
            "protocol": self.protocol,
            "profile": self.profile or next(iter(_list(self.profiles)), None),
            "metrics": _list(self.metrics),
            "regions": _list(self.regions),
        }
        return {key: value for key, value in found.items() if value}

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The datasets with their results and options, by the names of parameters."""
        single = {key: value for key, value in (("dataset", self.dataset), ("results", self.results)) if value}
        tables = ([single] if single else []) + [dict(table) for table in self.datasets]
        for number, table in enumerate(tables, 1):
            if "results" in table:
                key = f"datasets.{number}.results"
                table["results"] = _list(convert(table["results"], Texts, FILENAME, key=key))
        return [_by_parameter(table) for table in tables]

    def defaults(self, command: str, *, named: bool = False) -> list[dict[str, Any]]:
        """The values of a command's parameters, one set per run.

        `evaluate` runs once for each dataset, unless the command line has `named` one.
        """
        runs = self.runs if command == "evaluate" and not named else self.runs[:1]
        own = _by_parameter(self.commands.get(command, {}))
        found = []
        for run in runs or [{}]:
            values = self.common | run
            if command == "validate" and values.get("results"):
                values["path"] = values["results"][0]
            found.append({key: value for key, value in values.items() if command in GOES_TO.get(key, (command,))} | own)
        return found


def _by_parameter(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("-", "_"): value for key, value in table.items()}


def _list(value: Texts) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def read_project(commands: Sequence[str]) -> Project | None:
    """The project of the current folder; None where there is no file, or one that describes a dataset or results."""
    path = Path(FILENAME)
    try:
        content = read_toml(path, "a project")
    except FileError:
        return None  # the command that needs a broken manifest says so
    if not is_project(content):
        return None
    tables = {key: value for key, value in content.items() if key not in PROJECT_KEYS}
    for key, value in tables.items():
        if key not in commands:
            raise unknown_name(f"entry of {path}", key, {*PROJECT_KEYS, *commands})
        convert(value, Mapping[str, Any], str(path), StereogaugeError, key)
    common = {key: value for key, value in content.items() if key in PROJECT_KEYS}
    project: Project = convert({**common, "commands": tables}, Project, str(path))
    return project


def announced(command: Callable[..., None], values: Mapping[str, Any]) -> Callable[..., None]:
    """The command, which first prints what it took from the file."""
    known = inspect.signature(command).parameters

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        used = {key: value for key, value in values.items() if key in known and _text(options[key]) == _text(value)}
        if used:
            taken = ", ".join(f"{key} {_text(value)}" for key, value in used.items())
            sys.stderr.write(f"from {FILENAME}: {taken}\n")
        command(*arguments, **options)

    return run


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
