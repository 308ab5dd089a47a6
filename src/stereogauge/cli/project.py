"""The project file: `stereogauge.toml` in the current folder says what commands are about, so that they need no words.

store = "scores.sqlite"
protocol = "default"                    # a preset or a TOML file
profile = "driver-assistance"           # for answer, explain and tune
metrics = ["bad@1", "rms"]
[[datasets]]                            # or dataset = … and results = … where there is only one
dataset = "middlebury-v3:Q:MiddEval3"   # as on the command line
results = ["results"]
[report]                                # any option of a command, by its name
out = "report"

What the command line says goes before what the file says.
"""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stereogauge.errors import StereogaugeError, unknown_name
from stereogauge.paths import PROJECT_KEYS, is_project

FILENAME = "stereogauge.toml"
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


@dataclass(frozen=True)
class Project:
    """The content of a project file: what is common, the datasets with their results, and tables of commands."""

    common: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[Mapping[str, Any], ...] = ()
    commands: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def defaults(self, command: str, *, named: bool = False) -> list[dict[str, Any]]:
        """The values of a command's parameters, one set for each time that it is to run.

        `evaluate` runs once for each dataset, unless the command line has `named` one.
        """
        runs = self.datasets if command == "evaluate" and not named else self.datasets[:1]
        runs = runs or ({},)
        own = {key.replace("-", "_"): value for key, value in self.commands.get(command, {}).items()}
        found = []
        for run in runs:
            values = {**self.common, **run}
            if command == "validate" and values.get("results"):
                own = {"path": values["results"][0], **own}
            found.append({k: v for k, v in values.items() if command in GOES_TO.get(k, (command,))} | own)
        return found


def read_project(commands: Sequence[str], folder: Path = Path()) -> Project | None:
    """The project of a folder; None where there is no file, or one that describes a dataset or results."""
    path = folder / FILENAME
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None  # a broken manifest is told by the command that needs it
    if not is_project(content):
        return None
    for key, value in content.items():
        if key not in (*PROJECT_KEYS, *commands):
            raise unknown_name(f"entry of {path}", key, {*PROJECT_KEYS, *commands})
        if key not in PROJECT_KEYS and not isinstance(value, dict):
            raise StereogaugeError(f"{path}: {key} should be a table of the command's options, found {value!r}.")
    tables = {key: value for key, value in content.items() if key not in PROJECT_KEYS}
    return Project(_common(content, path), _datasets(content, path), tables)


def _common(content: Mapping[str, Any], path: Path) -> dict[str, Any]:
    kept = {key: content[key] for key in ("store", "protocol", "profile") if key in content}
    wrong = next((key for key, value in kept.items() if not isinstance(value, str)), None)
    if wrong is not None:
        raise StereogaugeError(f"{path}: {wrong} should be text, found {kept[wrong]!r}.")
    if "profile" not in kept and content.get("profiles"):
        kept["profile"] = _texts(content["profiles"], "profiles", path)[0]
    return kept | {key: _texts(content[key], key, path) for key in ("metrics", "regions") if key in content}


def _datasets(content: Mapping[str, Any], path: Path) -> tuple[Mapping[str, Any], ...]:
    tables = content.get("datasets", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise StereogaugeError(f"{path}: datasets are tables, [[datasets]] with dataset and results; found {tables!r}.")
    single = {key: content[key] for key in ("dataset", "results") if key in content}
    found = []
    for table in [*([single] if single else []), *tables]:
        results = {"results": _texts(table["results"], "results", path)} if "results" in table else {}
        found.append({**{key.replace("-", "_"): value for key, value in table.items()}, **results})
    return tuple(found)


def _texts(value: Any, key: str, path: Path) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not values or not all(isinstance(entry, str) for entry in values):
        raise StereogaugeError(f"{path}: {key} should be a list of texts, found {value!r}.")
    return values


def told(command: Callable[..., None], values: Mapping[str, Any], say: Callable[[str], None]) -> Callable[..., None]:
    """The command, which says first what it took from the file."""
    known = inspect.signature(command).parameters

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        used = {key: value for key, value in values.items() if key in known and _text(options[key]) == _text(value)}
        if used:
            say(f"from {FILENAME}: {', '.join(f'{key} {_text(value)}' for key, value in used.items())}")
        command(*arguments, **options)

    return run


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
