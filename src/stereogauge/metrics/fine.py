"""How a map fails on fine structures: porous, fragmented, lost or fattened.

M_s are the pixels of thin structures in the ground truth D, S the structures (its 8-connected components), M_a ⊆ M_s
the pixels that the estimate E finds within the tolerance, M_n the background beside a structure and D_n the structure's
disparity there (docs/geometry.md). A missing estimate is not found, and never helps; the policy `exclude` leaves it
out. Beside a structure fattening is a share of the pixels V that have an estimate. Losing structures never pays: a lost
one counts 1 in fragmentation and in the share of lost ones, costs porosity the distance to what is found, and what lies
beside it is not covered by the fattening.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.edges import squared_distances
from stereogauge.masks.geometry.connected import components
from stereogauge.metrics.costs import Costs, PixelCosts, mean
from stereogauge.metrics.declaration import Statistic, map_metric, metric
from stereogauge.metrics.hci import GUARD, HCI, VARIANT, closer_to_beyond, nothing_measured
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import FAR, NEAR, WRONG, Picture, layers
from stereogauge.model import Mask

FINE = "fine structure"
FINE_REGION, BESIDE = "fine", "fine-surround"
NOT_FOUND, FOUND, MISSING = 0, 1, 2
LOST, GAP = "#a50026", "#333333"
GRADES = (
    (1, "structure in one part", "#009e73"),
    (2, "in two parts", "#f0e442"),
    (3, "in three or four", "#fdae61"),
    (5, "in five or more", "#e66101"),
)
"""From how many parts on a structure has a colour; darker and redder with their number."""
ALL_LOST = "every structure is lost"
NO_ESTIMATE = "no estimate on fine structures"
NOTHING_FOUND = "no pixel of any structure is found: the image diagonal is taken for the distance"


@dataclass(frozen=True)
class FoundStructures:
    """What an estimate finds of the fine structures.

    verdict: FOUND, NOT_FOUND or MISSING, one value per pixel of M_s; penalty: log(1 + distance to M_a), 0 where
    found. Per structure, `fragments` is the number of 8-connected components of M_a, `hidden` the number of 2 × 2
    blocks of the pixel grid with a missing estimate that touches no found pixel, and `estimated` whether any pixel has
    an estimate.
    """

    verdict: NDArray[np.uint8]
    penalty: NDArray[np.float64]
    fragments: NDArray[np.int64]
    hidden: NDArray[np.int64]
    estimated: NDArray[np.bool_]


def _window(positions: NDArray[np.int32], width: int) -> tuple[int, int, int, int]:
    rows, columns = np.divmod(positions, width)
    return int(rows.min()), int(rows.max()) + 1, int(columns.min()), int(columns.max()) + 1


def _different(labels: NDArray[np.int32], numbers: NDArray[np.integer[Any]], structures: int) -> NDArray[np.int64]:
    """Per structure, how many different numbers its pixels have.

    >>> _different(np.int32([1, 1, 1, 2]), np.int32([7, 7, 5, 7]), structures=3)
    array([2, 1, 0])
    """
    step = int(numbers.max(initial=0)) + 1
    pairs = np.unique(labels.astype(np.int64) * step + numbers)
    return np.bincount(pairs // step, minlength=structures + 1)[1:]


def _hidden(
    missing: tuple[NDArray[np.int32], NDArray[np.int32]], found: Mask, labels: NDArray[np.int32], structures: int
) -> NDArray[np.int64]:
    """Per structure, how many 2 × 2 blocks of the grid have a missing estimate that touches no found pixel.

    `missing` are rows and columns inside the window `found`, `labels` their structures. No two fragments share a block,
    and a fragment that was removed touches no found pixel, so that fragments and hidden blocks together never become
    fewer when estimates are removed.
    """
    import cv2

    rows, columns = missing
    apart = cv2.dilate(found.astype(np.uint8), np.ones((3, 3), np.uint8))[rows, columns] == 0
    blocks = rows // 2 * found.shape[1] + columns // 2
    return _different(labels[apart], blocks[apart], structures)


def _found(m: Measurement) -> FoundStructures:
    """M_a, the distances to it and its components, inside the smallest window that holds every structure."""
    sets = m.regions.geometry
    tolerance = m.protocol.geometry.at(m.scene.resolution).fine_tolerance
    estimate, truth = (values.take(sets.fine).astype(np.float64) for values in (m.estimate, m.gt))
    verdict = np.where(np.abs(estimate - truth) <= tolerance + GUARD, FOUND, NOT_FOUND).astype(np.uint8)
    verdict[np.isnan(estimate)] = MISSING
    structures = int(sets.fine_label.max(initial=0))
    estimated = np.bincount(sets.fine_label[verdict != MISSING], minlength=structures + 1)[1:] > 0
    found = verdict == FOUND
    penalty = np.zeros(sets.fine.size)
    if not found.any():
        penalty[:] = math.log1p(math.hypot(sets.height, sets.width))
        nothing = np.zeros(structures, np.int64)
        return FoundStructures(verdict, penalty, nothing, nothing, estimated)
    top, bottom, left, right = _window(sets.fine, sets.width)
    rows, columns = np.divmod(sets.fine, sets.width)
    rows, columns = rows - top, columns - left
    window = np.zeros((bottom - top, right - left), np.bool_)
    window[rows, columns] = found
    labels, _ = components(window)
    if not found.all():
        lost = ~found
        penalty[lost] = np.log1p(np.sqrt(squared_distances(window)[rows[lost], columns[lost]], dtype=np.float64))
    fragments = _different(sets.fine_label[found], labels[rows, columns][found], structures)
    missing = (verdict == MISSING) & (m.protocol.invalid != "exclude")
    hidden = _hidden((rows[missing], columns[missing]), window, sets.fine_label[missing], structures)
    return FoundStructures(verdict, penalty, fragments, hidden, estimated)


def _result(m: Measurement) -> FoundStructures:
    return m.once("fine", lambda: _found(m))


def _fattened(m: Measurement) -> NDArray[np.float32]:
    """1 where the background is nearer to the structure, 0 where not, NaN where that says nothing.

    It says nothing without an estimate, and beside a structure of which nothing is found: what is lost is not fat.
    """
    sets = m.regions.geometry

    def verdicts() -> NDArray[np.float32]:
        fattened = np.asarray(closer_to_beyond(m.estimate, m.gt, sets.surround, sets.extrapolated_structure))
        found = np.concatenate([[True], _result(m).fragments > 0])
        return np.where(found[sets.surround_label], fattened, np.float32(np.nan))

    return m.once("f-fat", verdicts)


def _fragment_costs(found: FoundStructures) -> NDArray[np.float64]:
    """1 − 1/k per structure, 1 where nothing is found."""
    whole = 1 - 1 / np.maximum(found.fragments + found.hidden, 1)
    return np.where(found.fragments == 0, 1.0, whole)


def _lost(found: FoundStructures) -> NDArray[np.float64]:
    """1 per structure of which nothing is found."""
    return np.asarray(found.fragments == 0, np.float64)


def _inside(m: Measurement, region: str) -> NDArray[np.bool_]:
    """The structures of a region: those of which at least half lies in it."""
    sets = m.regions.geometry
    structures = int(sets.fine_label.max(initial=0))
    if region == FINE_REGION:
        return np.ones(structures, np.bool_)
    sizes, inside = (
        np.bincount(labels, minlength=structures + 1)[1:]
        for labels in (sets.fine_label, sets.fine_label[m.mask(region).ravel()[sets.fine]])
    )
    return np.asarray(2 * inside >= sizes)


def _spread(per_structure: Callable[[FoundStructures], NDArray[np.float64]]) -> Callable[[Measurement, str], Costs]:
    """The map on which the cost of each structure lies in equal parts on its pixels."""

    def costs(m: Measurement, region: str) -> Costs:
        sets = m.regions.geometry
        spread = np.full(m.scene.shape, np.nan)
        if not sets.fine.size:
            return spread
        result = _result(m)
        shares = per_structure(result) / np.bincount(sets.fine_label, minlength=result.estimated.size + 1)[1:]
        if m.protocol.invalid == "exclude":
            shares = np.where(result.estimated, shares, np.nan)
        spread.ravel()[sets.fine] = shares[sets.fine_label - 1]
        return spread

    return costs


def _empty(m: Measurement, what: str = FINE, size: int = 0) -> str:
    scaled = m.protocol.geometry.at(m.scene.resolution)
    looked_for = f"no rise and fall of more than {scaled.fine_gradient:.3g} px within {scaled.fine_width} px of a row"
    return nothing_measured(m, size, what, "beside fine structures", looked_for)


def _fragments_picture(m: Measurement) -> Picture:
    sets = m.regions.geometry
    result = _result(m)
    fragments, parts = (
        (counts[sets.fine_label - 1] if sets.fine.size else np.zeros(0, np.int64))
        for counts in (result.fragments, result.fragments + result.hidden)
    )
    found = result.verdict == FOUND
    named = [
        (sets.fine[found & (parts >= least) & (parts < limit)], text, shade)
        for (least, text, shade), limit in zip(GRADES, [*(grade[0] for grade in GRADES[1:]), math.inf], strict=True)
    ]
    named.append((sets.fine[~found & (fragments > 0)], "not found", GAP))
    named.append((sets.fine[fragments == 0], "structure lost", LOST))
    return layers(m, FINE_REGION, "fragments of fine structures", named)


def _fat_picture(m: Measurement) -> Picture:
    sets = m.regions.geometry
    named = [
        (sets.surround, "beside structures", FAR),
        (sets.fine, "structure", NEAR),
        (sets.surround[_fattened(m) == 1], "background taken for structure", WRONG),
    ]
    return layers(m, BESIDE, "fattening of fine structures", named)


@metric(
    id="f-por",
    name="Porosity of fine structures",
    formula=r"\frac{1}{|M_s|}\sum_{x \in M_s \setminus M_a} \log(1 + \mathrm{dist}(x, M_a))",
    unit="log px",
    heuristic_range=(0.0, 1.2),
    source=HCI,
    missing="counted",
    region=FINE_REGION,
    reduce=mean,
    version=3,
)
def f_por(m: Measurement) -> PixelCosts:
    """Mean over structure pixels of log(1 + distance in px to the nearest found one); found pixels contribute 0.

    One large hole costs more than many small ones of the same area. A missing estimate is not found. Where nothing is
    found the distance is the image diagonal.
    """
    fine = m.regions.geometry.fine
    if not fine.size:
        return PixelCosts(np.zeros(0), positions=fine, empty=_empty(m))
    result = _result(m)
    values = np.where(result.verdict == MISSING, np.nan, result.penalty)
    note = "" if result.fragments.any() else NOTHING_FOUND
    return PixelCosts(values, positions=fine, charge=result.penalty, note=note, empty=NO_ESTIMATE)


def _over_structures(
    m: Measurement, region: str, costs: Callable[[FoundStructures], NDArray[np.float64]], note: str = ""
) -> Statistic:
    """The sum of a cost over all structures, or under the policy `exclude` over those with any estimate."""
    if not m.regions.geometry.fine.size:
        return Statistic.empty(_empty(m))
    result = _result(m)
    inside = _inside(m, region)
    missing = int(np.count_nonzero(inside & ~result.estimated))
    counted = inside & result.estimated if m.protocol.invalid == "exclude" else inside
    count = int(np.count_nonzero(counted))
    if not count:
        return Statistic.empty(NO_ESTIMATE if inside.any() else f"no {FINE} in region {region!r}", missing)
    return Statistic(float(costs(result)[counted].sum()), count, missing, "" if result.fragments.any() else note)


@map_metric(
    id="f-frag",
    name="Fragmentation of fine structures",
    formula=r"\frac{1}{|S|}\sum_{s \in S} \begin{cases} 1 & F_s = \emptyset \\ "
    r"1 - \frac{1}{|F_s| + |H_s|} & \text{else}\end{cases}",
    unit="",
    range=(0.0, 1.0),
    heuristic_range=(0.0, 0.5),
    source=HCI,
    missing="counted",
    counts="structures",
    region=FINE_REGION,
    pooled=mean,
    costs=_spread(_fragment_costs),
    picture=_fragments_picture,
    version=4,
)
def f_frag(m: Measurement, region: str) -> Statistic:
    """Mean over structures of 1 − 1/k, k the number of 8-connected parts that the estimate finds; count = structures.

    A structure of which nothing is found counts 1, the limit of many parts. Missing estimates can hide fragments: each
    2 × 2 block H_s of the pixel grid with a missing estimate that touches no found pixel of the structure counts as a
    part, so that no fragment can be removed for a better score. Missing = structures without any estimate.
    """
    return _over_structures(m, region, _fragment_costs, ALL_LOST)


@map_metric(
    id="f-missing",
    name="Lost fine structures",
    formula=r"\frac{|\{s \in S : F_s = \emptyset\}|}{|S|}",
    unit="",
    range=(0.0, 1.0),
    source=VARIANT,
    missing="counted",
    counts="structures",
    region=FINE_REGION,
    pooled=mean,
    costs=_spread(_lost),
    picture=_fragments_picture,
    version=3,
)
def f_missing(m: Measurement, region: str) -> Statistic:
    """Share (0 to 1) of structures of which no pixel is found; count = structures.

    Missing = structures without any estimate, which are lost.
    """
    return _over_structures(m, region, _lost)


@metric(
    id="f-fat",
    name="Fattening of fine structures",
    formula=r"\frac{|\{x \in M_n' \cap V : |E - D| > |E - D_n|\}|}{|M_n' \cap V|}, \quad "
    r"M_n' \subseteq M_n \text{ beside structures with } F_s \ne \emptyset",
    unit="",
    range=(0.0, 1.0),
    heuristic_range=(0.0, 0.7),
    source=HCI,
    missing="left out",
    region=BESIDE,
    reduce=mean,
    wrong=("background", "background taken for structure"),
    picture=_fat_picture,
    version=3,
)
def f_fat(m: Measurement) -> PixelCosts:
    """Share (0 to 1) of the estimated background left and right of fine structures that is nearer to the structure.

    0: no gap was closed. What lies beside a structure of which nothing is found is left out like a missing estimate,
    so that a map does not become the best by losing structures: the share that is left is the score's coverage. NaN: no
    fine structure with visible background beside it, no estimate there, or every structure lost.
    """
    sets = m.regions.geometry
    empty = _empty(m, f"background beside a {FINE}", sets.surround.size)
    if sets.surround.size and sets.fine.size and not _result(m).fragments.any():
        empty = ALL_LOST
    return PixelCosts(_fattened(m), positions=sets.surround, empty=empty)
