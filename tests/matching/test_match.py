"""One interface for every matcher, and what it makes of odd input."""

from __future__ import annotations

import functools
import sys
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

import stereogauge as sg
from stereogauge.errors import FileError, MatcherError, SizeError, UnknownNameError
from stereogauge.matching.declaration import Matcher, MatcherParameter, matchers
from stereogauge.matching.result import MatcherOutput, eight_bit, grey
from stereogauge.matching.run import parse_matcher

OURS = ("sgm", "opencv-sgbm", "opencv-bm")
SHIFT = 7


def shifted_pair(height: int = 40, width: int = 120) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A textured plane at disparity 7."""
    texture = np.random.default_rng(0).integers(0, 255, (height, width + SHIFT), dtype=np.uint8)
    smooth = cv2.GaussianBlur(texture, (0, 0), 1)
    return smooth[:, :width].copy(), smooth[:, SHIFT:].copy()


@pytest.mark.parametrize("matcher", OURS)
def test_a_plane_is_found_by_every_matcher(matcher: str) -> None:
    left, right = shifted_pair()
    result = sg.match(left, right, matcher=matcher, ndisp=16, right_view="second-run")
    inner = (slice(12, -12), slice(40, -40))
    assert result.disparity.dtype == np.float32
    assert np.nanmedian(np.abs(result.disparity[inner] - SHIFT)) < 0.2
    assert result.right_disparity is not None
    assert np.nanmedian(np.abs(result.right_disparity[inner] - SHIFT)) < 0.2
    assert result.seconds > 0
    assert result.cpu_seconds >= 0
    assert result.matcher == matcher


@pytest.mark.parametrize("mode", ["sgbm", "hh", "3way", "hh4"])
def test_opencv_modes(mode: str) -> None:
    left, right = shifted_pair()
    result = sg.match(left, right, matcher=f"opencv-sgbm:mode={mode},block=3,p1=72,p2=288", ndisp=16)
    assert result.parameters["mode"] == mode
    assert np.nanmedian(np.abs(result.disparity[:, 20:-10] - SHIFT)) < 0.2


def test_opencv_leaves_the_left_margin_unknown_unless_asked() -> None:
    left, right = shifted_pair()
    native = sg.match(left, right, matcher="opencv-sgbm", ndisp=16, full_width=False).disparity
    full = sg.match(left, right, matcher="opencv-sgbm", ndisp=16).disparity
    assert np.isnan(native[:, :15]).all()
    assert np.isfinite(full[:, :15]).mean() > 0.5


@pytest.mark.parametrize(
    ("matcher", "shape"),
    [
        *(("sgm", shape) for shape in [(1, 40), (40, 1), (1, 1), (3, 5), (2, 300)]),
        *(("opencv-sgbm", shape) for shape in [(1, 40), (3, 5), (2, 300)]),
    ],
)
def test_tiny_images_and_ranges_beyond_the_width(matcher: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    left, right = (rng.integers(0, 255, shape).astype(np.uint8) for _ in range(2))
    result = sg.match(left, right, matcher=matcher, ndisp=64)
    assert result.disparity.shape == shape
    known = result.disparity[np.isfinite(result.disparity)]
    assert ((known >= 0) & (known < 64)).all()


def test_what_opencv_refuses_is_one_sentence() -> None:
    with pytest.raises(MatcherError, match="refused images of 1 x 40 pixels") as caught:
        sg.match(np.zeros((40, 1), np.uint8), np.zeros((40, 1), np.uint8), matcher="opencv-sgbm", ndisp=64)
    assert "\n" not in str(caught.value)


def test_sgm_of_constant_images_is_zero_everywhere() -> None:
    flat = np.full((20, 50), 90, np.uint8)
    result = sg.match(flat, flat, ndisp=32)
    assert (result.disparity == 0).all()
    assert (result.right_disparity == 0).all()


def test_colour_and_sixteen_bits_give_what_grey_gives() -> None:
    left, right = shifted_pair()
    expected = sg.match(left, right, ndisp=16).disparity
    as_colour = [np.repeat(image[:, :, np.newaxis], 3, axis=2) for image in (left, right)]
    assert np.array_equal(sg.match(as_colour[0], right, ndisp=16).disparity, expected)
    assert np.array_equal(sg.match(*as_colour, ndisp=16).disparity, expected)
    wide = [image.astype(np.uint16) * 257 for image in (left, right)]
    assert np.array_equal(sg.match(*wide, ndisp=16).disparity, expected)
    assert np.array_equal(sg.match(*(image / 255.0 for image in (left, right)), ndisp=16).disparity, expected)
    narrow = sg.match(left, right, matcher="opencv-sgbm", ndisp=16).disparity
    scaled = sg.match(*wide, matcher="opencv-sgbm", ndisp=16).disparity
    assert np.nanmean(np.abs(narrow - scaled)) < 0.1


def test_files_are_read(tmp_path: Path) -> None:
    left, right = shifted_pair()
    for name, image in (("left.png", left), ("right.png", right)):
        cv2.imwrite(str(tmp_path / name), image)
    result = sg.match(tmp_path / "left.png", str(tmp_path / "right.png"), ndisp=16)
    assert np.array_equal(result.disparity, sg.match(left, right, ndisp=16).disparity)


@pytest.mark.parametrize(
    ("left", "right", "options", "kind", "message"),
    [
        (np.zeros((4, 5)), np.zeros((4, 6)), {}, SizeError, "is 5×4, the right one 6×4"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"ndisp": 0}, MatcherError, "between 1 and"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"ndisp": 2.5}, MatcherError, "whole number"),
        (np.full((4, 5), np.nan), np.zeros((4, 5)), {}, FileError, "not finite"),
        (np.zeros((4, 5), bool), np.zeros((4, 5)), {}, FileError, "must hold numbers"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"matcher": "sgn"}, UnknownNameError, "Did you mean 'sgm'"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"p1": 200}, MatcherError, "p2=100 must be greater than p1=200"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"p1": -1}, MatcherError, "whole number between 0 and 8000"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"p1": "many"}, MatcherError, "p1='many' is not allowed"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"window": "6x6"}, MatcherError, "one of 5x5, 7x7, 9x7"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"adapt": "perhaps"}, MatcherError, "true or false"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"penalty": 3}, UnknownNameError, "parameter of sgm"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"matcher": "sgm:p1"}, MatcherError, "write name=value"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"matcher": 3}, MatcherError, "id, a Matcher or a function"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"matcher": "opencv-sgbm:block=4"}, MatcherError, "must be odd"),
        (np.zeros((4, 5)), np.zeros((4, 5)), {"matcher": "opencv-bm"}, MatcherError, "block=15 does not fit"),
    ],
)
def test_mistakes_are_named(
    left: Any, right: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        sg.match(left, right, **{"ndisp": 8, **options})


def test_any_function_is_a_matcher() -> None:
    def constant(left: NDArray[Any], right: NDArray[Any], ndisp: int, value: float = 1.0) -> NDArray[np.float64]:
        assert left.ndim == 3
        return np.full(left.shape[:2], value)

    colour = np.zeros((6, 7, 3), np.uint8)
    result = sg.match(colour, colour, matcher=constant, ndisp=8, value=3)
    assert result.matcher == "constant"
    assert (result.disparity == 3).all()
    assert result.parameters == {"value": 3}
    assert result.right_disparity is None


def test_functions_may_return_both_maps_with_unknown_values() -> None:
    def both(left: NDArray[Any], right: NDArray[Any], ndisp: int) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.full(left.shape, np.inf), np.ones(left.shape, np.int64)

    result = sg.match(np.zeros((3, 4), np.uint8), np.zeros((3, 4), np.uint8), matcher=both, ndisp=4)
    assert np.isnan(result.disparity).all()
    assert result.right_disparity is not None
    assert result.right_disparity.dtype == np.float32


def test_a_function_in_this_process_may_return_what_one_in_another_may() -> None:
    def network(left: NDArray[Any], right: NDArray[Any], ndisp: int) -> dict[str, Any]:
        flat = np.ones((1, 1, *left.shape))
        return {"disparity": 3 * flat, "right": flat[0], "sigma": flat[0].tolist()}

    image = np.zeros((3, 4), np.uint8)
    result = sg.match(image, image, matcher=functools.partial(network), ndisp=4)
    assert (result.matcher, result.confidence_better) == ("network", "lower")
    assert result.right_disparity is not None
    assert result.confidence is not None
    assert result.disparity.shape == result.right_disparity.shape == result.confidence.shape == (3, 4)
    with pytest.raises(MatcherError, match="called with left, right, ndisp and does not take them"):
        sg.match(image, image, matcher=len, ndisp=4)


@pytest.mark.parametrize("returned", [None, "map", np.zeros((2, 2)), (1, 2, 3), {"disp": np.zeros((3, 4))}])
def test_wrong_returns_are_named(returned: Any) -> None:
    with pytest.raises(MatcherError, match="return"):
        sg.match(np.zeros((3, 4), np.uint8), np.zeros((3, 4), np.uint8), matcher=lambda *_: returned, ndisp=4)


def test_declared_matchers_complete_and_check_their_parameters() -> None:
    declared = Matcher(
        id="mine",
        name="Mine",
        source="",
        function=lambda left, right, ndisp, gain: MatcherOutput(np.full(left.shape, float(gain))),
        parameters=(MatcherParameter("gain", "float", 2.0, low=0, high=5, step=0.5),),
    )
    image = np.zeros((3, 4), np.uint8)
    assert (sg.match(image, image, matcher=declared, ndisp=4).disparity == 2).all()
    assert (sg.match(image, image, matcher=declared, ndisp=4, gain="4.5").disparity == 4.5).all()
    with pytest.raises(MatcherError, match="between 0 and 5"):
        sg.match(image, image, matcher=declared, ndisp=4, gain=6)


def test_texts_name_matchers_and_parameters() -> None:
    declared, parameters = parse_matcher("opencv-sgbm:block=5,mode=hh")
    assert declared.id == "opencv-sgbm"
    assert parameters == {"block": "5", "mode": "hh"}
    assert declared.complete(parameters)["block"] == 5


def test_every_declared_parameter_has_an_allowed_default_and_says_what_it_is() -> None:
    for declared in matchers().values():
        assert declared.description
        assert declared.complete({}) == {parameter.name: parameter.default for parameter in declared.parameters}
        for parameter in declared.parameters:
            assert parameter.description
            assert parameter.checked(str(parameter.default), declared.id) == parameter.default
            assert parameter.kind != "choice" or parameter.default in parameter.choices


def test_grey_images_keep_their_bits() -> None:
    assert grey(np.zeros((2, 3, 4), np.uint16), "left").dtype == np.uint16
    assert grey(np.full((2, 2, 3), [255, 0, 0], np.uint8), "left")[0, 0] == 76
    with pytest.raises(SizeError, match="left image must be"):
        grey(np.zeros((2, 2, 5)), "left")
    assert eight_bit(np.array([[0, 1000, 2000]], np.uint16)).tolist() == [[0, 128, 255]]
    assert eight_bit(np.full((1, 2), 7.0)).tolist() == [[0, 0]]


def program(tmp_path: Path, body: str) -> str:
    """A template that runs `body`, a Python program that finds left, right, out and ndisp in its arguments."""
    script = tmp_path / "matcher program.py"
    script.write_text("import sys\nleft, right, out, ndisp = sys.argv[1:5]\n" + body)
    return f"cmd:{sys.executable} '{script}' {{left}} {{right}} {{out}} {{ndisp}}"


WRITES = """
import numpy as np
from PIL import Image
shape = np.asarray(Image.open(left)).shape[:2]
with open(out, "wb") as file:
    file.write(b"Pf\\n%d %d\\n-1\\n" % (shape[1], shape[0]))
    file.write(np.full(shape, float(ndisp) / 2, "<f4").tobytes())
"""


def test_an_outside_program_is_a_matcher(tmp_path: Path) -> None:
    left, right = shifted_pair(10, 20)
    result = sg.match(left, right, matcher=program(tmp_path, WRITES), ndisp=12)
    assert (result.disparity == 6).all()
    assert result.disparity.shape == (10, 20)
    assert result.cpu_seconds > 0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_memory_is_the_programs_own(tmp_path: Path) -> None:
    left, right = shifted_pair(10, 20)
    ballast = np.ones(50_000_000)  # 400 MB of ours must not count
    body = "block = bytearray(b'x') * 100_000_000\nimport time\ntime.sleep(0.3)\n" + WRITES
    result = sg.match(left, right, matcher=program(tmp_path, body), ndisp=12)
    assert result.peak_memory is not None
    assert 100e6 < result.peak_memory < 300e6
    assert ballast.sum() > 0


def test_programs_get_parameters_and_declared_encodings(tmp_path: Path) -> None:
    body = (
        "from PIL import Image\nimport numpy as np\n"
        "Image.fromarray(np.full((10, 20), int(sys.argv[5]), np.uint8)).save(out)\n"
    )
    template = program(tmp_path, body) + " {level}"
    left, right = shifted_pair(10, 20)
    options = {"extension": "png", "encoding": "middlebury", "scale": 4}
    result = sg.match(left, right, matcher=template, ndisp=16, level=20, **options)
    assert (result.disparity == 5).all()
    with pytest.raises(MatcherError, match="cannot be filled"):
        sg.match(left, right, matcher=template, ndisp=16)


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        ("sys.stderr.write('no\\n  licence\\n'); sys.exit(3)", {}, "with exit code 3; its last words: no licence"),
        ("import time; time.sleep(60)", {"time_limit": 0.3}, "ended after its time limit of 0.3 s"),
        ("bytearray(3 * 2**30)", {"memory_limit": 1}, "memory limit 1 GiB"),
        ("pass", {}, r"without writing {out} \(disparity.pfm\); it wrote nothing"),
        ("open(out, 'w').write('Pf')", {}, "cannot be read"),
        ("import os; os.abort()", {}, "by signal SIGABRT"),
    ],
)
def test_failing_programs_are_named_with_their_last_words(
    tmp_path: Path, body: str, options: dict[str, Any], message: str
) -> None:
    left, right = shifted_pair(10, 20)
    with pytest.raises(MatcherError, match=message) as caught:
        sg.match(left, right, matcher=program(tmp_path, body), ndisp=8, **options)
    assert "\n" not in str(caught.value)
    if "licence" in message:
        assert caught.value.stderr == "no\n  licence\n"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("cmd:", "template is empty"),
        ("cmd:run {left} {right}", "has no {out}"),
        ("cmd:run '{left}", "cannot be split"),
        ("cmd:no-such-program {left} {right} {out}", "cannot start 'no-such-program'"),
    ],
)
def test_templates_are_checked(template: str, message: str) -> None:
    left, right = shifted_pair(10, 20)
    with pytest.raises(MatcherError, match=message):
        sg.match(left, right, matcher=template, ndisp=8)


def test_what_a_program_has_started_ends_with_it(tmp_path: Path) -> None:
    marker = tmp_path / "alive"
    body = (
        "import subprocess, time\n"
        f"subprocess.Popen([sys.executable, '-c', \"import time; time.sleep(1.5); open({str(marker)!r}, 'w')\"])\n"
        "time.sleep(60)\n"
    )
    left, right = shifted_pair(10, 20)
    with pytest.raises(MatcherError, match="time limit"):
        sg.match(left, right, matcher=program(tmp_path, body), ndisp=8, time_limit=0.7)
    time.sleep(1.6)
    assert not marker.exists()


def test_preparing_is_no_part_of_the_run_time():
    calls = []

    def prepare(left, right, ndisp, **parameters):
        calls.append("prepare")
        time.sleep(0.3)

    def flat(left, right, ndisp):
        calls.append("match")
        return np.zeros(left.shape, np.float32)

    image = np.zeros((8, 9), np.uint8)
    result = sg.match(image, image, Matcher("flat", "Flat", "a test", flat, prepare=prepare), ndisp=4)
    assert calls == ["prepare", "match"]
    assert result.seconds < 0.3
    assert result.processor


@pytest.mark.parametrize(("matcher", "threads"), [("sgm:threads=2", 2), ("opencv-bm", cv2.getNumThreads())])
def test_a_result_says_how_many_threads_it_took(matcher, threads):
    image = np.random.default_rng(0).integers(0, 255, (40, 60), np.uint8)
    assert sg.match(image, image, matcher, ndisp=16).threads == threads
