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
from small_images import save_small

from stereogauge.datasets import load_dataset
from stereogauge.datasets.synthetic import load_synthetic
from stereogauge.datasets.synthetic.scene import PRESETS
from stereogauge.evaluation.evaluate import evaluate, picture
from stereogauge.figures.pictures import PictureFigure, PicturePanel, disparity_limits, render, render_disparity
from stereogauge.model import DisparityMap, Scene
from stereogauge.study.damage import damages, ground_truth_of
from stereogauge.study.figures import response_curves_data, sensitivity_data
from stereogauge.study.run import GEOMETRY_METRICS, OTHER_METRICS, run_sensitivity, run_study, sensitivity_of

IMAGES = Path(__file__).resolve().parents[1] / "images"
SCENES = ("tsukuba", "venus", "teddy", "cones")


def say(text: str) -> None:
    """One line of numbers for the page."""
    sys.stdout.write(text + "\n")


def panel(values: np.ndarray, title: str, limits: tuple[float, float] | None = None) -> PicturePanel:
    """A photograph as it is, or a map in false colours."""
    if values.dtype == np.uint8:
        return PicturePanel(np.repeat(values[..., None], 3, axis=2) if values.ndim == 2 else values, title)
    return PicturePanel(render_disparity(values, limits or disparity_limits(values)), title)


def in_rows(panels: list[PicturePanel], across: int) -> list[list[PicturePanel]]:
    """Panels in rows of at most `across`."""
    return [panels[start : start + across] for start in range(0, len(panels), across)]


def presets() -> PictureFigure:
    """Left image and true disparity of every preset."""
    scenes = {name: load_synthetic(name, size=(240, 320))[f"{name}-0"] for name in PRESETS}
    lefts = in_rows([panel(scene.left, name) for name, scene in scenes.items()], 5)
    truths = in_rows([panel(scene.gt, "") for scene in scenes.values()], 5)
    rows = [row for pair in zip(lefts, truths, strict=True) for row in pair]
    caption = "Left image above, disparity below."
    return PictureFigure("Presets of the synthetic dataset, seed 0", caption, rows, columns=5)


def damage_gallery() -> PictureFigure:
    """Every damage at its reference strength on the same scene."""
    scene = load_synthetic("anatomy", size=(240, 320))["anatomy-0"]
    truth = ground_truth_of(scene)
    maps = {"truth": truth.disparity} | {d.name: d.apply(truth, d.strengths[-2]) for d in damages().values()}
    caption = "Scene anatomy-0 at 320 × 240, each damage at its last but one step. Hatched: no estimate."
    rows = in_rows([panel(disparity, name, truth.limits) for name, disparity in maps.items()], 5)
    return PictureFigure("Damages", caption, rows, columns=5)


def middlebury_v2(root: Path) -> dict[str, Scene]:
    """The four scenes of the papers."""
    data = load_dataset("middlebury-v2", root / "middlebury-v2")
    return {name: data[name] for name in SCENES}


def speckles(scene: Scene) -> PictureFigure:
    """Small and large salt and pepper on Tsukuba, with what four metrics say."""
    names = ("salt-pepper-small", "salt-pepper-large")
    study = run_study(
        scene,
        ["bad@1", "mae", "mse", "sze-mean"],
        damage_ids=names,
        strengths=dict.fromkeys(names, (0.05, 0.1)),
    )
    truth = ground_truth_of(scene)
    panels = [panel(truth.disparity, "truth", (0, 20))]
    for name in names:
        kind = damages()[name]
        found = {r.metric: r.value for r in study.responses if r.damage == name and r.strength == 0.1}
        text = f"bad@1 {found['bad@1']:.2f} %, mae {found['mae']:.2f} px, mse {found['mse']:.1f} px²"
        panels.append(panel(kind.apply(truth, 0.1), f"{kind.name}\n{text}", (0, 20)))
    for response in study.responses:
        say(f"{response.damage} {response.strength:g} {response.metric} {response.value:.4f}")
    return PictureFigure("The same number of errors, small and large", "Tsukuba, 10 % of the pixels.", [panels])


def smooth_but_wrong(scenes: dict[str, Scene]) -> PictureFigure:
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
    panels = []
    for name, scene in scenes.items():
        maps: dict[str, DisparityMap] = {"truth": scene.gt, "shifted": scene.gt - 1}
        table = evaluate(maps, scene, metrics, ["all", "nonocc"], "sigma-z-2011")
        for algorithm in maps:
            values = {
                f"{metric}:{region}": round(table.value(metric, region, algorithm=algorithm), 4)
                for metric in metrics
                for region in ("all", "nonocc")
            }
            say(f"{name} {algorithm} {values}")
        psnr = table.value("view-psnr", "nonocc", algorithm="shifted")
        panels.append(panel(scene.gt - 1, f"{name}\nview {psnr:.1f} dB"))
    return PictureFigure("Smooth and wrong", caption, [panels])


def predicted(scene: Scene) -> PictureFigure:
    """Rendered views and differences of the truth and of the truth − 1."""
    rows = [
        [
            PicturePanel(render(picture(disparity, scene, "view-psnr")), f"rendered by {name}"),
            PicturePanel(render(picture(disparity, scene, "view-mse")), "difference, 0 to 64 grey levels"),
        ]
        for name, disparity in {"truth": scene.gt, "truth − 1": scene.gt - 1}.items()
    ]
    return PictureFigure("View prediction on Cones", "Backward warping of the right image; black: holes.", rows)


def main() -> None:
    """Draw everything that the available data allow."""
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
        save_small(figure, IMAGES / f"study-{name}.png", scale=1.15 if name == "view" else 1.6)


if __name__ == "__main__":
    main()
