"""Writes the tables of docs/confidence.md and draws its figures, from real data.

Run as `STEREOGAUGE_DATA=… python docs/scripts/confidence_tables.py [PART…]`; parts are quality, literal, paper,
claims, learned and ccnn. Each table stands between two comments in the page and is replaced as a whole.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from small_images import save_small

from stereogauge.confidence.declaration import confidence_measures
from stereogauge.confidence.evaluation import SceneCurves, evaluate_maps
from stereogauge.confidence.files import read_confidence
from stereogauge.confidence.learned import FEATURES
from stereogauge.confidence.measures import PAPER
from stereogauge.confidence.run import ConfidenceChoices, SceneRun, run_scene, search_range, with_learned
from stereogauge.confidence.sparsification import sparsify
from stereogauge.datasets import load_dataset
from stereogauge.figures import mpl
from stereogauge.figures.data.sparsification import Kind, sparsification_data
from stereogauge.io.disparity import read_disparity
from stereogauge.matching.run import match
from stereogauge.model import Scene
from stereogauge.regions.scene_regions import regions

DATA = Path(os.environ.get("STEREOGAUGE_DATA", "data"))
PAGE = Path(__file__).resolve().parents[1] / "confidence.md"
IMAGES = PAGE.parent / "images"
NINE = ("000008", "000043", "000082", "000087", "000094", "000120", "000122", "000128", "000180")
KITTI_RANGE = 128
SAME_PLACE = {"MotorcycleE": "Motorcycle", "PianoL": "Piano", "Teddy": "teddy"}
POST = {"lr_check": 1.0, "median": 3, "fill": True}
CENSUS = "sgm:window=7x7,p1=20,p2=100"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A Markdown table; the first column to the left, numbers to the right."""
    lines = [" | ".join(head), " | ".join([":--"] + ["--:"] * (len(head) - 1))]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def put(name: str, text: str) -> None:
    """Replace what stands between the comments of this name in the page."""
    page = PAGE.read_text()
    pattern = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no place for {name}")
    PAGE.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page))
    sys.stdout.write(f"{name}\n{text}\n\n")
    sys.stdout.flush()


@functools.cache
def middlebury() -> tuple[Scene, ...]:
    """The four scenes of version 2 and the quarter-size scenes of version 3."""
    return (
        *load_dataset("middlebury-v2", DATA / "middlebury-v2"),
        *load_dataset("middlebury-v3", DATA / "middlebury-2014"),
    )


@functools.cache
def kitti() -> tuple[Scene, ...]:
    """The KITTI 2012 frames with images."""
    return tuple(scene for scene in load_dataset("kitti-2012", DATA / "kitti2012") if scene.has("left"))


def is_nine(scene: str) -> bool:
    """Whether the paper analyses this frame."""
    return scene[:6] in NINE


@functools.cache
def runs(dataset: str) -> tuple[SceneRun, ...]:
    """Our matcher with every measure on the paper's domain: KITTI at 3 px, Middlebury at 1 px."""
    measures = tuple(dict.fromkeys((*PAPER, "product", *FEATURES)))
    if dataset == "kitti":
        choices = ConfidenceChoices(CENSUS, KITTI_RANGE, measures, 3.0)
        return tuple(run_scene(scene, choices, with_features=True).without_costs() for scene in kitti())
    choices = ConfidenceChoices(CENSUS, None, measures, 1.0)
    return tuple(run_scene(scene, choices, with_features=True).without_costs() for scene in middlebury())


@functools.cache
def paper_curves(dataset: str) -> tuple[SceneCurves, ...]:
    """The paper's measures only."""
    return tuple(
        evaluate_maps(
            run.scene,
            {name: run.maps[name] for name in (*PAPER, "product")},
            run.result.raw,
            run.gt,
            threshold=run.threshold,
            mask=run.domain,
        )
        for run in runs(dataset)
    )


def quality() -> None:
    """Bad pixels of our SGM beside OpenCV's, raw and post-processed alike."""
    matchers: dict[str, tuple[str, dict[str, Any]]] = {
        "sgm raw": (CENSUS, {}),
        "sgm post": (CENSUS, POST),
        "SGBM HH raw, block 1": ("opencv-sgbm:mode=hh,block=1,p1=20,p2=100", {}),
        "post, block 1": ("opencv-sgbm:mode=hh,block=1,p1=20,p2=100,right_view=second-run", POST),
        "post, block 3": ("opencv-sgbm:mode=hh,block=3,p1=72,p2=288,right_view=second-run", POST),
        "post, block 5": ("opencv-sgbm:mode=hh,block=5,p1=200,p2=800,right_view=second-run", POST),
    }
    rows, values = [], []
    for scene in middlebury():
        visible = regions(scene, ["nonocc"])["nonocc"]
        found = []
        for text, post in matchers.values():
            disparity = match(scene.left, scene.right, text, search_range(scene), **post).disparity
            found.append(100 * float(np.mean(~(np.abs(disparity - scene.gt)[visible] <= 1))))
        values.append(found)
        rows.append([scene.id, *(f"{value:.2f}" for value in found)])
    rows.append(["**mean**", *(f"**{value:.2f}**" for value in np.mean(values, axis=0))])
    put("quality", table(["scene", *matchers], rows))


def literal() -> None:
    """What the printed forms do to real pixels."""
    rows = []
    chosen = [scene for scene in (*middlebury(), *kitti()) if scene.id in ("teddy", "cones", "Motorcycle", "000087_10")]
    for scene in chosen:
        ndisp = KITTI_RANGE if is_nine(scene.id) else None
        printed = run_scene(scene, ConfidenceChoices(CENSUS, ndisp, (*PAPER, "product"), 3.0, "all", literal=True))
        robust = run_scene(scene, ConfidenceChoices(CENSUS, ndisp, ("product",), 3.0, "all"))
        undefined = [
            100 * float(np.isnan(printed.maps[name]).mean()) for name in ("curvature", "peak-ratio", "entropy")
        ]
        zero = 100 * float(np.mean(printed.maps["product"] == 0))
        areas = [each.curves().curves["product"].auc for each in (printed, robust)]
        rows.append([scene.id, *(f"{v:.1f}" for v in (*undefined, zero)), *(f"{a:.4f}" for a in areas)])
    head = ["scene", "Γ0 undefined %", "Γ2 undefined %", "Γ3 undefined %", "Γ = 0 %", "AUC Γ printed", "AUC Γ robust"]
    put("literal", table(head, rows))


def paper() -> None:
    """Figures 2 and 3 and the numbers behind them."""
    curves = [each for each in paper_curves("kitti") if is_nine(each.scene)]
    labels = {name: confidence_measures()[name].label for name in (*PAPER, "product")}
    caption = (
        f"Census SGM 7×7, P1 = 20, P2 = 100, ndisp = {KITTI_RANGE}; bad = error above 3 px; the paper's domain; "
        "the grey bar marks the share of good pixels."
    )
    many = [each for each in curves if each.scene[:6] not in ("000008", "000128")]
    few = [each for each in curves if each.scene[:6] in ("000008", "000128")]
    for name, chosen, title in (
        ("confidence-figure-2", many, "Frames with many bad pixels (figure 2)"),
        ("confidence-figure-3", few, "Frames with few bad pixels (figure 3)"),
    ):
        data = sparsification_data(chosen, labels=labels, title=title, caption=caption)
        save_small(mpl.draw(data), IMAGES / f"{name}.png")
    kinds: tuple[Kind, ...] = ("rates", "normalised")
    for kind in kinds:
        data = sparsification_data(curves, kind, labels=labels, title=f"All nine frames, {kind}", caption=caption)
        save_small(mpl.draw(data), IMAGES / f"confidence-{kind}.png")
    put("paper", paper_table(curves))


def paper_table(curves: Sequence[SceneCurves]) -> str:
    """Bad pixels left at the share of good pixels."""
    rows = []
    for each in curves:
        first = each.curves["product"]
        share = first.good_share
        left = [each.curves[name].at(share) for name in (*PAPER, "product")]
        bound = each.bound
        assert bound is not None
        rows.append(
            [
                each.scene.removesuffix("_10"),
                first.pixels,
                f"{first.bad_pixels} ({100 * (1 - share):.1f} %)",
                *(f"{value:.0f}" for value in left),
                f"{bound.at(share):.0f} ({100 * bound.density_at(share):.0f} %)",
                f"{first.random.at(share):.0f}",
            ]
        )
    return table(["scene", "pixels", "bad", "Γ0", "Γ1", "Γ2", "Γ3", "Γ4", "Γ", "s (own density)", "random"], rows)


def claims() -> None:
    """Each claim counted on the paper's frames, on the other KITTI frames and on Middlebury."""
    sets = {
        "nine frames": [each for each in paper_curves("kitti") if is_nine(each.scene)],
        "other KITTI": [each for each in paper_curves("kitti") if not is_nine(each.scene)],
        "Middlebury": list(paper_curves("middlebury")),
    }
    singles = PAPER

    def left(each: SceneCurves, name: str) -> float:
        return each.curves[name].at_good_share

    def worst(each: SceneCurves, names: Sequence[str], value: Callable[[SceneCurves, str], float]) -> str:
        return max(names, key=lambda name: value(each, name))

    def bound_ratio(each: SceneCurves) -> float:
        assert each.bound is not None
        return each.bound.at(each.curves["product"].good_share) / left(each, "product")

    def at_half(each: SceneCurves, name: str) -> float:
        return each.curves[name].at(0.5)

    tests: dict[str, Callable[[SceneCurves], bool]] = {
        "Γ0 leaves most bad pixels of Γ0–Γ4 at the good share": lambda e: worst(e, singles, left) == "curvature",
        "of Γ1–Γ4, Γ3 is the worst at the good share": lambda e: worst(e, singles[1:], left) == "entropy",
        "of Γ1–Γ4, Γ4 is the worst at half density": lambda e: worst(e, singles[1:], at_half) == "lr-difference",
        "Γ beats every single measure at the good share": lambda e: all(
            left(e, "product") < left(e, n) for n in singles
        ),
        "Γ is within 5 % of the best single measure there": lambda e: (
            left(e, "product") <= 1.05 * min(left(e, n) for n in singles)
        ),
        "Γ has the smallest AUC": lambda e: all(e.curves["product"].auc < e.curves[n].auc for n in singles),
        "s leaves 40–60 % of what Γ leaves": lambda e: 0.4 <= bound_ratio(e) <= 0.6,
    }
    rows = [
        [claim, *(f"{sum(test(each) for each in chosen)} of {len(chosen)}" for chosen in sets.values())]
        for claim, test in tests.items()
    ]
    rows.append(
        ["median of s / Γ", *(f"{np.median([bound_ratio(e) for e in chosen]):.2f}" for chosen in sets.values())]
    )
    for name, label in zip((*PAPER, "product"), ("Γ0", "Γ1", "Γ2", "Γ3", "Γ4", "Γ"), strict=True):
        shares = [
            np.mean([left(e, name) / e.curves[name].random.at_good_share for e in chosen]) for chosen in sets.values()
        ]
        rows.append([f"{label}: bad pixels left, relative to random", *(f"{share:.2f}" for share in shares)])
    put("claims", table(["claim", *sets], rows))
    put("claims-middlebury", paper_table(paper_curves("middlebury")))
    put("claims-kitti", paper_table(sets["other KITTI"]))


def learned() -> None:
    """The learned combination on scenes that it was not trained on."""
    rows = []
    names = tuple(dict.fromkeys((*FEATURES, "product")))
    for title, chosen in (("KITTI, 3 px", runs("kitti")), ("Middlebury, 1 px", runs("middlebury"))):
        curves = [run.curves() for run in with_learned(chosen, SAME_PLACE)]
        areas = {name: float(np.mean([each.curves[name].auc for each in curves])) for name in (*names, "learned")}
        best = min(names, key=lambda name: areas[name])
        wins = sum(all(e.curves["learned"].auc < e.curves[name].auc for name in names) for e in curves)
        oracle = float(np.mean([each.curves["product"].oracle.auc for each in curves]))
        rows.append(
            [
                title,
                f"{areas['learned']:.4f}",
                f"{areas[best]:.4f} ({best})",
                f"{areas['product']:.4f}",
                f"{oracle:.4f}",
                f"{wins} of {len(curves)}",
            ]
        )
    head = ["scenes", "AUC learned", "best single measure", "Γ", "oracle", "scenes where it beats every measure"]
    put("learned", table(head, rows))
    bars()


def bars() -> None:
    """AUC at 2 px on all known pixels relative to the optimum, beside Pandora's."""
    pandora = {"teddy": 1.25, "cones": 0.77, "Motorcycle": 1.44}
    choices = ConfidenceChoices(CENSUS, None, ("product", "ambiguity"), 2.0, "all")
    chosen = [run_scene(scene, choices, with_features=True).without_costs() for scene in middlebury()]
    curves = {each.scene: each for each in (run.curves() for run in with_learned(chosen, SAME_PLACE))}
    rows = []
    for scene, theirs in pandora.items():
        found = curves[scene].curves
        relative = [found[name].ause / found[name].oracle.auc for name in ("learned", "ambiguity", "product")]
        rows.append(
            [scene, f"{found['learned'].oracle.auc:.4f}", *(f"{value:.2f}" for value in relative), f"{theirs:.2f}"]
        )
    put("bar", table(["scene", "our optimum", "learned", "ambiguity", "Γ", "Pandora's ambiguity"], rows))


def ccnn() -> None:
    """The learned confidence of Poggi and Mattoccia on AD-Census maps."""
    folder = DATA / "kitti2012" / "results" / "AD-Census"
    rows = []
    for frame in ("000020_10", "000021_10", "000022_10"):
        scene = next(scene for scene in kitti() if scene.id == frame)
        disparity = read_disparity(folder / f"{frame}.png", encoding="middlebury", scale=1)
        confidence = read_confidence(folder / "confidence" / "CCNN" / f"{frame}.png", higher_is_better=True)
        visible = scene.mask("nonocc")
        curve = sparsify(confidence, disparity, scene.gt, 3.0, visible)
        rows.append(
            [
                frame,
                curve.pixels,
                f"{100 * (1 - curve.good_share):.1f} %",
                f"{curve.auc:.4f}",
                f"{curve.oracle.auc:.4f}",
                f"{curve.ause:.4f}",
                f"{curve.roc_auc:.4f}",
                f"{curve.at_good_share:.0f}",
            ]
        )
    head = ["frame", "pixels", "bad", "AUC", "oracle AUC", "AUSE", "ROC-AUC", "bad left at the good share"]
    put("ccnn", table(head, rows))


PARTS = {"quality": quality, "literal": literal, "paper": paper, "claims": claims, "learned": learned, "ccnn": ccnn}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
