"""Costs and what confidence measures make of them are the same on processors with other vector instructions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge.kernels.library import available_levels
from stereogauge.matching.sgm import semi_global_matching

ELSEWHERE = """
import sys
import numpy as np
from tests.confidence.test_processors import matched
np.savez(sys.argv[1], **matched())
"""


def matched() -> dict[str, NDArray[np.generic]]:
    """Maps and cost summary of a pair, with byte-wide and with wider path costs."""
    rng = np.random.default_rng(21)
    left, right = (rng.integers(0, 255, (14, 90), dtype=np.uint8) for _ in range(2))
    found: dict[str, NDArray[np.generic]] = {}
    for p2 in (100, 300):
        output = semi_global_matching(left, right, 57, p2=p2, threads=1, right_view="diagonal", keep="summary")
        assert output.summary is not None
        assert output.right_disparity is not None
        found |= {f"{name} {p2}": values for name, values in output.summary._asdict().items()}
        found |= {f"left {p2}": output.disparity, f"right {p2}": output.right_disparity}
    return found


@pytest.mark.parametrize("level", available_levels()[:-1])
def test_other_processors_give_the_same(level: str, tmp_path: Path) -> None:
    """Whole numbers and disparities bit for bit; sums of exponentials up to the order of additions."""
    environment = os.environ | {"STEREOGAUGE_NATIVE_LEVEL": level}
    root = Path(__file__).parents[2]
    file = tmp_path / "found.npz"
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(file)], env=environment, cwd=root, check=True)
    here = matched()
    with np.load(file) as elsewhere:
        assert set(elsewhere.files) == set(here)
        for key, values in here.items():
            if values.dtype.kind == "u" or key.startswith(("left", "right")):
                assert np.array_equal(elsewhere[key], values), key
            else:
                np.testing.assert_allclose(elsewhere[key], values, rtol=2e-6, atol=1e-6, err_msg=key)
