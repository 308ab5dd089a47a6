"""What commands print with --format json fits the schema that `stereogauge schema` prints."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import COMMANDS, _application, main
from stereogauge.cli.schemas import SCHEMAS, schema_of

jsonschema = pytest.importorskip("jsonschema", reason="the package jsonschema is not installed")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return int(ended.value.code or 0), capsys.readouterr().out


def check(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    form = ["--json"] if words[0] == "store" else ["--format", "json"]
    code, out = printed(capsys, *words, *form)
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
    for name in SCHEMAS:
        assert name in COMMANDS
        jsonschema.Draft202012Validator.check_schema(schema_of(name))


def prints_json(function: Callable[..., None]) -> bool:
    """Whether a command has an option --json, or one that takes the choice json."""
    signature = inspect.signature(function, eval_str=True).parameters.values()
    declared = [(one.annotation, *typing.get_args(one.annotation)) for one in signature]
    return any(
        "json" in getattr(part, "__members__", {}) or "--json" in (getattr(part, "param_decls", None) or ())
        for parts in declared
        for part in parts
    )


def functions(name: str) -> Iterator[Callable[..., None]]:
    """The command, or the commands below it, as the application has them."""
    application = _application(name, {})
    below = [group.typer_instance for group in application.registered_groups]
    for part in (application, *(one for one in below if one)):
        yield from (one.callback for one in part.registered_commands if one.callback is not None)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_with_json_has_a_schema(name: str) -> None:
    """Judged by the declared options, not by the text of the help."""
    with_json = any(prints_json(inspect.unwrap(one)) for one in functions(name))
    assert with_json == (name in SCHEMAS)


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


def test_the_command_prints_and_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert json.loads(printed(capsys, "schema")[1]) == sorted(SCHEMAS)
    assert json.loads(printed(capsys, "schema", "rank")[1])["title"] == "stereogauge rank --format json"
    assert printed(capsys, "schema", "ranks")[0] == 2
