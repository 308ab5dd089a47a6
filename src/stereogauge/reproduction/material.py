"""The data of the reproduction, and the scores that several items share; computed at their first use.

A `Frame` is one pair as Haeusler and Klette analyse it: their measures on census SGM, sparsified.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.confidence_measures.evaluation import SceneCurves, combination_bound, evaluate_maps
from stereogauge.confidence_measures.measures import confidence
from stereogauge.confidence_measures.paper import PAPER as MEASURES
from stereogauge.confidence_measures.paper import log_product
from stereogauge.confidence_measures.run import evaluation_domain
from stereogauge.confidence_measures.sparsification import SparsificationCurve, is_bad, sparsify
from stereogauge.datasets import load_dataset
from stereogauge.datasets.declaration import search_range
from stereogauge.errors import DatasetError
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.io.files import DisparityFile
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.run import match
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Dataset, DisparityMap, Mask, Scene
from stereogauge.protocol import load_protocol
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.table import ScoreTable

SYMBOLS = dict(zip((*MEASURES, "product"), ("Γ0", "Γ1", "Γ2", "Γ3", "Γ4", "Γ"), strict=True))
PRINTED, PATH_MEAN, P2 = "entropy as printed", "entropy@8", "entropy"
READINGS = {PRINTED: "as printed", PATH_MEAN: "T = 8", P2: "T = P2"}
"""Γ3 as printed (temperature 1), with the mean over the eight paths instead of their sum, and with temperature P2."""
PRODUCTS = {PRINTED: "product, entropy as printed", PATH_MEAN: "product, entropy@8", P2: "product"}
"""Γ with each reading of Γ3."""
SECOND_COST = "naive-peak-ratio"
CLOSE = 1.0
LOCKED = 0.125


class Frame(NamedTuple):
    """Sparsification of one pair, and further facts of its pixels.

    `further` are the curves of the other readings of Γ3 and of Γ with them, `bounds` s(φ) at the share of good pixels
    by reading. `inside` is the ROC area of each measure where Γ4 < 1; `rank_correlation` Spearman's of each two
    measures; `locked` the share of estimates and of true disparities within 1/8 px of a whole number; `failing` the
    share of pixels that fail the left-right check by more than 1 px with and without ground truth, below its highest
    row; `covered` the share of these pixels that have ground truth.
    """

    name: str
    curves: SceneCurves
    further: Mapping[str, SparsificationCurve]
    bounds: Mapping[str, float]
    inside: Mapping[str, float]
    rank_correlation: Mapping[tuple[str, str], float]
    locked: tuple[float, float]
    failing: tuple[float, float]
    covered: float
    disparity: DisparityMap
    gt: DisparityMap
    domain: Mask

    @property
    def product(self) -> SparsificationCurve:
        """The curve of Γ."""
        return self.curves.curves["product"]

    @property
    def bad(self) -> int:
        """Bad pixels in the domain."""
        return self.product.bad_pixels

    @property
    def good_share(self) -> float:
        """Share of good pixels in the domain."""
        return self.product.good_share

    def curve(self, measure: str) -> SparsificationCurve:
        """The curve of a measure, or of another reading of Γ3."""
        return self.further[measure] if measure in self.further else self.curves.curves[measure]

    def left(self, measure: str, density: float | None = None) -> float:
        """Bad pixels that remain at a density, by default at the share of good pixels."""
        return self.curve(measure).at(self.good_share if density is None else density)

    @property
    def bound(self) -> float:
        """s(φ) at the share of good pixels."""
        return float("nan") if self.curves.bound is None else self.curves.bound.at(self.good_share)

    def gain(self, measure: str, density: float | None = None) -> float:
        """How much better than a random order: 0 as random, 1 none of the bad pixels left."""
        kept = self.good_share if density is None else density
        return 1.0 - self.left(measure, kept) / (self.bad * kept)

    def relative_area(self, measure: str) -> float:
        """AURG / (random − oracle): 0 as random, 1 as the oracle."""
        curve = self.curve(measure)
        return curve.aurg / (curve.random.auc - curve.oracle.auc)

    def best(self, measures: tuple[str, ...] = MEASURES, density: float | None = None) -> str:
        """The measure that leaves the fewest bad pixels."""
        return min(measures, key=lambda measure: self.left(measure, density))

    def worst(self, measures: tuple[str, ...] = MEASURES, density: float | None = None) -> str:
        """The measure that leaves the most bad pixels."""
        return max(measures, key=lambda measure: self.left(measure, density))

    def spread(self, measures: tuple[str, ...], density: float) -> float:
        """How much more bad pixels the worst of the measures leaves than the best, as a share."""
        left = [self.left(measure, density) for measure in measures]
        return max(left) / min(left) - 1


def singles(entropy: str = P2) -> tuple[str, ...]:
    """Γ0 … Γ4 with one of the readings of Γ3."""
    return tuple(entropy if measure == "entropy" else measure for measure in MEASURES)


def frame_of(scene: Scene, name: str, ndisp: int, threshold: float) -> Frame:
    """A pair matched by census SGM with the paper's penalties, and every measure of the paper sparsified."""
    result = match(scene.left, scene.right, "sgm", ndisp, p1=20, p2=100)
    maps = confidence(result, (*MEASURES, "product"))
    others = confidence(result, (PATH_MEAN, SECOND_COST))
    others[PRINTED] = confidence(result, ["entropy"], literal=True)["entropy"]
    truth = np.where(scene.mask("nonocc"), scene.gt, np.float32(np.nan)) if "nonocc" in scene.masks else scene.gt
    raw, domain = np.asarray(result.raw), evaluation_domain(result, truth)
    curves = evaluate_maps(name, maps, raw, truth, threshold=threshold, mask=domain)
    readings = {**maps, **others}
    for entropy in (PRINTED, PATH_MEAN):
        others[PRODUCTS[entropy]] = log_product([readings[one] for one in singles(entropy)])
    bad, share = is_bad(raw, truth, threshold), curves.curves["product"].good_share
    bounds = {
        entropy: combination_bound({one: readings[one] for one in singles(entropy)}, bad, domain).at(share)
        for entropy in READINGS
    }
    difference = maps["lr-difference"]
    consistent = domain & (difference < CLOSE)
    below = np.zeros_like(domain)
    below[np.argmax(np.isfinite(truth).any(axis=1)) :, ndisp + result.window_radius :] = True
    known = np.isfinite(truth)
    return Frame(
        name=name,
        curves=curves,
        further={key: sparsify(others[key], raw, truth, threshold, domain) for key in others if key != SECOND_COST},
        bounds=bounds,
        inside={key: sparsify(maps[key], raw, truth, threshold, consistent).roc_auc for key in MEASURES},
        rank_correlation=_rank_correlation(
            {key: values[domain] for key, values in {**maps, SECOND_COST: others[SECOND_COST]}.items()}
        ),
        locked=(_locked(raw[domain]), _locked(truth[domain])),
        failing=(float((difference[below & known] > CLOSE).mean()), float((difference[below & ~known] > CLOSE).mean())),
        covered=float(known[below].mean()),
        disparity=raw,
        gt=truth,
        domain=domain,
    )


def _locked(disparity: NDArray[np.float32]) -> float:
    return float(np.mean(np.abs(disparity - np.rint(disparity)) <= LOCKED))


def _rank_correlation(values: Mapping[str, NDArray[np.floating]]) -> dict[tuple[str, str], float]:
    from scipy.stats import rankdata

    ranks = {name: rankdata(one) for name, one in values.items()}
    return {
        (first, second): float(np.corrcoef(ranks[first], ranks[second])[0, 1])
        for first, second in itertools.combinations(ranks, 2)
    }


SCALES = {"tsukuba": 16, "venus": 8, "teddy": 4, "cones": 4}
ALGORITHMS = ("PatchMatch-alg117", *(f"S0{number}" for number in range(1, 10)))
HCI_SCENES = (
    "Adirondack", "ArtL", "Jadeplant", "Motorcycle", "Piano", "Pipes", "Playroom", "PlaytableP", "Recycle", "Shelves",
    "Teddy", "Vintage",
)  # fmt: skip
"""The twelve images of the paper: the training set without PianoL, Playtable and MotorcycleE."""
KITTI_FRAMES = (8, 43, 82, 87, 94, 120, 122, 128, 180)
FEW_ERRORS = (8, 128)
KITTI_RANGE, KITTI_THRESHOLD = 128, 3.0
PAIR_THRESHOLD = 1.0
DENSE = "lr_check=1,fill=true"
MATCHERS = {
    "SGM": "sgm",
    "SGM filled": f"sgm:{DENSE},median=3",
    "SGM weak": f"sgm:p1=5,p2=20,{DENSE}",
    "SGM strong": f"sgm:p1=60,p2=180,{DENSE}",
    "SGM 5x5": f"sgm:window=5x5,adapt=true,{DENSE}",
    "SGBM": f"opencv-sgbm:right_view=second-run,{DENSE}",
    "SGBM 3way": f"opencv-sgbm:mode=3way,block=3,p1=72,p2=288,right_view=second-run,{DENSE}",
    "BM": f"opencv-bm:right_view=second-run,{DENSE}",
    "SGBM wide": f"opencv-sgbm:block=9,p1=648,p2=2592,right_view=second-run,{DENSE}",
    "BM narrow": f"opencv-bm:block=9,right_view=second-run,{DENSE}",
    "BM wide": f"opencv-bm:block=31,right_view=second-run,{DENSE}",
}
HCI_METRICS = (
    "rms", "bad@1", "bad@4", "d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat",
    "d-fuz", "rms:disc-background", "rms:disc-foreground", "rms:disc-edge", "rms:planar", "rms:fine",
    "rms:fine-surround",
)  # fmt: skip


class Material(Struct, frozen=True, dict=True):
    """The folder that holds `middlebury-v2`, `middlebury-2014` and `kitti2012`."""

    root: Path

    def folder(self, name: str) -> Path:
        """One dataset's folder."""
        path = self.root / name
        if not path.is_dir():
            raise DatasetError(
                f"{path} does not exist; the reproduction needs a folder with middlebury-v2, middlebury-2014 and "
                "kitti2012: name it with --data or in STEREOGAUGE_DATA."
            )
        return path

    @functools.cached_property
    def middlebury(self) -> Dataset:
        """Tsukuba, Venus, Teddy and Cones: the test-bed of the two papers by Cabezas et al."""
        return load_dataset("middlebury-v2", self.folder("middlebury-v2"))

    @functools.cached_property
    def published_maps(self) -> Mapping[str, Mapping[str, DisparityFile]]:
        """Maps of ten algorithms on the four scenes."""
        results = self.folder("middlebury-v2") / "results"
        return {
            name: {
                scene: DisparityFile(results / name / f"{scene}.png", encoding="middlebury", scale=scale)
                for scene, scale in SCALES.items()
            }
            for name in ALGORITHMS
        }

    @functools.cached_property
    def off_by_one(self) -> ScoreTable:
        """Ground truth − 1 px on the four scenes: smooth, and wrong everywhere (figure 1 of the Sigma-Z paper)."""
        maps = {scene.id: scene.gt - 1 for scene in self.middlebury}
        return evaluate({"gt - 1": maps}, self.middlebury, protocol="sigma-z-2011")

    @functools.cached_property
    def methodology_scores(self) -> ScoreCube:
        """Ten algorithms × four scenes under the protocol of the methodology paper, with Middlebury's regions too."""
        protocol = load_protocol("cabezas").replace(
            regions=["boundary", "interior", "occluded", "nonocc", "all", "disc"],
            metrics=["bad@1", "sze", "mae", "mse", "mre", "mape"],
        )
        return ScoreCube.of(evaluate(self.published_maps, self.middlebury, protocol=protocol))

    @functools.cached_property
    def hci_data(self) -> Dataset:
        """Those of the paper's twelve scenes that are available, at a quarter of their size."""
        whole = load_dataset("middlebury-v3", self.folder("middlebury-2014"))
        there = {scene.id for scene in whole}
        return whole.subset([name for name in HCI_SCENES if name in there])

    @functools.cached_property
    def hci_maps(self) -> Mapping[str, Mapping[str, DisparityMap]]:
        """Dense maps of all matcher settings on these scenes."""
        return {
            name: {
                scene.id: match(scene.left, scene.right, text, scene.calibration.ndisp or 64).disparity
                for scene in self.hci_data
            }
            for name, text in MATCHERS.items()
        }

    @functools.cached_property
    def hci_scores(self) -> ScoreCube:
        """Settings × scenes × the paper's metrics, and RMS on the metrics' own pixels."""
        protocol = load_protocol("hci").replace(metrics=list(HCI_METRICS))
        return ScoreCube.of(evaluate(self.hci_maps, self.hci_data, protocol=protocol))

    @functools.cached_property
    def hci_regions(self) -> Mapping[str, SceneRegions]:
        """The pixel sets of each scene."""
        protocol = load_protocol("hci")
        return {scene.id: SceneRegions(scene, protocol) for scene in self.hci_data}

    def hci_measurement(self, algorithm: str, scene: str) -> Measurement:
        """One map against its scene, for pictures."""
        return Measurement(self.hci_maps[algorithm][scene], self.hci_regions[scene])

    @functools.cached_property
    def kitti(self) -> Dataset:
        """KITTI 2012 with ground truth at non-occluded pixels."""
        return load_dataset("kitti-2012", self.folder("kitti2012"), truth="noc")

    @functools.cached_property
    def kitti_frames(self) -> Mapping[int, Frame]:
        """The nine frames of Haeusler and Klette, by number."""
        return {
            number: frame_of(self.kitti[f"{number:06}_10"], f"frame {number}", KITTI_RANGE, KITTI_THRESHOLD)
            for number in KITTI_FRAMES
        }

    @functools.cached_property
    def middlebury_frames(self) -> tuple[Frame, ...]:
        """Teddy and Cones, evaluated in the same way on their visible pixels."""
        pairs = [self.middlebury[name] for name in ("teddy", "cones")]
        return tuple(frame_of(pair, pair.id, search_range(pair), PAIR_THRESHOLD) for pair in pairs)
