"""Write docs/evaluators.md: our numbers against official rules, and what different choices make of the same files.

python docs/scripts/evaluators.py FOLDER_OF_DATA
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import cv2
import numpy as np
from msgspec.structs import replace
from PIL import Image

import stereogauge as sg
from stereogauge.io.files import DisparityFile
from stereogauge.metrics.measurement import filled
from stereogauge.reproduction.declaration import Status
from stereogauge.reproduction.run import reproduce

DOCS = Path(__file__).parents[1]
HEAD = Path(__file__).with_name("evaluators-head.md")
FRAMES = [f"{number:06}_10" for number in range(6)]
STAGES = ("1-wta", "2-costagg", "3-sgm", "4-costagg2", "5-post")


def line(cells: Iterable[object]) -> str:
    """One row of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(headings: tuple[str, ...], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    return "\n".join([line(headings), line(["---"] * len(headings)), *map(line, rows)])


def middlebury_v3(root: Path) -> tuple[int, float]:
    """Numbers compared and the largest difference from evaldisp's arithmetic, in percentage points and px."""
    data = sg.load_dataset("middlebury-v3", root / "middlebury-2014")
    worst, compared = 0.0, 0
    for scene in data:
        ndisp = scene.calibration.ndisp or 0
        scale = 255 / (16 * -(-ndisp // 16))
        path = root / f"middlebury-2014/results/semidense-8bit/{scene.id}.png"
        file = DisparityFile(path, encoding="middlebury", scale=scale)
        found = sg.evaluate(file, scene, ["bad@2", "wrong@2", "invalid", "mae"], ["nonocc"], protocol="middlebury-v3")
        raw = cv2.imread(str(path), cv2.IMREAD_UNCHANGED).astype(np.float64)
        estimate = np.where(raw > 0, (raw / scale).astype(np.float32).astype(np.float64), np.nan)
        folder = root / "middlebury-2014" / "trainingQ" / scene.id
        mask = cv2.imread(str(folder / "mask0nocc.png"), cv2.IMREAD_UNCHANGED)
        truth = scene.gt.astype(np.float64)
        known = np.isfinite(truth) & (mask == 255)
        valid = known & np.isfinite(estimate)
        error = np.abs(np.clip(estimate[valid], 0, ndisp) - truth[valid])
        bad, missing, all_ = np.count_nonzero(error > 2), np.count_nonzero(known & ~valid), np.count_nonzero(known)
        expected = (100 * (bad + missing) / all_, 100 * bad / all_, 100 * missing / all_, error.mean())
        for metric, value in zip(("bad@2", "wrong@2", "invalid", "mae"), expected, strict=True):
            worst, compared = max(worst, abs(found.value(metric) - value)), compared + 1
    return compared, worst


def kitti_2012(root: Path) -> tuple[int, float, float]:
    """Numbers that the official evaluator printed, the largest difference of rates, and of means relative to them."""
    data = sg.load_dataset("kitti-2012", root / "kitti2012", truth="noc")
    folder = root / "kitti2012/results/xiyu"
    metrics = [m for t in range(1, 6) for m in (f"bad@{t}", f"bad-valid@{t}")]
    rates, means, compared = 0.0, 0.0, 0
    for frame in FRAMES:
        file = folder / "data" / f"{frame}.png"
        found = sg.evaluate(file, data[frame], [*metrics, "density", "mae", "mae-valid"], ["all"], "kitti-2012")
        printed = [float(v) for v in (folder / "errors_noc_out" / f"{frame}.txt").read_text().split()]
        averages = [float(v) for v in (folder / "errors_noc_avg" / f"{frame}.txt").read_text().split()]
        ours = [found.value(metric) / 100 for metric in [*metrics, "density"]]
        rates = max(rates, *(abs(a - b) for a, b in zip(ours, printed, strict=True)))
        own = [found.value("mae"), found.value("mae-valid")]
        means = max(means, *(abs(a - b) / b for a, b in zip(own, averages, strict=True)))
        compared += len(printed) + len(averages)
    return compared, rates, means


def agreement(root: Path) -> str:
    """How far we are from official rules."""
    rows = reproduce(root, ["evaluation-methodology"], ["test-bed", "figure 4"]).rows
    percentages = [row for row in rows if row.item == "test-bed"]
    masks = [row for row in rows if "official mask" in row.what]
    same = sum(row.status is Status.ELSEWHERE for row in percentages)
    exact = sum(row.ours == 0 for row in masks)
    v3_count, v3_worst = middlebury_v3(root)
    k_count, k_rates, k_means = kitti_2012(root)
    kitti = f"rates within {k_rates:.0e}, means within {100 * k_means:.2f} %"
    return table(
        ("rule", "compared with", "numbers", "result"),
        [
            ("Middlebury v2 masks", "official masks, pixel by pixel", len(masks), f"{exact} identical"),
            ("Middlebury v2 bad pixels", "published percentages of one entry", len(percentages), f"{same} as printed"),
            (
                "Middlebury v3",
                "evaldisp's arithmetic, written a second time",
                v3_count,
                f"differences ≤ {v3_worst:.0e}",
            ),
            ("KITTI 2012", "output of the official evaluator, 6 frames", k_count, kitti),
        ],
    )


def missing_pixels(root: Path) -> str:
    """bad@2 and mean error of one semi-dense map under every treatment of its holes."""
    scene = sg.load_dataset("middlebury-v3", root / "middlebury-2014")["Motorcycle"]
    path = root / "middlebury-2014/results/semidense-8bit/Motorcycle.png"
    estimate = DisparityFile(path, encoding="middlebury", scale=255 / 80).read()
    rows = []
    policies = {"count": "holes are errors", "exclude": "holes are left out", "fill": "holes are filled first"}
    for policy, what in policies.items():
        protocol = sg.load_protocol("default").replace(invalid=policy)
        found = sg.evaluate(estimate, scene, ["bad@2", "mae"], ["nonocc"], protocol=protocol)
        rows.append((f'{what} (`invalid = "{policy}"`)', f"{found.value('bad@2'):.2f}", f"{found.value('mae'):.3f}"))
    mask = sg.regions(scene, ["nonocc"])["nonocc"]
    with np.errstate(invalid="ignore"):
        naive = 100 * np.count_nonzero(np.abs(estimate - scene.gt)[mask] > 2) / np.count_nonzero(mask)
    zero = np.abs(np.nan_to_num(estimate, nan=0.0) - scene.gt)[mask]
    rows.append(("NaN compared as it is: holes score as *correct*", f"{naive:.2f}", "NaN"))
    rows.append(
        ("holes are a disparity of 0", f"{100 * np.count_nonzero(zero > 2) / zero.size:.2f}", f"{zero.mean():.3f}")
    )
    return table(("Motorcycle, visible pixels, one semi-dense map", "bad@2, %", "mean error, px"), rows)


def pooling(root: Path) -> str:
    """D1 of five stages of one network, pooled over pixels and averaged over images, and with "or" for "and"."""
    data = sg.load_dataset("kitti-2015", root / "kitti2015", truth="occ")
    visible = sg.load_dataset("kitti-2015", root / "kitti2015", truth="noc")
    rows = []
    for stage in STAGES:
        paths = sorted((root / "kitti2015/results/LuoNet-8bit" / stage / "left").glob("*.png"))
        maps = {path.stem: DisparityFile(path, encoding="middlebury", scale=1) for path in paths}
        frames = [scene for scene in data if scene.id in maps]
        found = sg.evaluate({stage: maps}, frames, ["d1"], ["all"], protocol="kitti-2015")
        seen = sg.evaluate({stage: maps}, [s for s in visible if s.id in maps], ["d1"], ["all"], protocol="kitti-2015")
        either = [_either(filled(maps[scene.id].read()), scene.gt) for scene in frames]
        wrong = 100 * sum(bad for bad, _ in either) / sum(count for _, count in either)
        rows.append((stage, f"{found.aggregate('d1', 'all'):.3f}", f"{found.aggregate('d1', 'all', how='mean'):.3f}",
                     f"{seen.aggregate('d1', 'all'):.3f}", f"{wrong:.3f}"))  # fmt: skip
    headings = (
        "KITTI 2015, two frames",
        "D1 pooled over pixels (official)",
        "mean of images",
        "visible pixels only",
        "“or” instead of “and”",
    )
    return table(headings, rows)


def _either(estimate: np.ndarray, truth: np.ndarray) -> tuple[int, int]:
    known = np.isfinite(truth)
    error = np.abs(np.nan_to_num(estimate, nan=-1.0) - truth)[known]
    return int(np.count_nonzero((error > 3) | (error > 0.05 * truth[known]))), int(np.count_nonzero(known))


def readers(root: Path) -> str:
    """One pixel of one PFM file of Middlebury as three libraries read it."""
    path = root / "middlebury-2014/trainingQ/Motorcycle/disp0GT.pfm"
    values = {
        "Stereogauge": (sg.read_disparity(path)[100, 300], "the value"),
        "Pillow": (np.asarray(Image.open(path))[100, 300], "the value"),
        "OpenCV `imread`": (
            cv2.imread(str(path), cv2.IMREAD_UNCHANGED)[100, 300],
            "divided by the scale field, 0.003922",
        ),
    }
    rows = [(name, f"{value:.4g}", what) for name, (value, what) in values.items()]
    return table(("`disp0GT.pfm` of Motorcycle, pixel (300, 100)", "disparity", "what it is"), rows)


def empty_mask() -> str:
    """What an empty region scores."""
    truth = np.full((4, 4), 8.0, np.float32)
    scene = sg.Scene("empty", gt=truth, masks={"nothing": np.zeros((4, 4), bool)})
    ours = sg.evaluate(truth + 5, scene, ["bad@1"], ["nothing"]).score("bad@1", "nothing")
    mask = np.zeros((4, 4))
    usual = float((np.full((4, 4), 1.0) * mask).sum() / max(mask.sum(), 1))
    rows = [
        ("Stereogauge", str(ours.value), f"count {ours.count}: {ours.note}"),
        ("`(error * mask).sum() / max(mask.sum(), 1)`", f"{usual:g}", "a perfect score"),
    ]
    return table(("no pixel in the mask, every pixel wrong", "bad@1", "read as"), rows)


FIGURES = {
    "kitti-2015": "d1",
    "kitti-2012": "bad@3",
    "kitti-2012-reflective": "bad@3:reflective",
    "middlebury-v3": "bad@2",
    "eth3d": "bad@1",
    "spring": "d1",
    "raft-stereo": "bad@3",
    "raft-stereo-things": "bad@1",
    "igev": "bad@3",
    "gwcnet": "d1",
    "openstereo": "d1",
    "stereo-toolbox": "bad@3",
    "psmnet": "outlier@3,0.05",
    "leastereo": "bad@1",
    "argoverse": "outlier@3,0.1,1",
    "hci-4dlf": "wrong@0.07",
    "eigen-depth": "z-delta@1.25",
    "scared": "bad@3",
}
"""The first share that each program prints, as a column of ours, on all pixels unless it says which."""
REFLECTIVE = (slice(180, 300), slice(300, 900))


def differing_maps(root: Path) -> tuple[list[sg.Scene], dict[str, np.ndarray]]:
    """Four frames of KITTI 2015 at twice their size, a block matcher's maps with holes, and one frame that is near.

    Disparities are doubled; the near frame has 50 true disparities of 100 px and 60 of 191.5 px, all others are beyond
    192 px. A rectangle stands for reflective surfaces, and each true disparity for the four of a grid twice as fine.
    """
    truths, maps, cameras = {}, {}, {}
    for frame in sg.load_dataset("kitti-2015", root / "kitti2015"):
        path = root / "kitti2015/results/BM-8bit" / f"{frame.id}.png"
        if path.exists():
            estimate = DisparityFile(path, encoding="middlebury", scale=1.0).read() * np.float32(2)
            estimate[estimate < 8] = np.nan
            truths[frame.id], maps[frame.id] = frame.gt * np.float32(2), estimate
            cameras[frame.id] = frame.calibration.scaled(2)
    first = next(iter(truths))
    near = truths[first] + np.float32(192)
    places = np.flatnonzero(np.isfinite(near))
    near.flat[places[:50]], near.flat[places[50:110]] = 100.0, 191.5
    truths["near"], cameras["near"] = near, cameras[first]
    maps["near"] = np.broadcast_to(np.linspace(148, 152, near.shape[1], dtype=np.float32), near.shape).copy()
    scenes = []
    for name, truth in truths.items():
        shiny = np.zeros(truth.shape, np.bool_)
        shiny[REFLECTIVE] = True
        fine = truth.repeat(2, axis=0).repeat(2, axis=1)
        camera = replace(cameras[name], ndisp=256)
        scenes.append(sg.Scene(name, gt=truth, gt_fine=fine, calibration=camera, masks={"reflective": shiny}))
    return scenes, maps


def presets(root: Path) -> str:
    """The same maps under the presets: outliers and mean error, each as that program aggregates them."""
    scenes, maps = differing_maps(root)
    rows = []
    for name, column in FIGURES.items():
        metric, _, region = column.partition(":")
        region = region or "all"
        protocol = sg.load_protocol(name).replace(**{"region_rules.rule": "auto"})
        found = sg.evaluate({"BM": maps}, scenes, [metric, "mae"], [region], protocol)
        share, error = (found.aggregate(one, region) for one in (metric, "mae"))
        rows.append((f"`{name}`", f"`{column}`", f"{share:.4f}", f"{error:.4f}"))
    return table(("preset", "its share", "value", "mean error, px"), rows)


def page(root: Path) -> str:
    """The whole page."""
    text = HEAD.read_text(encoding="utf-8")
    parts = {
        "AGREEMENT": agreement(root),
        "MISSING": missing_pixels(root),
        "POOLING": pooling(root),
        "READERS": readers(root),
        "EMPTY": empty_mask(),
        "PRESETS": presets(root),
    }
    for name, content in parts.items():
        text = text.replace(f"{{{name}}}", content)
    return text


if __name__ == "__main__":
    (DOCS / "evaluators.md").write_text(page(Path(sys.argv[1])), encoding="utf-8")
