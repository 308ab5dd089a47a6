"""One loader for the files that users write: each refusal is one sentence with file, entry, finding and what fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pytest

from stereogauge import StereogaugeError, load_protocol
from stereogauge.errors import DatasetError, FileError, ProtocolError
from stereogauge.loading import Declaration, check, convert, described, entry, load, number, whole
from stereogauge.ranking.profile import load_profile


class Camera(Declaration, frozen=True):
    focal: Annotated[float, number("focal length", "px", above=0)]
    share: Annotated[float, number("share of the pixels", least=0, most=1)] = 0.5


class Rig(Declaration, frozen=True):
    camera: Camera
    name: str = ""
    scale: float | Mapping[str, float] | None = None
    labels: Mapping[str, int | tuple[int, ...]] = {}
    rule: Literal["auto", "dataset"] = "auto"
    count: Annotated[int, whole("number of pairs", least=1)] = 1
    order: tuple[str, ...] = ()
    others: Mapping[str, Camera] = {}
    quiet: Annotated[bool, entry("print nothing")] = False


def test_a_file_becomes_typed_values(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(
        'name = "rig"\nscale = { teddy = 4 }\norder = ["a", "b"]\n[camera]\nfocal = 700\n'
        "[labels]\nglass = 7\nground = [1, 2]\n[others.second]\nfocal = 1.5\n"
    )
    rig = load(path, Rig, "a rig")
    assert rig.camera == Camera(700.0)
    assert isinstance(rig.camera.focal, float)
    assert rig.scale == {"teddy": 4.0}
    assert (rig.order, rig.labels) == (("a", "b"), {"glass": 7, "ground": (1, 2)})
    assert rig.others["second"].focal == 1.5


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"camera": {"focal": 0}}, "rig: camera.focal must be a number greater than 0 in px (focal length); found 0."),
        ({"camera": {}}, "rig needs camera.focal, a number greater than 0 in px (focal length)."),
        ({"camera": 3}, "rig: camera must be a table with focal, share; found 3."),
        (
            {"camera": {"focal": 1, "share": 1.5}},
            "rig: camera.share must be a number from 0 to 1 (share of the pixels); found 1.5.",
        ),
        (
            {"camera": {"fokal": 1}},
            "Unknown entry of rig 'camera.fokal'; known are: camera.focal, camera.share. Did you mean 'camera.focal'?",
        ),
        ({"scale": {"teddy": "x"}}, "rig: scale.teddy must be a number; found 'x'."),
        ({"scale": "x"}, "rig: scale must be a number or a table of numbers; found 'x'."),
        ({"labels": {"glass": 1.5}}, "rig: labels.glass must be a whole number or a list of whole numbers; found 1.5."),
        ({"labels": {"a b": True}}, 'rig: labels."a b" must be a whole number or a list of whole numbers; found True.'),
        ({"rule": "atuo"}, "rig: rule must be 'auto' or 'dataset'; found 'atuo'."),
        ({"count": 0}, "rig: count must be a whole number of at least 1 (number of pairs); found 0."),
        ({"order": "ab"}, "rig: order must be a list of texts; found 'ab'."),
        ({"order": ["a", 3]}, "rig: order.2 must be text; found 3."),
        ({"others": {"b": {"focal": "x"}}}, "rig: others.b.focal must be a number greater than 0"),
        ({"quiet": 1}, "rig: quiet must be true or false (print nothing); found 1."),
    ],
)
def test_a_refusal_names_the_entry_what_was_found_and_what_fits(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(StereogaugeError) as refused:
        convert({"camera": {"focal": 1}, **change}, Rig, "rig")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_declared_numbers_are_finite(value: float) -> None:
    with pytest.raises(StereogaugeError, match="must be a number"):
        convert({"focal": value}, Camera, "camera")


def test_numbers_of_numpy_are_numbers() -> None:
    assert convert({"focal": np.float32(2), "share": np.int64(1)}, Camera, "camera") == Camera(2.0, 1.0)


def test_files_that_are_no_toml(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    with pytest.raises(FileError, match=r"rig.toml cannot be read as a rig: No such file"):
        load(path, Rig, "a rig")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileError, match="not UTF-8"):
        load(path, Rig, "a rig")
    path.write_text("name = 'a'\ncamera = ]\n")
    with pytest.raises(DatasetError, match=r"is not valid TOML: .*line 2"):
        load(path, Rig, "a rig", DatasetError)
    path.write_text("name = " + "[" * 100_000)
    with pytest.raises(FileError, match="is not valid TOML"):
        load(path, Rig, "a rig")


@pytest.mark.parametrize(
    ("read", "entry"), [(load_protocol, "peak"), (load_protocol, "border"), (load_profile, "[weights]\nmae")]
)
@pytest.mark.parametrize("written", ["9" * 400, "9" * 4000, "9" * 5000, f"0x{'f' * 5000}"])
def test_a_number_of_many_digits_is_one_sentence(
    tmp_path: Path, read: Callable[[str], object], entry: str, written: str
) -> None:
    path = tmp_path / "long.toml"
    path.write_text(f"{entry} = {written}")
    with pytest.raises(StereogaugeError) as refused:
        read(str(path))
    assert len(str(refused.value)) < 1000
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("read", [load_protocol, load_profile])
@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0", b"\xff" * 100, b"\0" * 100, bytes(range(256))])
def test_a_binary_file_is_no_protocol_and_no_profile(
    tmp_path: Path, read: Callable[[str], object], data: bytes
) -> None:
    path = tmp_path / "binary.toml"
    path.write_bytes(data)
    with pytest.raises(StereogaugeError, match=r"binary\.toml") as refused:
        read(str(path))
    assert str(refused.value).isprintable()


def test_what_is_built_in_python_is_checked_alike() -> None:
    class Parameters(Declaration, frozen=True):
        border: Annotated[float, number("margin", "px", least=0)] = 0.0

        def __post_init__(self) -> None:
            check(self, "geometry", ProtocolError)

    assert Parameters(3).border == 3
    with pytest.raises(ProtocolError, match=r"geometry: border must be a number of at least 0 in px \(margin\)"):
        Parameters(-1)


def test_types_in_words() -> None:
    assert described(Mapping[str, str | tuple[str, ...]]) == "a table of texts or lists of texts"
    assert described(int | Literal["dataset", "hci"]) == "a whole number or 'dataset' or 'hci'"
