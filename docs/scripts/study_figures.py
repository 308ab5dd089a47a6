"""Draws the figures of docs/sensitivity.md and docs/without-ground-truth.md and writes their numbers to standard
output.

Run as `python docs/scripts/study_figures.py`; figures on real data need STEREOGAUGE_DATA to name the folder of
datasets.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from small_images import save_small

from stereogauge.datasets import load_dataset
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.datasets.synthetic.presets import PRESETS
from stereogauge.evaluation.evaluate import evaluate, picture
from stereogauge.figures.pictures import SMALL, WIDTH, captioned_figure
from stereogauge.model import DisparityMap, Scene
from stereogauge.study.damage import damages, ground_truth_of
from stereogauge.study.figures import response_curves_data, sensitivity_data
from stereogauge.study.run import GEOMETRY_METRICS, OTHER_METRICS, run_sensitivity, run_study, sensitivity_of

IMAGES = Path(__file__).resolve().parents[1] / "images"
SCENES = ("tsukuba", "venus", "teddy", "cones")


def say(text: str) -> None:
    """One line of numbers for the page."""
    sys.stdout.write(text + "\n")


def show(axes: Axes, values: np.ndarray, title: str, *, limits: tuple[float, float] | None = None) -> None:
    """One picture without axes; disparities in false colours."""
    low, high = limits or (None, None)
    axes.imshow(values, cmap="turbo", vmin=low, vmax=high, interpolation="nearest")
    axes.set_title(title, fontsize=SMALL, loc="left")
    axes.set_axis_off()


def presets() -> Figure:
    """Left image and true disparity of every preset."""
    figure = captioned_figure(
        WIDTH, 5.6, "Presets of the synthetic dataset, seed 0", "Left image above, disparity below."
    )
    grid = figure.subplots(4, 5)
    for place, name in enumerate(PRESETS):
        scene = load_synthetic(name, size=(240, 320))[f"{name}-0"]
        row, column = 2 * (place // 5), place % 5
        show(grid[row, column], scene.left, name)
        show(grid[row + 1, column], scene.gt, "")
    return figure


def damage_gallery() -> Figure:
    """Every damage at its reference strength on the same scene."""
    scene = load_synthetic("anatomy", size=(240, 320))["anatomy-0"]
    truth = ground_truth_of(scene)
    maps = {"truth": truth.disparity} | {d.name: d.apply(truth, d.strengths[-2]) for d in damages().values()}
    caption = "Scene anatomy-0 at 320 × 240, each damage at its last but one step. White: no estimate."
    figure = captioned_figure(WIDTH, 5.2, "Damages", caption)
    grid = figure.subplots(4, 5).ravel()
    for axes, (name, disparity) in zip(grid, maps.items(), strict=False):
        show(axes, disparity, name, limits=truth.limits)
    for axes in grid[len(maps) :]:
        axes.set_axis_off()
    return figure


def middlebury_v2(root: Path) -> dict[str, Scene]:
    """The four scenes of the papers."""
    data = load_dataset("middlebury-v2", root / "middlebury-v2")
    return {name: data[name] for name in SCENES}


def speckles(scene: Scene) -> Figure:
    """Small and large salt and pepper on Tsukuba, with what four metrics say."""
    names = ("salt-pepper-small", "salt-pepper-large")
    study = run_study(
        scene,
        ["bad@1", "mae", "mse", "sze-mean"],
        damage_ids=names,
        strengths=dict.fromkeys(names, (0.05, 0.1)),
    )
    truth = ground_truth_of(scene)
    figure = captioned_figure(WIDTH, 2.3, "The same number of errors, small and large", "Tsukuba, 10 % of the pixels.")
    grid = figure.subplots(1, 3)
    show(grid[0], truth.disparity, "truth", limits=(0, 20))
    for axes, name in zip(grid[1:], names, strict=True):
        kind = damages()[name]
        found = {r.metric: r.value for r in study.responses if r.damage == name and r.strength == 0.1}
        text = f"bad@1 {found['bad@1']:.2f} %, mae {found['mae']:.2f} px, mse {found['mse']:.1f} px²"
        show(axes, kind.apply(truth, 0.1), f"{kind.name}\n{text}", limits=(0, 20))
    for response in study.responses:
        say(f"{response.damage} {response.strength:g} {response.metric} {response.value:.4f}")
    return figure


def smooth_but_wrong(scenes: dict[str, Scene]) -> Figure:
    """Ground truth − 1: smooth, without a bad pixel, wrong everywhere."""
    metrics = [
        "bad@1",
        "mse",
        "mape",
        "smooth-gradient@1",
        "smooth-acceleration@1",
        "view-mse",
        "view-psnr",
        "view-mssim",
    ]
    caption = "Ground truth − 1: as smooth as the truth, no bad pixel at δ = 1, wrong at every pixel."
    figure = captioned_figure(WIDTH, 1.9, "Smooth and wrong", caption)
    for axes, (name, scene) in zip(figure.subplots(1, 4), scenes.items(), strict=True):
        maps: dict[str, DisparityMap] = {"truth": scene.gt, "shifted": scene.gt - 1}
        table = evaluate(maps, scene, metrics, ["all", "nonocc"], "sigma-z-2011")
        for algorithm in maps:
            values = {
                f"{metric}:{region}": round(table.value(metric, region, algorithm=algorithm), 4)
                for metric in metrics
                for region in ("all", "nonocc")
            }
            say(f"{name} {algorithm} {values}")
        show(axes, scene.gt - 1, f"{name}\nview {table.value('view-psnr', 'nonocc', algorithm='shifted'):.1f} dB")
    return figure


def predicted(scene: Scene) -> Figure:
    """Rendered views and differences of the truth and of the truth − 1."""
    figure = captioned_figure(
        WIDTH, 3.9, "View prediction on Cones", "Backward warping of the right image; black: holes."
    )
    grid = figure.subplots(2, 2)
    for row, (name, disparity) in zip(grid, {"truth": scene.gt, "truth − 1": scene.gt - 1}.items(), strict=True):
        show(row[0], picture(disparity, scene, "view-psnr").values, f"rendered by {name}")
        show(row[1], picture(disparity, scene, "view-mse").values, "difference, 0 to 64 grey levels", limits=(0, 64))
    return figure


def main() -> None:
    """Draw everything that the data at hand allow."""
    IMAGES.mkdir(exist_ok=True)
    scene = load_synthetic("anatomy", size=(720, 960))["anatomy-0"]
    study = run_study(scene, [*GEOMETRY_METRICS, *OTHER_METRICS])
    everything = sensitivity_of(study)
    named = run_sensitivity(scene)
    say(f"namesakes {named.namesakes()}, least margin {min(named.margin(m) for m in named.metrics):.2f}")
    figures = {
        "presets": presets(),
        "damages": damage_gallery(),
        "curves": response_curves_data(study, GEOMETRY_METRICS),
        "responses": sensitivity_data(everything, selective=False, scene=scene.id),
        "selectivity": sensitivity_data(named, scene=scene.id),
    }
    root = os.environ.get("STEREOGAUGE_DATA")
    if root:
        scenes = middlebury_v2(Path(root))
        figures["speckles"] = speckles(scenes["tsukuba"])
        figures["smooth"] = smooth_but_wrong(scenes)
        figures["view"] = predicted(scenes["cones"])
    for name, figure in figures.items():
        save_small(figure, IMAGES / f"study-{name}.png", dpi=110 if name == "view" else 150)


if __name__ == "__main__":
    main()
