"""How a map fails on fine structures: porous, fragmented, lost, thinned or fattened.

M_s are the pixels of thin structures in the ground truth D, S the structures (its 8-connected components), M_a ⊆ M_s
the pixels that the estimate E finds within the tolerance τ, M_n the background beside a structure and D_n the
structure's disparity there (docs/geometry.md). A structure is found from a share q of its pixels on (20 %). A missing
estimate is not found; the policy `exclude` leaves it out.

Losing structures never pays: a score never becomes better when found pixels of a structure are erased, or any pixels
deleted. A lost structure counts 1 in fragmentation and in the share of lost ones; what is lost of a found one counts as
parts of it as soon as a part could be hidden there; and what lies beside a structure counts as fattened where its row
is not found, or where there is no estimate.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.kernels.edges import squared_distances
from stereogauge.masks.declaration import LIGHT_FIELDS
from stereogauge.masks.geometry.connected import components
from stereogauge.metrics.costs import Costs, PixelCosts, mean
from stereogauge.metrics.declaration import Statistic, map_metric, metric
from stereogauge.metrics.hci import GUARD, HCI, VARIANT, closer_to_beyond, nothing_measured
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import FAR, NEAR, Picture, layers, wrong_layer
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
NOTHING_FOUND = "no pixel of any structure is found: the image diagonal counts as the distance"


class FoundStructures(Struct, frozen=True):
    """What an estimate finds of the fine structures.

    One value per pixel of M_s: `verdict` is FOUND, NOT_FOUND or MISSING, `penalty` log(1 + distance to M_a), 0 where
    found, and `row_lost` 1 where the pixel's run on its row, or its structure, is not found, 0 where it is, NaN where
    nothing of it is estimated and the policy leaves that out. One value per structure: `parts` is the number of parts
    that it is found in, 0 where it is lost, and `estimated` whether any of its pixels has an estimate.
    """

    verdict: NDArray[np.uint8]
    penalty: NDArray[np.float64]
    row_lost: NDArray[np.float32]
    parts: NDArray[np.int64]
    estimated: NDArray[np.bool_]


def _found(m: Measurement) -> FoundStructures:
    """M_a, the distances to it and its parts, inside the smallest window that holds every structure."""
    sets = m.regions.geometry
    parameters = m.protocol.geometry
    share, tolerance = parameters.fine_found_share, parameters.at(m.scene.resolution).fine_tolerance
    estimate, truth = (values.take(sets.fine).astype(np.float64) for values in (m.estimate, m.gt))
    verdict = np.where(np.abs(estimate - truth) <= tolerance + GUARD, FOUND, NOT_FOUND).astype(np.uint8)
    verdict[np.isnan(estimate)] = MISSING
    found = verdict == FOUND
    counted = verdict != MISSING if m.protocol.invalid == "exclude" else np.ones(found.shape, np.bool_)
    labels = sets.fine_label
    structures = int(labels.max(initial=0))
    sizes, estimated, hits = (
        np.bincount(labels[chosen], minlength=structures + 1) for chosen in (counted, verdict != MISSING, found)
    )
    least = share * sizes - GUARD
    rows, columns = np.divmod(sets.fine, sets.width)
    window = np.zeros((int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1), np.bool_)
    places = rows - rows.min(), columns - columns.min()
    window[places] = found
    penalty = np.zeros(sets.fine.size)
    if not found.any():
        penalty[:] = math.log1p(math.hypot(sets.height, sets.width))
    elif not found.all():
        squared = squared_distances(window)[places][~found]
        penalty[~found] = np.log1p(np.sqrt(squared, dtype=np.float64))
    parts = _parts(window, places, labels, counted, least)
    lost = hits < least
    lost[0] = False
    runs = np.cumsum(np.diff(sets.fine, prepend=-2) != 1, dtype=np.int64) + rows
    row_sizes, row_hits = (np.bincount(runs[chosen], minlength=int(runs.max()) + 1) for chosen in (counted, found))
    row_lost = np.where(lost[labels] | (row_hits < share * row_sizes - GUARD)[runs], 1.0, 0.0).astype(np.float32)
    row_lost[(row_sizes == 0)[runs]] = np.nan
    return FoundStructures(verdict, penalty, row_lost, np.where(lost, 0, parts)[1:], estimated[1:] > 0)


def _parts(
    window: Mask,
    places: tuple[NDArray[np.int32], NDArray[np.int32]],
    labels: NDArray[np.int32],
    counted: Mask,
    least: NDArray[np.floating],
) -> NDArray[np.int64]:
    """Per structure, how many substantial parts it is found in, with those that may be hidden in what is lost.

    An 8-connected component of M_a is substantial with at least `least` pixels of its structure; smaller ones are
    specks, and lost. A connected lost piece counts once for every `least` pixels. Erasing pixels therefore never lowers
    the number: a substantial part that goes joins a lost piece, which then holds at least its pixels more.
    """
    whole, sizes, owner = _components(window, places, labels)
    substantial = sizes[whole] >= least[owner[whole]]
    substantial &= window[places]
    parts = np.bincount(owner[np.unique(whole[substantial])], minlength=least.size)
    lost = np.zeros(window.shape, np.bool_)
    lost[places] = counted & ~substantial
    _, sizes, owner = _components(lost, places, labels)
    hidden = np.floor(sizes / np.maximum(least[owner], 1.0))
    hidden[0] = 0
    total = np.asarray(parts + np.bincount(owner, hidden, minlength=least.size), np.int64)
    return np.maximum(total, 1)


def _components(
    mask: Mask, places: tuple[NDArray[np.int32], NDArray[np.int32]], labels: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """8-connected components of a mask of structure pixels: each pixel's, their sizes, and their structures.

    Component 0 is what is outside the mask; its structure is 0.
    """
    image, number = components(mask)
    own = image[places]
    owner = np.zeros(number, np.int64)
    owner[own] = labels
    owner[0] = 0
    return own, np.bincount(own, minlength=number), owner


def _result(m: Measurement) -> FoundStructures:
    return m.once("fine", lambda: _found(m))


def _fragment_costs(found: FoundStructures) -> NDArray[np.float64]:
    """1 − 1/k per structure, 1 where it is lost."""
    return np.where(found.parts == 0, 1.0, 1 - 1 / np.maximum(found.parts, 1))


def _lost(found: FoundStructures) -> NDArray[np.float64]:
    """1 per structure that is lost."""
    return np.asarray(found.parts == 0, np.float64)


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
    found = parts = np.zeros(0, np.int64)
    if sets.fine.size:
        result = _result(m)
        found, parts = result.verdict == FOUND, result.parts[sets.fine_label - 1]
    named = [
        (sets.fine[(found > 0) & (parts >= least) & (parts < limit)], text, shade)
        for (least, text, shade), limit in zip(GRADES, [*(grade[0] for grade in GRADES[1:]), math.inf], strict=True)
    ]
    named.append((sets.fine[(found == 0) & (parts > 0)], "not found", GAP))
    named.append((sets.fine[parts == 0], "structure lost", LOST))
    return layers(m, FINE_REGION, "fragments of fine structures", named)


def _fat_picture(m: Measurement) -> Picture:
    sets = m.regions.geometry
    return wrong_layer(m, f_fat, [(sets.surround, "beside structures", FAR), (sets.fine, "structure", NEAR)])


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
    version=4,
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
    note = "" if (result.verdict == FOUND).any() else NOTHING_FOUND
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
    return Statistic(float(costs(result)[counted].sum()), count, missing, "" if result.parts.any() else note)


_of_structures = functools.partial(
    map_metric,
    unit="",
    range=(0.0, 1.0),
    missing="counted",
    counts="structures",
    region=FINE_REGION,
    pooled=mean,
    picture=_fragments_picture,
)


@_of_structures(
    id="f-frag",
    name="Fragmentation of fine structures",
    formula=r"\frac{1}{|S|}\sum_{s \in S} \begin{cases} 1 & |M_a \cap s| < q\,|s| \\ "
    r"1 - \frac{1}{|F_s|} & \text{else}\end{cases}",
    heuristic_range=(0.0, 0.5),
    source=HCI,
    costs=_spread(_fragment_costs),
    version=6,
)
def f_frag(m: Measurement, region: str) -> Statistic:
    """Mean over structures of 1 − 1/k, k the number of substantial parts that a structure is found in.

    A part is 8-connected and substantial with at least 20 % of the structure's pixels (`geometry.fine_found_share`);
    smaller ones are specks. A connected piece that is not found, specks included, counts as a part for every 20 % that
    it holds, since as many parts could be hidden in it: otherwise a map would become better by losing all parts but
    one. A structure of which less than 20 % is found counts 1, the limit of many parts. Count = structures, missing =
    structures without any estimate.
    """
    return _over_structures(m, region, _fragment_costs, ALL_LOST)


@_of_structures(
    id="f-missing",
    name="Lost fine structures",
    formula=r"\frac{|\{s \in S : |M_a \cap s| < q\,|s|\}|}{|S|}",
    source=VARIANT,
    costs=_spread(_lost),
    version=5,
)
def f_missing(m: Measurement, region: str) -> Statistic:
    """Share (0 to 1) of structures of which less than 20 % of the pixels are found; count = structures.

    The share is `geometry.fine_found_share`. Missing = structures without any estimate, which are lost.
    """
    return _over_structures(m, region, _lost)


_share = functools.partial(metric, unit="", range=(0.0, 1.0), missing="counted", reduce=mean)


@_share(
    id="f-thin",
    name="Thinning of fine structures",
    formula=r"\frac{|\{x \in M_s : D - E > \tau\}|}{|M_s|}",
    source=f"after {LIGHT_FIELDS}",
    region=FINE_REGION,
    wrong=("structure", "structure taken for background"),
    version=2,
)
def f_thin(m: Measurement) -> PixelCosts:
    """Share (0 to 1) of structure pixels that the estimate puts behind the structure by more than the tolerance.

    The error has a sign: a pixel that is too near is no thinning. A missing estimate counts as lost to the background.
    """
    fine = m.regions.geometry.fine
    if not fine.size:
        return PixelCosts(np.zeros(0), positions=fine, empty=_empty(m))
    tolerance = m.protocol.geometry.at(m.scene.resolution).fine_tolerance
    estimate, truth = (values.take(fine).astype(np.float64) for values in (m.estimate, m.gt))
    behind = np.where(np.isnan(estimate), np.nan, truth - estimate > tolerance + GUARD)
    return PixelCosts(behind, positions=fine, empty=NO_ESTIMATE)


@_share(
    id="f-fat",
    name="Fattening of fine structures",
    formula=r"\frac{|\{x \in M_n : |E - D| > |E - D_n| \text{, or the row of } s \text{ beside } x "
    r"\text{ is not found}\}|}{|M_n|}",
    heuristic_range=(0.0, 0.7),
    source=HCI,
    region=BESIDE,
    wrong=("background", "background taken for structure, or beside a lost row"),
    picture=_fat_picture,
    version=6,
)
def f_fat(m: Measurement) -> PixelCosts:
    """Share (0 to 1) of the background left and right of fine structures that is nearer to the structure.

    0: no gap was closed. Fattening is seen only beside a row of a structure that is found (at least 20 % of its pixels,
    and of those of the structure). Beside a lost row every pixel counts as fattened, and so does a missing estimate, so
    that a map does not become better by losing what it fattens or by deleting what is fattened. NaN: no fine structure
    with visible background beside it.
    """
    sets = m.regions.geometry
    fattened = closer_to_beyond(m.estimate, m.gt, sets.surround, sets.extrapolated_structure)
    if sets.surround.size:
        lost = _result(m).row_lost[np.searchsorted(sets.fine, sets.surround_rim)]
        fattened = np.where((lost == 0) | np.isnan(fattened), fattened, lost)
    empty = _empty(m, f"background beside a {FINE}", sets.surround.size)
    return PixelCosts(fattened, positions=sets.surround, empty=empty)
