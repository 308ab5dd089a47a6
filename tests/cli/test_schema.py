"""What commands print with --format json fits the schema that `stereogauge schema` prints."""

from __future__ import annotations

import inspect
import json
import shutil
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import COMMANDS, application, main
from stereogauge.cli.schema import DOCUMENTS, schema_of
from stereogauge.reproduction.declaration import Status
from stereogauge.tuning.result import State

jsonschema = pytest.importorskip("jsonschema", reason="the package jsonschema is not installed")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0), capsys.readouterr().out


def check(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code, out = printed(capsys, *words, "--format", "json")
    assert code in (0, 1), words
    document = json.loads(out)
    jsonschema.Draft202012Validator(schema_of(words[0])).validate(document)
    return document


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("schemas")
    scene = sg.load_dataset("motorcycle")["motorcycle"]
    part = slice(150, 270), slice(200, 400)
    for name, image in (("left", scene.left), ("right", scene.right)):
        cv2.imwrite(str(root / f"{name}.png"), image[part])
    truth = np.ascontiguousarray(scene.gt[part])
    sg.write_disparity(root / "gt.pfm", truth)
    sg.write_disparity(root / "estimate.pfm", truth + 1)
    paths = {"ground_truth": "gt.pfm", "left": "left.png", "right": "right.png"}
    (root / "small" / "part").mkdir(parents=True)
    for name in paths.values():
        shutil.copy(root / name, root / "small" / "part" / name)
    lines = [f'{part} = "{{scene}}/{name}"' for part, name in paths.items()]
    (root / "small" / "stereogauge.toml").write_text("\n".join(['name = "small"', "[paths]", *lines]))
    for place, values in (("truth", truth), ("results/mine", truth + 1)):
        (root / place).mkdir(parents=True)
        sg.write_disparity(root / place / "part.pfm", values)
    table = sg.evaluate(
        {name: {"part": truth + error} for name, error in (("near", 1), ("far", 3), ("off", 5))},
        [sg.Scene("part", gt=truth, dataset="made")],
        ["bad@2", "rms"],
        ["all"],
    )
    with sg.open_store(root / "scores.sqlite") as store:
        store.write(table)
    return root


def test_every_schema_is_one_and_names_a_command() -> None:
    for name in DOCUMENTS:
        assert name in COMMANDS
        jsonschema.Draft202012Validator.check_schema(schema_of(name))


def prints_json(function: Callable[..., None]) -> bool:
    """Whether a command has an option that takes the choice json."""
    signature = inspect.signature(function, eval_str=True).parameters.values()
    declared = [(one.annotation, *typing.get_args(one.annotation)) for one in signature]
    choices = [(*getattr(part, "__members__", ()), *typing.get_args(part)) for parts in declared for part in parts]
    return any("json" in found for found in choices)


def functions(name: str) -> Iterator[Callable[..., None]]:
    """The command, or the commands below it, as the application has them."""
    app = application(name, {})
    below = [group.typer_instance for group in app.registered_groups]
    for part in (app, *(one for one in below if one)):
        yield from (one.callback for one in part.registered_commands if one.callback is not None)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_with_json_has_a_schema(name: str) -> None:
    """Judged by the declared options, not by the text of the help."""
    with_json = any(prints_json(inspect.unwrap(one)) for one in functions(name))
    assert with_json == (name in DOCUMENTS)


STUDIED = ["study", "synthetic:planes", "--size", "96x64", "--damages", "blur,bumps", "--metrics", "rms,p-bump"]
TUNED = [
    *("tune", "--matcher", "opencv-bm", "--dataset", "{0}/small", "--objective", "bad@2", "--trials", "2"),
    *("--folds", "0", "--jobs", "1", "--ndisp", "48", "--store", "{0}/tuned.sqlite"),
]


@pytest.mark.parametrize(
    "words",
    [
        ["match", "{0}/left.png", "{0}/right.png", "--matcher", "opencv-bm", "--ndisp", "48"],
        ["match", "--list"],
        ["compare", "{0}/gt.pfm", "{0}/estimate.pfm"],
        ["evaluate", "{0}/truth", "{0}/results", "--store", "{0}/own.sqlite", "--metrics", "rms"],
        ["evaluate", "{0}/truth", "{0}/results", "--store", "{0}/none.sqlite", "--metrics", "rms", "--dry-run"],
        ["validate", "{0}/estimate.pfm"],
        ["regions", "{0}/gt.pfm"],
        ["metrics"],
        ["metrics", "bad"],
        ["protocols"],
        ["protocols", "raft-stereo"],
        ["datasets"],
        ["datasets", "show", "booster"],
        ["table", "{0}/scores.sqlite"],
        ["answer", "{0}/scores.sqlite", "--profiles"],
        ["rank", "{0}/scores.sqlite", "--model", "extended"],
        ["rank", "{0}/scores.sqlite", "--model", "a-star"],
        ["analyze", "{0}/scores.sqlite"],
        ["store", "info", "{0}/scores.sqlite"],
        ["confidence", "--list"],
        ["confidence", "--left", "{0}/left.png", "--right", "{0}/right.png", "--gt", "{0}/gt.pfm", "--ndisp", "48"],
        ["study", "--list"],
        ["study", "--images", "--list"],
        ["study", "synthetic:planes", "--size", "96x64", "--images", "--matcher", "opencv-bm", "--damages", "gain"],
        ["zero-shot", "{0}/truth={0}/results", "--store", "{0}/zero.sqlite", "--protocol", "raft-stereo"],
    ],
    ids=lambda words: " ".join(words).replace("{0}/", ""),
)
def test_documents_fit_their_schemas(capsys: pytest.CaptureFixture[str], folder: Path, words: list[str]) -> None:
    check(capsys, *(word.format(folder) for word in words))


def test_a_document_that_breaks_the_promise_is_found(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    document = check(capsys, "compare", str(folder / "gt.pfm"), str(folder / "estimate.pfm"))
    document["scores"][0]["value"] = "np.float64(3.2)"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema_of("compare")).validate(document)


def changed(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    """A copy with another value at one place, or without that place."""
    whole = json.loads(json.dumps(document))
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    if value is ABSENT:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return whole


ABSENT = object()
EXPLAINED = ["explain", "{0}/scores.sqlite", "near", "far", "--weight", "bad@2:all=1", "--no-maps"]
GATED = ["gate", "{0}/scores.sqlite", "--baseline", "{0}/scores.sqlite", "--max", "bad@2:all=+0.1"]
REPRODUCED = ["reproduce", "sigma-z-error", "--item", "figure 1", "--data", "{1}"]
BROKEN: list[tuple[list[str], list[tuple[tuple[str | int, ...], Any]]]] = [
    (
        EXPLAINED,
        [
            (("difference",), ABSENT),
            (("difference",), "np.float64(-1.0)"),
            (("scores",), [1.0]),
            (("terms", 0, "amount"), ABSENT),
            (("scenes", 0, "amount"), "small"),
            (("pieces",), [[1.0]]),
            (("better",), 1),
        ],
    ),
    (
        GATED,
        [(("gate",), ABSENT), (("gate", "rows"), ABSENT), (("gate", "rows", 0, 0), ["near"]), (("gate", "notes"), "")],
    ),
    (
        STUDIED,
        [
            (("study",), ABSENT),
            (("sensitivity", "scaled"), ABSENT),
            (("sensitivity", "scaled", 0), 1.0),
            (("study", "responses", 0, "strength"), None),
            (("study", "responses", 0, "value"), "nan"),
        ],
    ),
    (
        TUNED,
        [
            (("trials",), ABSENT),
            (("trials", 0, "state"), "finished"),
            (("trials", 0, "parameters"), ["block"]),
            (("states", "failed"), ABSENT),
            (("seen", 0, "percent"), ABSENT),
            (("objectives", 0, "direction"), "down"),
            (("best",), "0"),
        ],
    ),
    (
        REPRODUCED,
        [
            (("rows",), ABSENT),
            (("rows", 0, "status"), "probably"),
            (("rows", 0, "ours"), [1]),
            (("items", 0, "figures"), ABSENT),
        ],
    ),
]


@pytest.mark.parametrize(
    ("words", "breaks"),
    [
        pytest.param(words, breaks, id=words[0], marks=[pytest.mark.slow] if words is TUNED else [])
        for words, breaks in BROKEN
    ],
)
def test_documents_that_hold_something_else_are_refused(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    words: list[str],
    breaks: list[tuple[tuple[str | int, ...], Any]],
    request: pytest.FixtureRequest,
) -> None:
    data = request.getfixturevalue("data_root") if words is REPRODUCED else ""
    document = check(capsys, *(word.format(folder, data) for word in words))
    validator = jsonschema.Draft202012Validator(schema_of(words[0]))
    for path, value in breaks:
        assert not validator.is_valid(changed(document, path, value)), path
    assert not validator.is_valid({})
    assert not validator.is_valid([{"anything": 1}])


def test_words_that_a_document_may_hold_are_those_of_the_program() -> None:
    states = schema_of("tune")["$defs"]["States"]["required"]
    assert sorted(states) == sorted(typing.get_args(State))
    statuses = schema_of("reproduce")["$defs"]["Row"]["properties"]["status"]["enum"]
    assert sorted(statuses) == sorted(status.value for status in Status)


def test_the_command_prints_and_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed(capsys, "schema")[1]) == sorted(DOCUMENTS)
    assert json.loads(printed(capsys, "schema", "rank")[1])["title"] == "stereogauge rank --format json"
    assert printed(capsys, "schema", "ranks")[0] == 2
