"""Third parties add their own by entry points, files and functions; what is broken costs a line and nothing else."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import stereogauge as sg
from stereogauge import StereogaugeError
from stereogauge.datasets import DatasetFamily
from stereogauge.masks.declaration import region
from stereogauge.metrics.costs import mean
from stereogauge.metrics.declaration import Metric, map_metric, metric
from stereogauge.metrics.registry import metrics
from stereogauge.registry import PluginWarning, Registry

FACTS: dict[str, Any] = {"id": "mine", "name": "Mine", "source": "me"}
METRIC: dict[str, Any] = {**FACTS, "formula": "x", "unit": "px", "missing": "left out"}

PLUGIN = '''
import numpy as np
from stereogauge.metrics.declaration import Statistic, map_metric
from stereogauge.masks.declaration import region

@map_metric(id="worst", name="Worst error", formula=r"\\max |e|", unit="px", source="a test", missing="left out")
def worst(m, region):
    """The largest error."""
    error = np.abs(m.estimate - m.gt)[m.mask(region)]
    return Statistic.of_value(float(error.max()), error.size, 0)

@region(id="top", name="Top row", definition=r"y = 0", source="a test")
def top(regions):
    """The first row of pixels."""
    mask = np.zeros(regions.scene.gt.shape, bool)
    mask[0] = True
    return mask
'''


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A package with entry points, as an installer would leave it."""
    (tmp_path / "my_plugin.py").write_text(PLUGIN)
    info = tmp_path / "my_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[stereogauge.metrics]\nmine = my_plugin:worst\n[stereogauge.regions]\nmine = my_plugin\n"
    )
    return tmp_path


def test_a_package_adds_a_metric_and_a_region(installed: Path) -> None:
    program = textwrap.dedent("""
        import numpy as np, stereogauge as sg
        scene = sg.Scene("s", gt=np.ones((3, 4), np.float32))
        estimate = np.ones((3, 4)); estimate[0, 2] = 6; estimate[2, 2] = 9
        print(sg.evaluate(estimate, scene, ["worst"], ["all", "top"]).to_pandas()["value"].tolist())
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert result.stdout.strip() == "[8.0, 5.0]"


class Entry:
    """An entry point of a package that is not there."""

    def __init__(self, loaded: Any) -> None:
        self.value, self.module, self.dist, self._loaded = "clash:metric", "clash", None, loaded

    def load(self) -> Any:
        if isinstance(self._loaded, BaseException):
            raise self._loaded
        return self._loaded


def registry_with(monkeypatch: pytest.MonkeyPatch, *loaded: Any) -> Registry[Metric]:
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Entry(one) for one in loaded])
    return Registry("metric", Metric, "stereogauge.metrics", "stereogauge.metrics")


def test_a_plug_in_never_takes_a_name_from_us(monkeypatch: pytest.MonkeyPatch) -> None:
    copy = replace(metrics()["mae"])
    found = registry_with(monkeypatch, copy)
    with pytest.warns(PluginWarning, match="package clash declares the metric 'mae', which exists already"):
        assert len(found) == len(metrics())
    assert found["mae"] is metrics()["mae"]


@pytest.mark.parametrize("problem", [ImportError("no torch here"), TypeError("missing"), SystemExit(3)])
def test_a_broken_plug_in_is_one_warning_and_the_others_stay(
    monkeypatch: pytest.MonkeyPatch, problem: BaseException
) -> None:
    good = replace(metrics()["mae"], id="mine")
    found = registry_with(monkeypatch, problem, good)
    with pytest.warns(PluginWarning, match=f"package clash cannot be loaded .{type(problem).__name__}: {problem}"):
        assert found["mine"] is good
    assert "bad" in found


def test_plug_ins_are_not_imported_for_names_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    found = registry_with(monkeypatch, ImportError("must not be asked for"))
    assert "bad" in found
    assert found["bad"].id == "bad"


def run(*words: str, paths: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, filter(None, [paths, *sys.path])))}
    command = [sys.executable, "-m", "stereogauge", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_a_broken_package_is_one_line_on_the_command_line(installed: Path) -> None:
    (installed / "my_plugin.py").write_text("print('loading')\nimport nonexistent_network\n")
    done = run("metrics", paths=installed)
    assert done.returncode == 0
    assert "loading" not in done.stdout
    told = [line for line in done.stderr.splitlines() if "my-plugin" in line]
    assert told == [
        "note: the plug-in package my-plugin cannot be loaded (ModuleNotFoundError: No module named "
        "'nonexistent_network') and is skipped."
    ]
    assert "mae" in done.stdout


def test_a_file_adds_a_metric_to_any_command(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    for name, value in (("gt", 1.0), ("est", 4.0)):
        sg.write_disparity(tmp_path / f"{name}.pfm", np.full((3, 4), value, np.float32))
    files = [str(tmp_path / "gt.pfm"), str(tmp_path / "est.pfm")]
    done = run("compare", *files, "--plugin", str(tmp_path / "mine.py"), "-m", "worst", "-r", "top", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert [score["value"] for score in json.loads(done.stdout)["scores"]] == [3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [("import numpy\n1 / 0\n", "mine.py, line 2: the plug-in cannot be loaded (ZeroDivisionError"), (None, "no such")],
)
def test_a_named_file_that_fails_is_one_sentence(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "mine.py").write_text(text)
    done = run("metrics", f"--plugin={tmp_path / 'mine.py'}")
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_changed_plug_in_is_measured_again_and_its_scores_are_never_locked_in(tmp_path: Path) -> None:
    truth = np.full((4, 6), 8, np.float32)
    (tmp_path / "gt").mkdir()
    (tmp_path / "maps" / "mine").mkdir(parents=True)
    sg.write_disparity(tmp_path / "gt" / "s.pfm", truth)
    sg.write_disparity(tmp_path / "maps" / "mine" / "s.pfm", truth + 1)
    plugin, store = tmp_path / "mine.py", str(tmp_path / "s.sqlite")

    def worst(text: str) -> float:
        plugin.write_text(text)
        folders = [str(tmp_path / "gt"), str(tmp_path / "maps"), "--store", store, "--jobs", "1"]
        done = run("evaluate", *folders, "-m", "worst,mae", "-r", "top", "--plugin", str(plugin), "-f", "json")
        assert done.returncode == 0, done.stderr
        return float(json.loads(done.stdout)["scores"]["rows"][0][1])

    assert [worst(PLUGIN), worst(PLUGIN.replace("error.max()", "7 * error.max()"))] == [1, 7]

    plain = run("table", store, "-f", "json")
    header = json.loads(plain.stdout)["scores"]["header"]
    assert len(header) == 2
    assert header[1].startswith("mae:top")
    assert "scores of worst are left out" in plain.stderr
    assert "--plugin" in plain.stderr
    assert run("store", "export", store, str(tmp_path / "all.csv")).returncode == 0
    assert "worst" in (tmp_path / "all.csv").read_text()


def test_a_function_is_a_metric_and_may_be_defined_again() -> None:
    scene = sg.Scene("s", gt=np.ones((3, 4), np.float32))
    estimate = np.array([[1, 1, 6, 1], [1, np.nan, 1, 1], [1, 1, 9, 1]])

    def largest_error(estimate: Any, truth: Any) -> Any:
        return np.abs(estimate - truth).max()

    table = sg.evaluate(estimate, scene, ["bad@1", largest_error], ["all"])
    assert table.value("largest-error") == 8
    assert (table.score("largest-error").count, table.score("largest-error").missing) == (11, 1)

    def largest_error(estimate: Any, truth: Any) -> Any:  # the cell of a notebook, run again
        return 2 * np.abs(estimate - truth).max()

    assert sg.evaluate(estimate, scene, largest_error, "all").value("largest-error") == 16
    large = sg.Scene("large", gt=np.ones((90, 120), np.float32))
    table = sg.evaluate({"near": large.gt + 1, "far": large.gt + 3}, large, [largest_error], "all")
    assert sg.rank(table).winners == ("near",)


def test_a_function_may_not_be_called_like_a_metric_of_ours() -> None:
    def mae(estimate: Any, truth: Any) -> float:
        return 0.0

    scene = sg.Scene("s", gt=np.ones((3, 4), np.float32))
    with pytest.raises(StereogaugeError, match="'mae' exists already; give yours another name"):
        sg.evaluate(scene.gt, scene, [mae], ["all"])


def test_a_function_that_returns_no_number_is_told_so() -> None:
    scene = sg.Scene("s", gt=np.ones((3, 4), np.float32))

    def everything(estimate: Any, truth: Any) -> Any:
        return [1, 2]

    with pytest.raises(StereogaugeError, match="everything returned list; a function"):
        sg.evaluate(scene.gt, scene, [everything], ["all"])


def test_any_callable_with_a_name_is_a_metric_and_what_cannot_be_one_is_told_so() -> None:
    scene = sg.Scene("s", gt=np.ones((3, 4), np.float32))

    def power(estimate: Any, truth: Any, *, p: int = 1) -> float:
        return float((np.abs(estimate - truth) ** p).max())

    class Halved:
        def __call__(self, estimate: Any, truth: Any) -> float:
            return float(np.abs(estimate - truth).max()) / 2

    def undefined(estimate: Any, truth: Any) -> float:
        return float("nan")

    table = sg.evaluate(scene.gt + 3, scene, [functools.partial(power, p=2), Halved(), undefined], "all")
    assert (table.value("power"), table.value("Halved")) == (9, 1.5)
    assert table.score("undefined").note == "the function undefined returned NaN"
    for wrong, words in (
        (lambda estimate, truth: 0.0, "write it with def"),
        (len, "does not take them: too many positional arguments"),
        (Halved, "found Halved"),
    ):
        with pytest.raises(StereogaugeError, match=words):
            sg.evaluate(scene.gt, scene, [wrong], ["all"])
    with pytest.raises(StereogaugeError, match="Two functions among the metrics are called power"):
        sg.evaluate(scene.gt, scene, [functools.partial(power, p=2), functools.partial(power, p=3)], ["all"])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise KeyError(region)", "mine.py, line 9: the plug-in failed (KeyError: 'top')."),
        ("return 3.0", "The metric worst returned float; a map metric returns a Statistic."),
    ],
)
def test_a_metric_of_a_file_that_fails_is_one_sentence(tmp_path: Path, code: str, message: str) -> None:
    broken = PLUGIN.replace("error = np.abs(m.estimate - m.gt)[m.mask(region)]", code)
    (tmp_path / "mine.py").write_text(broken)
    sg.write_disparity(tmp_path / "gt.pfm", np.ones((3, 4), np.float32))
    files = [str(tmp_path / "gt.pfm")] * 2
    done = run("compare", *files, "--plugin", str(tmp_path / "mine.py"), "-m", "worst", "-r", "top")
    assert done.returncode == 2
    assert done.stderr.strip().endswith(message)
    assert "Traceback" not in done.stderr


PLUGINS = {
    "a name of ours": (
        "from stereogauge.metrics.declaration import metric\nfrom stereogauge.metrics.costs import mean\n"
        "@metric(id='mae', name='x', formula='', unit='px', source='me', missing='left out', reduce=mean)\n"
        "def mine(m):\n    return abs(m.error)\n",
        "declares the metric 'mae', which exists already; give it another name, for example my-mae",
    ),
    "a misspelt choice": (
        "from stereogauge.metrics.declaration import metric\nfrom stereogauge.metrics.costs import mean\n"
        "@metric(id='x', name='x', formula='', unit='px', source='me', missing='leftout', reduce=mean)\n"
        "def mine(m):\n    return abs(m.error)\n",
        "missing of the metric x 'leftout'; known are:",
    ),
}


@pytest.mark.parametrize("case", PLUGINS)
def test_what_is_wrong_with_a_plug_in_is_one_sentence(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = PLUGINS[case]
    (tmp_path / "mine.py").write_text(code)
    done = _compared(tmp_path, "mae")
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["largest-error", "largest_error"])
def test_a_plain_function_of_a_file_is_a_metric(tmp_path: Path, name: str) -> None:
    (tmp_path / "mine.py").write_text("def largest_error(estimate, truth):\n    return abs(estimate - truth).max()\n")
    done = _compared(tmp_path, name)
    assert done.returncode == 0, done.stderr
    assert "2.00" in done.stdout
    shown = _run(tmp_path, "metrics", name, "--plugin", "mine.py")
    assert shown.stdout.split()[:2] == ["id", "largest-error"]


def _compared(folder: Path, metric: str) -> subprocess.CompletedProcess[str]:
    truth = np.tile(np.linspace(5, 30, 60, dtype=np.float32), (40, 1))
    sg.write_disparity(folder / "gt.pfm", truth)
    sg.write_disparity(folder / "mine.pfm", truth + 2)
    return _run(folder, "compare", "gt.pfm", "mine.pfm", "-m", metric, "-r", "all", "--plugin", "mine.py")


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stereogauge", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_loader_with_another_signature_is_one_sentence() -> None:
    family = DatasetFamily("x", "X", "", "", "", "", load=lambda root: None)
    with pytest.raises(sg.StereogaugeError, match=r"must take the folder, the variant and the declared options"):
        family.open(Path("."))


def test_a_loader_that_returns_something_else_is_one_sentence() -> None:
    family = DatasetFamily("x", "X", "", "", "", "", load=lambda root, variant: [1, 2])
    with pytest.raises(sg.StereogaugeError, match=r"the dataset 'x' returned list; it returns a Dataset"):
        family.open(Path("."))


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (metric(**METRIC, reduce=mean), "metric mine is called with measurement and does not take them: missing a"),
        (map_metric(**METRIC), "metric mine is called with measurement, region and does not take them: missing a"),
        (region(**FACTS, definition="x"), "region mine is called with regions and does not take them: missing a"),
    ],
)
def test_a_declared_function_with_another_signature_is_one_sentence(declare: Callable[..., Any], said: str) -> None:
    with pytest.raises(sg.StereogaugeError, match=said):
        declare(lambda measured, limit, further: measured)
