"""Third parties add their own by entry points; a clash of names is an error."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from stereogauge.errors import StereogaugeError
from stereogauge.metrics.declaration import Metric, metrics
from stereogauge.registry import collect

PLUGIN = '''
import numpy as np
from stereogauge.metrics.declaration import Statistic, metric
from stereogauge.regions.declaration import region

@metric(id="worst", name="Worst error", formula=r"\\max |e|", unit="px", source="a test",
        missing="left out", scaling="length", counts="pixels")
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


def test_a_name_that_is_taken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import dataclasses
    import importlib.metadata

    copy = dataclasses.replace(metrics()["mae"])

    class Entry:
        name = "clash"

        def load(self) -> Metric:
            return copy

    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [Entry()])
    with pytest.raises(StereogaugeError, match="entry point 'clash' declares the metric 'mae', which exists already"):
        collect("metric", Metric, "stereogauge.metrics", "stereogauge.metrics")
