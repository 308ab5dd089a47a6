"""Writes the numbers of the table of scenes in docs/sensitivity.md to standard output.

Run as `python docs/scripts/sensitivity_scenes.py`; needs STEREOGAUGE_DATA to name the folder of datasets.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from stereogauge.datasets import load_dataset
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.model import Scene
from stereogauge.study.damage import damage_called
from stereogauge.study.run import GEOMETRY_METRICS, Sensitivity, named_damages, run_study, sensitivity_of

PRESETS, SEEDS, SIZE = ("anatomy", "mixed", "thin"), 4, (480, 640)
REAL = ("Motorcycle", "Piano", "Pipes", "Adirondack", "ArtL", "Teddy")
STRENGTHS = {"half the reference": 0.5, "the reference": 1.0, "twice the reference": 2.0}


def scenes(root: Path) -> list[Scene]:
    """Three presets with four seeds each, and six scenes of Middlebury 2014 at quarter size."""
    made = [scene for preset in PRESETS for scene in load_synthetic(preset, size=SIZE, scenes=SEEDS)]
    real = load_dataset("middlebury-v3", root / "middlebury-2014")
    return [*made, *(real[name] for name in REAL)]


def found(scene: Scene, factor: float) -> Sensitivity:
    """The nine metrics on the nine damages that they are named after, none stronger than its limit."""
    known = [damage_called(name) for name in named_damages()]
    strengths = {damage.id: (min(factor * damage.reference, damage.limit),) for damage in known}
    return sensitivity_of(run_study(scene, GEOMETRY_METRICS, damage_ids=list(strengths), strengths=strengths))


def leads_by_first_step(matrix: Sensitivity) -> int:
    """How many metrics respond most to the damage of their own name when only the first step is taken."""
    return sum(
        damage_called(matrix.damages[int(np.nanargmax(row))]).metric == metric
        for metric, row in zip(matrix.metrics, matrix.scaled, strict=True)
        if np.isfinite(row).any()
    )


def main() -> None:
    """One line per strength."""
    chosen = scenes(Path(os.environ["STEREOGAUGE_DATA"]))
    for name, factor in STRENGTHS.items():
        wrong, margins, first_step = {}, {}, {}
        for scene in chosen:
            matrix = found(scene, factor)
            leads = matrix.namesakes()
            wrong[scene.id] = [metric for metric, own in leads.items() if not own]
            margins[scene.id] = min(matrix.margin(metric) for metric in leads)
            first_step[scene.id] = (leads_by_first_step(matrix), len(leads))
        right = [scene for scene, others in wrong.items() if not others]
        least = min(right, key=lambda scene: margins[scene])
        others = {scene: metrics for scene, metrics in wrong.items() if metrics}
        sys.stdout.write(
            f"{name}: {len(right)} of {len(chosen)}, not {others}; least lead {margins[least]:.0%} on {least}; "
            f"by the first step alone {first_step}\n"
        )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
