"""How a map fails on fine structures: porous, fragmented, lost or fattened.

M_s are the pixels of thin structures in the ground truth D, S the structures (its 8-connected components), M_a ⊆ M_s
the pixels that the estimate E finds within the tolerance, M_n the background beside a structure and D_n the structure's
disparity there (docs/geometry.md). A missing estimate is not found; beside a structure it is not fat, and is reported
as missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.distances import squared_distances
from stereogauge.kernels.geometry_scores import closer_to_beyond, found_pixels, hole_penalties
from stereogauge.metrics.declaration import Statistic, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.overlays import (
    FAR,
    GUARD,
    HCI,
    NEAR,
    VARIANT,
    WRONG,
    emptiness,
    heat_overlay,
    label_overlay,
    share_of_set,
)
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import mean
from stereogauge.regions.connected import components

FINE = "fine structure"
WHOLE, DIVIDED, LOST, GAP = "#009e73", "#f0e442", "#a50026", "#333333"
NOTHING_FOUND = "no pixel of any structure is found: the image diagonal stands for the distance"


@dataclass(frozen=True)
class Found:
    """What an estimate finds of the fine structures.

    verdict: 1 found, 0 not, 2 missing estimate, one value per pixel of M_s; penalty: log(1 + distance to M_a), 0 where
    found; fragments: how many 8-connected components of M_a each structure has.
    """

    verdict: NDArray[np.uint8]
    penalty: NDArray[np.float64]
    fragments: NDArray[np.int64]

    @property
    def missing(self) -> int:
        """Pixels of M_s without an estimate."""
        return int(np.count_nonzero(self.verdict == 2))


def _window(positions: NDArray[np.int32], width: int) -> tuple[int, int, int, int]:
    rows, columns = np.divmod(positions, width)
    return int(rows.min()), int(rows.max()) + 1, int(columns.min()), int(columns.max()) + 1


def _found(m: Measurement) -> Found:
    """M_a, the distances to it and its components, inside the smallest window that holds every structure."""
    sets = m.regions.geometry
    tolerance = m.protocol.geometry.at(m.scene.resolution).fine_tolerance
    verdict = found_pixels(m.estimate, m.gt, sets.fine, tolerance + GUARD)
    structures = int(sets.fine_label.max(initial=0))
    found = verdict == 1
    penalty = np.zeros(sets.fine.size)
    if not found.any():
        penalty[:] = math.log1p(math.hypot(sets.height, sets.width))
        return Found(verdict, penalty, np.zeros(structures, np.int64))
    top, bottom, left, right = _window(sets.fine, sets.width)
    rows, columns = np.divmod(sets.fine, sets.width)
    rows, columns = rows - top, columns - left
    window = np.zeros((bottom - top, right - left), np.bool_)
    window[rows, columns] = found
    labels, _ = components(window)
    if not found.all():
        lost = ~found
        penalty[lost] = hole_penalties(squared_distances(window), rows[lost], columns[lost])
    pairs = np.unique(np.stack([sets.fine_label[found], labels[rows, columns][found]]), axis=1)
    return Found(verdict, penalty, np.bincount(pairs[0], minlength=structures + 1)[1:])


def _result(m: Measurement) -> Found:
    return m.once("fine", lambda: _found(m))


def _fattened(m: Measurement) -> NDArray[np.float32]:
    sets = m.regions.geometry
    return m.once("f-fat", lambda: closer_to_beyond(m.estimate, m.gt, sets.surround, sets.extrapolated_structure))


def _empty(m: Measurement) -> str:
    return emptiness(m.regions.geometry, 0, FINE, "")


def _porosity_picture(m: Measurement) -> Picture:
    sets = m.regions.geometry
    limit = float(np.log1p(m.protocol.geometry.at(m.scene.resolution).fine_width * 4))
    return heat_overlay(m, "porosity of fine structures", sets.fine, _result(m).penalty, "log px", limit)


def _fragments_picture(m: Measurement) -> Picture:
    sets = m.regions.geometry
    result = _result(m)
    parts = result.fragments[sets.fine_label - 1] if sets.fine.size else np.zeros(0, np.int64)
    found = result.verdict == 1
    layers = [
        (sets.fine[found & (parts == 1)], "structure in one part", WHOLE),
        (sets.fine[found & (parts > 1)], "structure in several parts", DIVIDED),
        (sets.fine[~found & (parts > 0)], "not found", GAP),
        (sets.fine[parts == 0], "structure lost", LOST),
    ]
    return label_overlay(m, "fragments of fine structures", layers, sets.fine)


def _fat_picture(m: Measurement) -> Picture:
    sets = m.regions.geometry
    layers = [
        (sets.surround, "beside structures", FAR),
        (sets.fine, "structure", NEAR),
        (sets.surround[_fattened(m) == 1], "background taken for structure", WRONG),
    ]
    return label_overlay(m, "fattening of fine structures", layers, sets.surround)


@metric(
    id="f-por",
    name="Porosity of fine structures",
    formula=r"\frac{1}{|M_s|}\sum_{x \in M_s \setminus M_a} \log(1 + \mathrm{dist}(x, M_a))",
    unit="log px",
    heuristic_range=(0.0, 1.2),
    source=HCI,
    missing="counted",
    scaling="none",
    region="fine",
    finalize=mean,
    picture=_porosity_picture,
    version=2,
)
def f_por(m: Measurement, region: str) -> Statistic:
    """Mean over structure pixels of log(1 + distance in px to the nearest found one); found pixels contribute 0.

    One large hole costs more than many small ones of the same area. Where nothing is found the distance is the image
    diagonal.
    """
    size = m.regions.geometry.fine.size
    if not size:
        return Statistic.empty(_empty(m))
    result = _result(m)
    note = "" if result.fragments.any() else NOTHING_FOUND
    return Statistic(float(result.penalty.sum()), size, result.missing, note)


@metric(
    id="f-frag",
    name="Fragmentation of fine structures",
    formula=r"\frac{1}{|S|}\sum_{s \in S} \Big(1 - \frac{1}{\max(1, |F_s|)}\Big)",
    unit="",
    range=(0.0, 1.0),
    heuristic_range=(0.0, 0.5),
    source=HCI,
    missing="counted",
    scaling="none",
    region="fine",
    finalize=mean,
    picture=_fragments_picture,
    version=2,
)
def f_frag(m: Measurement, region: str) -> Statistic:
    """Mean over structures of 1 − 1/k, k the number of 8-connected parts that the estimate finds; count = structures.

    A structure of which nothing is found contributes 0 here and is counted by `f-missing`; the note says so where all
    are lost. NaN where no estimate lies on a structure.
    """
    if not m.regions.geometry.fine.size:
        return Statistic.empty(_empty(m))
    result = _result(m)
    if result.missing == len(result.verdict):
        return Statistic.empty("no estimate on fine structures", result.missing)
    total = float((1 - 1 / np.maximum(result.fragments, 1)).sum())
    note = "" if result.fragments.any() else "every structure is lost (see f-missing)"
    return Statistic(total, len(result.fragments), result.missing, note)


@metric(
    id="f-missing",
    name="Lost fine structures",
    formula=r"\frac{|\{s \in S : F_s = \emptyset\}|}{|S|}",
    unit="",
    range=(0.0, 1.0),
    source=VARIANT,
    missing="counted",
    scaling="none",
    region="fine",
    finalize=mean,
    picture=_fragments_picture,
)
def f_missing(m: Measurement, region: str) -> Statistic:
    """Share (0 to 1) of structures of which no pixel is found, which fragmentation does not penalise.

    Count = structures.
    """
    if not m.regions.geometry.fine.size:
        return Statistic.empty(_empty(m))
    result = _result(m)
    lost = float(np.count_nonzero(result.fragments == 0))
    return Statistic(lost, len(result.fragments), result.missing)


@metric(
    id="f-fat",
    name="Fattening of fine structures",
    formula=r"\frac{|\{x \in M_n : |E - D| > |E - D_n|\}|}{|M_n|}",
    unit="",
    range=(0.0, 1.0),
    heuristic_range=(0.0, 0.7),
    source=HCI,
    missing="left out",
    scaling="none",
    region="fine-surround",
    finalize=mean,
    picture=_fat_picture,
)
def f_fat(m: Measurement, region: str) -> Statistic:
    """Share (0 to 1) of the background left and right of fine structures whose estimate is nearer to the structure.

    0: no gap was closed. NaN: no fine structure with visible background beside it, or no estimate there.
    """
    sets = m.regions.geometry
    what = f"background beside a {FINE}"
    return share_of_set(_fattened(m), m, emptiness(sets, sets.surround.size, what, "beside fine structures"))
