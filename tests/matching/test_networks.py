"""Networks as matchers: ONNX files with their descriptions, and Python functions in processes of their own."""

from __future__ import annotations

import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.cli import main
from stereogauge.errors import MatcherError
from stereogauge.evaluation.executors import InProcess
from stereogauge.evaluation.fingerprints import ContentHashes
from stereogauge.evaluation.matchers import make_maps, map_key, wanted_matcher
from stereogauge.evaluation.progress import Progress
from stereogauge.matching.onnx_matcher import network_description
from stereogauge.matching.result import grey
from stereogauge.matching.run import matcher_text, parse_matcher, without_parameters

from .networks import cost_volume, cost_volume_network

NDISP = 24


@pytest.fixture
def pair() -> tuple[np.ndarray, np.ndarray]:
    left = np.random.default_rng(0).integers(0, 255, (45, 70), np.uint8)
    return left, np.roll(left, -6, 1)


@pytest.fixture
def onnx() -> None:
    pytest.importorskip("onnxruntime", reason="the extra 'onnx' is not installed")
    pytest.importorskip("onnx", reason="the package onnx, which makes the network, is not installed")


@pytest.mark.usefixtures("onnx")
def test_a_network_scores_as_the_same_matcher_in_numpy_on_the_motorcycle(tmp_path: Path) -> None:
    scene = sg.load_dataset("motorcycle")["motorcycle"]
    rows, columns = slice(150, 330), slice(200, 520)
    left, right = (np.ascontiguousarray(image[rows, columns]) for image in (scene.left, scene.right))
    part = sg.Scene("part", gt=scene.gt[rows, columns], left=left, right=right)
    model = cost_volume_network(tmp_path / "volume.onnx", 70)
    (tmp_path / "volume.toml").write_text('[input]\nmultiple = 20\n[output]\nsigma = "sigma"\n')
    network = sg.match(left, right, f"onnx:{model}", ndisp=70)
    expected, cost = cost_volume(grey(left, "left"), grey(right, "right"), 70)
    assert np.array_equal(network.disparity, expected)
    assert network.confidence is not None
    assert np.array_equal(network.confidence, cost)
    assert network.confidence_better == "lower"
    metrics, regions = ["bad@1", "mae", "rms"], ["all", "nonocc"]
    ours, plain = (sg.evaluate(one, part, metrics, regions) for one in (network, expected))
    for column in plain.columns:
        assert ours.value(*column) == plain.value(*column)
    assert ours.value("bad@1", "nonocc") < 40, "the matcher is real"


@pytest.mark.usefixtures("onnx")
@pytest.mark.parametrize(
    ("stated", "layout", "channels"),
    [
        ("", "NCHW", 1),
        ("", "NHWC", 1),
        ('[input]\nmultiple = 16\nanchor = "centre"\npadding = "zero"', "NCHW", 1),
        ('[input]\nmultiple = 16\nanchor = "bottom-left"\npadding = "zero"', "NHWC", 1),
        ('[input]\nleft = "left"\nright = "right"\norder = "BGR"', "NCHW", 3),
        ("[input]\nscale = 0.5\nmean = 3\nstd = 2", "NCHW", 1),
        ("[output]\nscale = -1\noffset = 3", "NCHW", 1),
    ],
)
def test_layout_channels_padding_and_scales(
    tmp_path: Path, pair: tuple[np.ndarray, np.ndarray], stated: str, layout: str, channels: int
) -> None:
    model = cost_volume_network(tmp_path / "net.onnx", NDISP, channels=channels, layout=layout)
    (tmp_path / "net.toml").write_text(stated)
    found = sg.match(*pair, f"onnx:{model}", ndisp=NDISP).disparity
    inside = found[8:-8, 36:-8]
    assert (inside == (3 - 6 if "scale = -1" in stated else 6)).mean() > 0.99


def difference_network(path: Path, height: int | str, width: int | str) -> Path:
    """|left − right| at every pixel, for images of one size or of any."""
    from onnx import TensorProto, helper, save

    names = ("left", "right", "disparity")
    left, right, out = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, height, width]) for name in names)
    nodes = [helper.make_node("Sub", ["left", "right"], ["d"]), helper.make_node("Abs", ["d"], ["disparity"])]
    graph = helper.make_graph(nodes, "difference", [left, right], [out])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), str(path))
    return path


@pytest.mark.usefixtures("onnx")
def test_a_network_of_one_size_takes_smaller_images_and_says_which_are_too_large(tmp_path: Path) -> None:
    model = difference_network(tmp_path / "fixed.onnx", 48, 64)
    dark = np.zeros((45, 61), np.uint8)
    found = sg.match(dark, dark + 7, f"onnx:{model}", ndisp=8).disparity
    assert found.shape == (45, 61)
    assert (found == 7).all()
    large = np.zeros((50, 61), np.uint8)
    with pytest.raises(MatcherError, match=r"fixed\.onnx takes images of 64 × 48 pixels, and these have 61 × 50"):
        sg.match(large, large, f"onnx:{model}", ndisp=8)


@pytest.mark.usefixtures("onnx")
def test_equal_brightness_stays_equal_in_images_of_sixteen_bits(tmp_path: Path) -> None:
    model = difference_network(tmp_path / "any.onnx", "height", "width")
    left = np.random.default_rng(0).integers(1000, 9000, (20, 30)).astype(np.uint16)
    right = left.copy()
    right[0, 0] = 60000  # one bright pixel in one view must not darken all others of it
    assert (sg.match(left, right, f"onnx:{model}", ndisp=8).disparity[1:] == 0).all()


@pytest.mark.usefixtures("onnx")
def test_loading_a_network_is_no_part_of_the_run_time_and_happens_once(
    tmp_path: Path, pair: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    import onnxruntime

    loaded = []
    usual = onnxruntime.InferenceSession

    def slow(*arguments: Any, **options: Any) -> Any:
        loaded.append(arguments[0])
        time.sleep(1.0)
        return usual(*arguments, **options)

    monkeypatch.setattr(onnxruntime, "InferenceSession", slow)
    model = cost_volume_network(tmp_path / "net.onnx", NDISP)
    results = [sg.match(*pair, f"onnx:{model}:threads=1", ndisp=NDISP) for _ in range(2)]
    assert len(loaded) == 1
    assert max(result.seconds for result in results) < 0.9
    assert results[0].threads == 1


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("[input]\nlayuot = 'NCHW'", "Did you mean 'input.layout'"),
        ("[input]\nlayout = 'CHWN'", "input.layout must be 'NCHW', 'NHWC' or ''; found 'CHWN'"),
        ("[input]\nmean = ['a']", "input.mean.1 must be a number; found 'a'"),
        ("[input]\nstd = [1, 0, 1]", "std no 0"),
        ("[input]\nmultiple = 0", "at least 1"),
        ("[output]\nsigma = 's'\nconfidence = 'c'", "both confidence and sigma"),
        ("input = 3", "input must be a table with left, right"),
        ("[input", "net.toml is not valid TOML"),
    ],
)
def test_a_description_that_is_wrong_is_one_sentence(tmp_path: Path, stated: str, message: str) -> None:
    (tmp_path / "net.onnx").write_bytes(b"")
    (tmp_path / "net.toml").write_text(stated)
    with pytest.raises(StereogaugeError, match=message):
        parse_matcher(f"onnx:{tmp_path / 'net.onnx'}")


def test_a_description_may_name_its_model(tmp_path: Path) -> None:
    (tmp_path / "weights.onnx").write_bytes(b"")
    (tmp_path / "described.toml").write_text('model = "weights.onnx"\nname = "Mine"\n[input]\nmultiple = 32\n')
    found = network_description(tmp_path / "described.toml")
    assert (found.path, found.name, found.input.multiple) == (tmp_path / "weights.onnx", "Mine", 32)
    assert wanted_matcher(f"onnx:{tmp_path / 'described.toml'}").name == "Mine"
    with pytest.raises(StereogaugeError, match="there is no such model"):
        parse_matcher(f"onnx:{tmp_path / 'missing.onnx'}")


@pytest.mark.usefixtures("onnx")
@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ('[input]\nleft = "links"\nright = "right"', "no input called 'links'; it has left, right"),
        ('[output]\ndisparity = "depth"', "no output called 'depth'; it has disparity, sigma"),
    ],
)
def test_a_network_without_what_was_named(
    tmp_path: Path, pair: tuple[np.ndarray, np.ndarray], stated: str, message: str
) -> None:
    model = cost_volume_network(tmp_path / "net.onnx", NDISP)
    (tmp_path / "net.toml").write_text(stated)
    with pytest.raises(MatcherError, match=message):
        sg.match(*pair, f"onnx:{model}", ndisp=NDISP)


@pytest.mark.usefixtures("onnx")
def test_a_file_that_is_no_network(tmp_path: Path, pair: tuple[np.ndarray, np.ndarray]) -> None:
    (tmp_path / "net.onnx").write_bytes(b"not a network")
    with pytest.raises(MatcherError, match=r"net.onnx: ONNX Runtime cannot load it"):
        sg.match(*pair, f"onnx:{tmp_path / 'net.onnx'}", ndisp=NDISP)


FUNCTIONS = """
import os, sys, time
import numpy as np

time.sleep(0.5)  # loading weights
calls = []

def constant(left, right, ndisp, value=1.0, twice=False):
    print("words on standard output")
    calls.append(1)
    value = value * 2 if twice else value
    flat = np.full(left.shape[:2], value, np.float32)
    return {"disparity": flat, "right": flat + 1, "sigma": flat * 0 + len(calls)}

def fails(left, right, ndisp):
    raise RuntimeError("no weights")

def dies(left, right, ndisp):
    sys.stderr.write("out of memory")
    sys.stderr.flush()
    os._exit(7)

def sleeps(left, right, ndisp):
    time.sleep(60)

def strange(left, right, ndisp):
    return {"disprity": left}

def leaves(left, right, ndisp):
    sys.exit(4)

def nothing(left, right, ndisp):
    return None

def shape(left, right, ndisp):
    return np.full(left.shape[:2], left.ndim, np.float32)
"""


@pytest.fixture
def functions(tmp_path: Path) -> str:
    (tmp_path / "mynet.py").write_text(FUNCTIONS)
    return f"py:{tmp_path / 'mynet.py'}"


def test_a_function_stays_loaded_and_returns_more_than_a_map(
    functions: str, pair: tuple[np.ndarray, np.ndarray]
) -> None:
    results = [sg.match(*pair, f"{functions}:constant:value=4,twice=true", ndisp=8) for _ in range(2)]
    for result in results:
        assert (result.disparity == 8).all()
        assert result.right_disparity is not None
        assert (result.right_disparity == 9).all()
        assert result.seconds < 0.4, "loading took half a second"
        assert result.confidence_better == "lower"
    # One call to warm up, then one per match: the process is the same.
    assert [int(result.confidence[0, 0]) for result in results if result.confidence is not None] == [2, 3]


def test_a_function_gets_the_images_as_they_are(functions: str, pair: tuple[np.ndarray, np.ndarray]) -> None:
    assert (sg.match(*pair, f"{functions}:shape", ndisp=8).disparity == 2).all()
    colour = [np.repeat(image[:, :, np.newaxis], 3, axis=2) for image in pair]
    assert (sg.match(*colour, f"{functions}:shape", ndisp=8).disparity == 3).all()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fails", {}, "py:mynet.py:fails failed: RuntimeError: no weights"),
        ("dies", {}, "ended with exit code 7 while matching; its last words: out of memory"),
        ("sleeps", {"time_limit": 3.0}, "time limit of 3 s while matching"),
        ("strange", {}, "a matcher returns maps called disparity, right, confidence, sigma; found disprity"),
        ("leaves", {}, r"ended with exit code 4 while matching\.$"),
        ("nothing", {}, "returns arrays of real numbers; its disparity holds None"),
        ("absent", {}, "AttributeError: module 'mynet' has no attribute 'absent'"),
    ],
)
def test_a_function_that_fails_is_one_sentence(
    functions: str, pair: tuple[np.ndarray, np.ndarray], name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(MatcherError, match=message.replace("(", r"\(")):
        sg.match(*pair, f"{functions}:{name}", ndisp=8, **options)


def test_a_module_of_the_folder_at_hand(
    functions: str, pair: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = sg.match(*pair, "py:mynet:constant", ndisp=8, python=sys.executable)
    assert (result.disparity == 1).all()
    with pytest.raises(MatcherError, match="write py:MODULE:FUNCTION"):
        parse_matcher("py:mynet")


def test_texts_of_targets_and_parameters() -> None:
    assert without_parameters("py:mynet:infer:scale=2") == "py:mynet:infer"
    assert without_parameters("onnx:C:/nets/a.onnx") == "onnx:C:/nets/a.onnx"
    assert matcher_text("py:mynet:infer", {"scale": 2}) == "py:mynet:infer:scale=2"


def test_an_evaluation_keeps_right_maps_and_confidence_and_notices_new_code(
    functions: str, tmp_path: Path, pair: tuple[np.ndarray, np.ndarray]
) -> None:
    scene = sg.Scene(
        "s", gt=np.full((45, 70), 6, np.float32), left=pair[0], right=pair[1], calibration=sg.Calibration(ndisp=8)
    )
    wanted = wanted_matcher(f"mine={functions}:constant")
    hashes = ContentHashes(None)
    made = make_maps([wanted], sg.Dataset("d", [scene]), tmp_path / "maps", InProcess(), Progress(), hashes=hashes)
    assert made.failures == ()
    result = made.results[0]
    assert (sg.read_disparity(result.right_maps["s"]) == 2).all()
    assert result.confidence_better == "lower"
    assert np.isfinite(sg.evaluate([result], scene, ["ause@1"], ["all"]).value("ause@1"))
    before = map_key(wanted, scene, 8, hashes)
    (tmp_path / "mynet.py").write_text(FUNCTIONS + "# changed\n")
    assert map_key(wanted, scene, 8, hashes) != before


PROGRAM = """
import sys
import numpy as np

out, right, sigma = sys.argv[1:]
for path, value in ((out, 3), (right, 4), (sigma, 0.5)):
    np.save(path, np.full((45, 70), value, np.float32))
"""


def test_a_program_may_write_right_map_and_confidence(tmp_path: Path, pair: tuple[np.ndarray, np.ndarray]) -> None:
    (tmp_path / "run.py").write_text(textwrap.dedent(PROGRAM))
    template = f"cmd:{sys.executable} {tmp_path / 'run.py'} {{out}} {{out_right}} {{out_sigma}}"
    with pytest.raises(MatcherError, match=r"has no \{left\}"):
        parse_matcher(template)
    (tmp_path / "run.py").write_text(PROGRAM.replace("sys.argv[1:]", "sys.argv[3:]"))
    template = template.replace("run.py ", "run.py {left} {right} ")
    result = sg.match(*pair, template, ndisp=8, extension="npy")
    assert result.right_disparity is not None
    assert result.confidence is not None
    assert ((result.disparity == 3) & (result.right_disparity == 4) & (result.confidence == 0.5)).all()
    assert result.confidence_better == "lower"


def test_a_script_of_this_folder_is_found_and_its_confidence_kept(
    tmp_path: Path, pair: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, image in zip(("left.png", "right.png"), pair, strict=True):
        cv2.imwrite(name, image)
    Path("run.py").write_text(
        "import sys, numpy as np\n"
        f"flat = np.full({pair[0].shape}, 5, np.float32)\n"
        "np.save(sys.argv[1], flat)\nnp.save(sys.argv[2], flat * 2)\n"
    )
    words = ["--matcher", f"cmd:{sys.executable} run.py {{out}} {{out_sigma}} {{left}} {{right}}", "--ndisp", "8"]
    with pytest.raises(SystemExit) as stopped:
        main(
            [
                "match",
                "left.png",
                "right.png",
                *words,
                "--set",
                "extension=npy",
                "--out",
                "d.pfm",
                "--confidence",
                "sure",
            ]
        )
    assert not stopped.value.code
    assert (sg.read_disparity("d.pfm") == 5).all()
    assert (sg.read_disparity("sure/confidence.pfm") == 10).all()
    assert 'better = "lower"' in Path("sure/results.toml").read_text()
