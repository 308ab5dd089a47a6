"""Writes the specificity matrices of docs/sensitivity.md to standard output, as Markdown.

Run as `python docs/scripts/specificity.py [FOLDER of Middlebury 2014 at quarter size]`; by default the scenes in
STEREOGAUGE_DATA. Half size is the same ground truth, its surfaces interpolated and its edges kept.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from stereogauge.datasets import load_dataset
from stereogauge.model import Scene
from stereogauge.study.damage import damage_called
from stereogauge.study.run import run_study, sensitivity_of

METRICS = (
    "d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-bump-clip@1", "p-off", "p-mis",
    "f-por", "f-frag", "f-missing", "f-thin", "f-fat",
)  # fmt: skip
DAMAGES = ("fatten", "thin", "blur", "noise", "offset", "facets", "pores", "cuts", "thin-fine", "fatten-fine")
SAME_TRUTH = ("MotorcycleE", "PianoL")


def doubled(truth: NDArray[np.float32]) -> NDArray[np.float32]:
    """The ground truth at twice its size."""
    known = np.nan_to_num(truth, nan=-1e6)
    grown = [
        cv2.resize(part, None, fx=2, fy=2, interpolation=rule)
        for part, rule in ((truth, cv2.INTER_NEAREST), (known, cv2.INTER_LINEAR))
    ]
    jumps = cv2.dilate(known, np.ones((3, 3))) - cv2.erode(known, np.ones((3, 3))) > 1
    edges = jumps.repeat(2, axis=0).repeat(2, axis=1)
    return 2 * np.where(edges | np.isnan(grown[0]), *grown).astype(np.float32)


def larger(scene: Scene) -> Scene:
    """The scene at half of the full size."""
    visible = scene.mask("nonocc").repeat(2, axis=0).repeat(2, axis=1)
    return Scene(scene.id, gt=doubled(scene.gt), masks={"nonocc": visible}, resolution=0.5)


def matrix(scenes: list[Scene]) -> NDArray[np.float64]:
    """The mean over scenes of responses, each row in units of its largest one."""
    strengths = {name: (damage_called(name).reference,) for name in DAMAGES}
    rows = []
    for scene in scenes:
        found = sensitivity_of(run_study(scene, METRICS, damage_ids=DAMAGES, strengths=strengths, protocol="hci"))
        whole = np.full((len(METRICS), len(DAMAGES)), np.nan)
        for column, name in enumerate(found.damages):
            whole[:, DAMAGES.index(name)] = found.scaled[:, column]
        whole[~np.isfinite(found.responses).any(axis=1)] = np.nan
        rows.append(whole)
        sys.stderr.write(f"{scene.id} at {scene.resolution:g}\n")
    return np.asarray(np.nanmean(rows, axis=0))


def main() -> None:
    """One table per size."""
    default = Path(os.environ.get("STEREOGAUGE_DATA", "data")) / "middlebury-2014"
    data = load_dataset("middlebury-v3", Path(sys.argv[1]) if len(sys.argv) > 1 else default)
    scenes = [scene for scene in data if scene.id not in SAME_TRUTH]
    for name, chosen in (("Quarter size", scenes), ("Half size", [larger(scene) for scene in scenes])):
        sys.stdout.write(
            f"\n{name}, mean of {len(chosen)} scenes ({', '.join(scene.id for scene in chosen)}):\n" + "\n"
        )
        sys.stdout.write("| | " + " | ".join(f"`{damage}`" for damage in DAMAGES) + " |" + "\n")
        sys.stdout.write("|---|" + "---:|" * len(DAMAGES) + "\n")
        for metric, row in zip(METRICS, matrix(chosen), strict=True):
            best = np.nanmax(row)
            cells = [("–" if np.isnan(v) else f"**{v:.2f}**" if v == best else f"{v:.2f}") for v in row]
            sys.stdout.write(f"| `{metric}` | " + " | ".join(cells) + " |" + "\n")


if __name__ == "__main__":
    main()
