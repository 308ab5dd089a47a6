"""Runs the tunings of docs/tuning.md, draws its figures and writes its numbers to standard output.

Run as `python docs/scripts/tuning_figures.py [STORE]`; needs STEREOGAUGE_DATA to name the folder of datasets. With a
store the run may be stopped and started again. The sweeps run without early ends, so that slices are complete.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from small_images import save_small

from stereogauge.datasets import load_dataset
from stereogauge.evaluation.progress import Lines
from stereogauge.matching.run import value_text
from stereogauge.model import Dataset
from stereogauge.tuning import TuningResult, tune
from stereogauge.tuning.figures import gains_data, importance_data, slices_data, trade_off_data

HERE = Path(__file__).resolve().parent
IMAGES = HERE.parent / "images"
SCENES = ["Adirondack", "ArtL", "Motorcycle", "Piano", "Pipes", "Teddy"]
SMALL_SCENES = ["ArtL", "Teddy", "Pipes"]
JOBS = 2


def say(text: str) -> None:
    """One line of numbers for the page."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def swept(profile: str, dataset: Dataset, store: Path | None) -> TuningResult:
    """A coarse grid over block and penalties, every scene held out once."""
    return tune(
        "opencv-sgbm",
        dataset,
        HERE / f"tuning_{profile}.toml",
        65,
        sampler="grid",
        space=HERE / "tuning_space.toml",
        folds=len(SCENES),
        prune=False,
        store=store,
        jobs=JOBS,
        progress=Lines(sys.stderr, 30.0, "trials"),
    )


def traded(dataset: Dataset, store: Path | None) -> TuningResult:
    """Porosity of fine structures against bumps on planes, over all of the matcher's parameters."""
    return tune(
        "opencv-sgbm",
        dataset.subset(SMALL_SCENES),
        trials=40,
        objectives=["f-por", "p-bump"],
        folds=0,
        store=store,
        jobs=JOBS,
        progress=Lines(sys.stderr, 30.0, "trials"),
    )


def report(result: TuningResult) -> None:
    """The numbers of one tuning as lines of Markdown."""
    say(f"\n{result.name}: {result.matcher}")
    for where, found in (("held out", result.held_out), ("searched on", result.seen)):
        for one in found:
            say(
                f"| {one.goal} | {where} | {one.default:.3f} | {one.tuned:.3f} | {one.difference:+.3f} "
                f"({one.percent:+.1f} %) | {one.low:+.3f} … {one.high:+.3f} | {one.better} of {one.compared} |"
            )
            cells = zip(one.scenes, one.scene_default, one.scene_tuned, strict=True)
            say("  " + ", ".join(f"{scene} {before:.3f} → {after:.3f}" for scene, before, after in cells))
    for fold in result.folds:
        if fold.best is not None:
            chosen = ", ".join(f"{name}={value_text(value)}" for name, value in fold.best.parameters.items())
            say(f"  without {', '.join(fold.held_out)}: {chosen}")
    say(f"  importance: {result.importance}")
    say(f"  trials: {result.to_dict()['states']}, {sum(trial.seconds for trial in result.trials):.0f} s")


def main() -> None:
    """Everything that the page shows."""
    store = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    root = Path(os.environ["STEREOGAUGE_DATA"]) / "middlebury-2014"
    dataset = load_dataset("middlebury-v3", root).subset(SCENES)
    for profile in ("fine", "planar"):
        result = swept(profile, dataset, store)
        report(result)
        save_small(gains_data(result), IMAGES / f"tuning-gains-{profile}.png")
        save_small(slices_data(result), IMAGES / f"tuning-slices-{profile}.png")
        save_small(importance_data(result), IMAGES / f"tuning-importance-{profile}.png")
    result = traded(dataset, store)
    report(result)
    save_small(trade_off_data(result), IMAGES / "tuning-front.png")


if __name__ == "__main__":
    main()
