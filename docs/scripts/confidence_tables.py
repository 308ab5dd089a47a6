"""Writes the tables of docs/confidence.md and draws its figures, from real data.

Run as `STEREOGAUGE_DATA=… python docs/scripts/confidence_tables.py [PART…]`; parts are quality, literal, paper,
claims, areas, gain, learned and ccnn. Each table is between two comments in the page and is replaced as a whole.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace
from small_images import save_small

from stereogauge.confidence_measures.declaration import confidence_measures, measure_label
from stereogauge.confidence_measures.files import read_confidence
from stereogauge.confidence_measures.filtering import gains
from stereogauge.confidence_measures.learned import FEATURES
from stereogauge.confidence_measures.measures import confidence
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.confidence_measures.run import ConfidenceChoices, SceneRun, run_scene, with_learned
from stereogauge.confidence_measures.sparsification import parse_error, sparsify
from stereogauge.datasets import load_dataset
from stereogauge.datasets.declaration import search_range
from stereogauge.figures.confidence import Kind, sparsification_data
from stereogauge.io.encodings import read_disparity
from stereogauge.masks.scene_regions import regions
from stereogauge.matching.run import match
from stereogauge.model import Scene
from stereogauge.reproduction.kitti_confidence import CLAIMS, FIGURES, RULES, curve_figures
from stereogauge.reproduction.material import SYMBOLS, Frame, frame_of

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
    """Replace what is between the comments of this name in the page."""
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
def frames(dataset: str) -> tuple[Frame, ...]:
    """Every pair as the reproduction of the paper analyses it."""
    if dataset == "kitti":
        return tuple(frame_of(scene, scene.id[:6], KITTI_RANGE, 3.0) for scene in kitti())
    return tuple(frame_of(scene, scene.id, search_range(scene), 1.0) for scene in middlebury())


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
    names = ("entropy@8", "entropy", "product")
    for scene in chosen:
        ndisp = KITTI_RANGE if is_nine(scene.id) else None
        printed = run_scene(scene, ConfidenceChoices(CENSUS, ndisp, (*PAPER, "product"), 3.0, "all", literal=True))
        robust = run_scene(scene, ConfidenceChoices(CENSUS, ndisp, names, 3.0, "all"))
        undefined = [100 * float(np.isnan(printed.maps[name]).mean()) for name in ("curvature", "peak-ratio")]
        zero = 100 * float(np.mean(printed.maps["product"] == 0))
        first, second = printed.curves().curves, robust.curves().curves
        areas = (first["entropy"], second["entropy@8"], second["entropy"], first["product"], second["product"])
        rows.append([scene.id, *(f"{v:.1f}" for v in (*undefined, zero)), *(f"{curve.auc:.4f}" for curve in areas)])
    head = ["scene", "Γ0 undefined %", "Γ2 undefined %", "Γ = 0 %"]
    head += ["AUC Γ3 printed", "T = 8", "T = P2", "AUC Γ printed", "robust"]
    put("literal", table(head, rows))


def paper() -> None:
    """Figures 2 and 3 and the numbers behind them."""
    nine = [frame for frame in frames("kitti") if is_nine(frame.name)]
    numbered = [frame._replace(name=f"frame {int(frame.name)}") for frame in nine]
    for name, data in curve_figures(numbered).items():
        save_small(data, IMAGES / f"{name.removeprefix('kitti-')}.png")
    labels = {name: measure_label(name) for name in (*PAPER, "product")}
    kinds: tuple[Kind, ...] = ("rates", "normalised")
    for kind in kinds:
        shown = [frame.curves for frame in nine]
        data = sparsification_data(shown, kind, labels=labels, title=f"All nine frames, {kind}", caption=RULES)
        save_small(data, IMAGES / f"confidence-{kind}.png")
    put("paper", paper_table(nine))


def paper_table(chosen: Sequence[Frame]) -> str:
    """Bad pixels left at the share of good pixels."""
    rows = []
    for frame in chosen:
        share, bound = frame.good_share, frame.curves.bound
        assert bound is not None
        rows.append(
            [
                frame.name,
                frame.product.pixels,
                f"{frame.bad} ({100 * (1 - share):.1f} %)",
                *(f"{frame.left(name):.0f}" for name in (*PAPER, "product")),
                f"{bound.at(share):.0f} ({100 * bound.density_at(share):.0f} %)",
                f"{frame.product.random.at(share):.0f}",
            ]
        )
    return table(["scene", "pixels", "bad", *SYMBOLS.values(), "s (pixels that all keep)", "random"], rows)


def claims() -> None:
    """Each claim counted on the paper's frames, on the other KITTI frames and on Middlebury."""
    sets = {
        "nine frames": [frame for frame in frames("kitti") if is_nine(frame.name)],
        "other KITTI": [frame for frame in frames("kitti") if not is_nine(frame.name)],
        "Middlebury": list(frames("middlebury")),
    }
    nine = sets["nine frames"]
    rows = []
    for claim in CLAIMS:
        counted = [claim.counted(chosen) for chosen in sets.values()]
        rows.append([claim.what, claim.read_at, claim.printed, *counted, claim.verdict(nine)])
    put("claims", table(["claim", "read at", "the paper says", *sets, "on the nine"], rows))
    put(
        "figures",
        table(
            ["figure", "read at", *sets],
            [[one.what, one.read_at, *(one.value(chosen) for chosen in sets.values())] for one in FIGURES],
        ),
    )
    put("claims-middlebury", paper_table(frames("middlebury")))
    put("claims-kitti", paper_table(sets["other KITTI"]))


def areas() -> None:
    """AUSE by several errors and for every measure, mean over the nine frames."""
    chosen = [scene for scene in kitti() if is_nine(scene.id)]
    kinds = [parse_error(text) for text in ("bad@3", "d1", "bad-z@1", "mae", "rms")]
    names = [m.id for m in confidence_measures().values() if not m.needs & {"gt", "model"}]
    found = [
        run_scene(scene, ConfidenceChoices(CENSUS, KITTI_RANGE, tuple(names), 3.0)).without_costs().areas(kinds)
        for scene in chosen
    ]
    means = {
        name: [float(np.nanmean([one[name][f"{kind}_ause"] for one in found])) for kind in kinds] for name in names
    }
    order = sorted(names, key=lambda name: means[name][0])
    rows = [[f"`{name}`", *(f"{value:.3f}" for value in means[name])] for name in order]
    put("areas", table(["measure", *(f"AUSE {kind}{', px' if kind.magnitude else ''}" for kind in kinds)], rows))


def gain() -> None:
    """What filtering by Γ gains on frame 87."""
    scene = next(scene for scene in kitti() if scene.id == "000087_10")
    result = match(scene.left, scene.right, CENSUS, KITTI_RANGE, lr_check=1.0)
    order = confidence(result, ["product"])["product"]
    rows = []
    for fill in ("background", "median", "classes"):
        steps = gains(
            result.raw, order, scene.gt, (0.9, 0.8, 0.7), fill=fill, classes=result.classes, mask=scene.mask("nonocc")
        )
        rows += [step for step in steps if step["step"] not in [row["step"] for row in rows]]
    shares = ("density", "bad_rate", "bad_or_missing")
    cells = [[r["step"], *(f"{r[name]:.2f}" for name in shares), r["bad"], r["fewer_bad"]] for r in rows]
    put(
        "gain",
        table(
            ["step", "density %", "bad of the estimates %", "bad or missing %", "bad pixels", "fewer bad pixels"], cells
        ),
    )


def by_place(chosen: Iterable[SceneRun]) -> list[SceneRun]:
    """The runs, with the place of a scene that two datasets hold under two names."""
    return [replace(run, tags={"place": (SAME_PLACE.get(run.scene, run.scene),)}) for run in chosen]


def learned() -> None:
    """The learned combination on scenes that it was not trained on."""
    rows = []
    names = tuple(dict.fromkeys((*FEATURES, "product")))
    for title, chosen in (("KITTI, 3 px", runs("kitti")), ("Middlebury, 1 px", runs("middlebury"))):
        held_out = with_learned(by_place(chosen))
        curves = [run.curves() for run in held_out]
        areas = {name: float(np.mean([each.curves[name].auc for each in curves])) for name in (*names, "learned")}
        best = min(names, key=lambda name: areas[name])
        wins = sum(all(e.curves["learned"].auc < e.curves[name].auc for name in names) for e in curves)
        oracle = float(np.mean([each.curves["product"].oracle.auc for each in curves]))
        errors = [run.reliabilities()["learned"][0].figures["ece"] for run in held_out]
        rows.append(
            [
                title,
                f"{areas['learned']:.4f}",
                f"{areas[best]:.4f} ({best})",
                f"{areas['product']:.4f}",
                f"{oracle:.4f}",
                f"{wins} of {len(curves)}",
                f"{np.median(errors):.3f} ({min(errors):.3f} … {max(errors):.3f})",
            ]
        )
    head = ["scenes", "AUC learned", "best single measure", "Γ", "oracle", "scenes where it beats every measure"]
    put("learned", table([*head, "calibration error (ECE), median and range"], rows))
    bars()


def bars() -> None:
    """AUC at 2 px on all known pixels relative to the optimum, beside Pandora's."""
    pandora = {"teddy": 1.25, "cones": 0.77, "Motorcycle": 1.44}
    choices = ConfidenceChoices(CENSUS, None, ("product", "ambiguity"), 2.0, "all")
    chosen = [run_scene(scene, choices, with_features=True).without_costs() for scene in middlebury()]
    curves = {each.scene: each for each in (run.curves() for run in with_learned(by_place(chosen)))}
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
        given = read_confidence(folder / "confidence" / "CCNN" / f"{frame}.png", higher_is_better=True)
        visible = scene.mask("nonocc")
        curve = sparsify(given, disparity, scene.gt, 3.0, visible)
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


PARTS = {
    "quality": quality,
    "literal": literal,
    "paper": paper,
    "claims": claims,
    "areas": areas,
    "gain": gain,
    "learned": learned,
    "ccnn": ccnn,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
