"""How a map fails at depth discontinuities: foreground too fat, too thin, edges too fuzzy, boundaries not found.

M_d are the discontinuities of the ground truth D, M_f and M_b the bands on their near and far side, M_e all three
together; D_f and D_b continue the foreground and the background across the edge (docs/geometry.md). E is the estimate,
V the pixels that have one. An estimate full of NaN has no score.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.set_scores import edge_fuzziness
from stereogauge.masks.geometry.sets import Positions, Values
from stereogauge.metrics.costs import PixelCosts, mean
from stereogauge.metrics.declaration import PixelMetric, Statistic, map_metric, metric
from stereogauge.metrics.hci import HCI, VARIANT, closer_to_beyond, nothing_measured
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import FAR, JUMP, NEAR, Picture, wrong_layer
from stereogauge.model import Mask
from stereogauge.protocol import GeometryParameters


def _on_set(m: Measurement, positions: Positions, values: Values, divisor: float = 1.0) -> PixelCosts:
    least = m.protocol.geometry.at(m.scene.resolution).discontinuity_gradient
    looked_for = f"no disparity gradient exceeds {least:.3g} px per px"
    beside = "beside depth discontinuities"
    empty = nothing_measured(m, positions.size, "depth discontinuity", beside, looked_for)
    return PixelCosts(values, positions=positions, divisor=divisor, empty=empty)


def _fuzziness(m: Measurement) -> Values:
    sets = m.regions.geometry
    return m.once(
        "d-fuz",
        lambda: edge_fuzziness(
            m.estimate, sets.edge, sets.edge_gradient, sets.edge_to_discontinuity, sets.edge_to_outside
        ),
    )


def _over_bands(m: Measurement, declared: PixelMetric) -> Picture:
    """What a metric calls wrong, over both bands and the discontinuity between them."""
    sets = m.regions.geometry
    named = [
        (sets.foreground, "foreground band", NEAR),
        (sets.background, "background band", FAR),
        (sets.discontinuity, "discontinuity", JUMP),
    ]
    return wrong_layer(m, declared, named)


def _fat_picture(m: Measurement) -> Picture:
    return _over_bands(m, d_fat)


def _thin_picture(m: Measurement) -> Picture:
    return _over_bands(m, d_thin)


def _band_length(size: float) -> float:
    """The length in px of the bands beside edges, at most the distance of a gradient to where it would be right."""
    return math.nan if math.isnan(size) else GeometryParameters().at(size).band_length


_share = functools.partial(metric, unit="", range=(0.0, 1.0), source=HCI, missing="left out", reduce=mean, version=5)
_fuzziness_metric = functools.partial(
    metric, heuristic_range=(0.0, 3.4), missing="left out", region="disc-edge", reduce=mean, version=3
)


@_share(
    id="d-fat",
    name="Foreground fattening",
    formula=r"\frac{|\{x \in M_b \cap V : |E - D| > |E - D_f|\}|}{|M_b \cap V|}",
    heuristic_range=(0.0, 0.6),
    region="disc-background",
    wrong=("background", "background taken for foreground"),
    picture=_fat_picture,
)
def d_fat(m: Measurement) -> PixelCosts:
    """Share (0 to 1) of the estimated background beside edges that is nearer to the foreground beyond the edge.

    The band begins on the discontinuity itself, with its far side. 0: no background pixel was swallowed by the
    foreground. NaN: the scene has no discontinuity, or no estimate lies there.
    """
    band, beyond = m.regions.geometry.background, m.regions.geometry.extrapolated_foreground
    return _on_set(m, band, closer_to_beyond(m.estimate, m.gt, band, beyond))


@_share(
    id="d-thin",
    name="Foreground thinning",
    formula=r"\frac{|\{x \in M_f \cap V : |E - D| > |E - D_b|\}|}{|M_f \cap V|}",
    heuristic_range=(0.0, 0.3),
    region="disc-foreground",
    wrong=("foreground", "foreground taken for background"),
    picture=_thin_picture,
)
def d_thin(m: Measurement) -> PixelCosts:
    """Share (0 to 1) of the estimated foreground beside edges that is nearer to the background beyond the edge.

    The band begins on the discontinuity itself, with its near side. 0: no foreground pixel was lost to the background.
    NaN: the scene has no discontinuity, or no estimate lies there.
    """
    band, beyond = m.regions.geometry.foreground, m.regions.geometry.extrapolated_background
    return _on_set(m, band, closer_to_beyond(m.estimate, m.gt, band, beyond))


@_fuzziness_metric(
    id="d-fuz",
    name="Fuzziness of discontinuities",
    formula=r"\frac{1}{|M_e|}\sum_{x \in M_e} f(x), \quad G = \|\nabla D\| - \|\nabla E\|, \quad "
    r"f = \begin{cases} |G|\,\mathrm{dist}(x, M_d) & G < 0 \\ "
    r"G\,\mathrm{dist}(x, \Omega \setminus M_e) & \text{else}\end{cases}",
    unit="px",
    source=HCI,
    worst_pixel=lambda scene: scene.span * _band_length(scene.size),
)
def d_fuz(m: Measurement) -> PixelCosts:
    """Mean, around depth discontinuities, of gradients too strong away from the edge and too weak on it, in px.

    Each is weighted by its distance in px to where it would be right. 0: every gradient has the ground truth's
    strength. Pixels whose gradient needs a missing estimate are left out and counted as missing. This is the paper's
    formula as printed; its distances, and with them the value, grow with the image size. `d-fuz-rel` does not.
    """
    return _on_set(m, m.regions.geometry.edge, _fuzziness(m))


@_fuzziness_metric(
    id="d-fuz-rel",
    name="Relative fuzziness of discontinuities",
    formula=r"\frac{1}{|M_e|}\sum_{x \in M_e} \frac{f(x)}{\ell}, \quad G = \|\nabla D\| - \|\nabla E\|, \quad "
    r"f = \begin{cases} |G|\,\mathrm{dist}(x, M_d) & G < 0 \\ "
    r"G\,\mathrm{dist}(x, \Omega \setminus M_e) & \text{else}\end{cases}, \quad \ell \text{ the bands' length}",
    unit="",
    source=VARIANT,
    worst_pixel=lambda scene: scene.span,
)
def d_fuz_rel(m: Measurement) -> PixelCosts:
    """Fuzziness with distances in units of the bands' length, so that sizes of one scene compare.

    Gradients are px of disparity per px and do not depend on the size either. The paper's printed values, 0.63 to 0.75
    on Adirondack and at most 3.4, are of this order at every size; those of `d-fuz` are not.
    """
    length = m.protocol.geometry.at(m.scene.resolution).band_length
    return _on_set(m, m.regions.geometry.edge, _fuzziness(m), divisor=length)


RATIOS = np.linspace(1.05, 1.25, 10)
Maps = NDArray[np.float64]


def _ratios(inverse_depth: Maps) -> list[Maps]:
    """How much nearer each pixel is than its left, right, upper and lower neighbour."""
    across = inverse_depth[:, 1:] / inverse_depth[:, :-1]
    down = inverse_depth[1:] / inverse_depth[:-1]
    return [across, 1 / across, down, 1 / down]


def _mean_share(parts: list[Mask], wholes: list[Mask]) -> float:
    shares = [int(p.sum()) / max(int(w.sum()), 1) for p, w in zip(parts, wholes, strict=True)]
    return float(np.mean(shares))


def _f1(found: list[Maps], true: list[Maps], ratio: float) -> float:
    estimated, actual = [one > ratio for one in found], [one > ratio for one in true]
    both = [a & b for a, b in zip(estimated, actual, strict=True)]
    recall, precision = _mean_share(both, actual), _mean_share(both, estimated)
    return 2 * recall * precision / (recall + precision) if recall + precision else 0.0


@map_metric(
    id="boundary-f1",
    name="F1 of depth boundaries",
    formula=r"\sum_t w_t F_1(t),\; t = 1.05 \dots 1.25,\; w_t = t / \sum t",
    unit="",
    direction="higher",
    range=(0.0, 1.0),
    source="Bochkovskii et al., Depth Pro, ICLR 2025",
    missing="only in the count",
)
def boundary_f1(m: Measurement, region: str) -> Statistic:
    """How well depth boundaries are found: the weighted mean of F1 scores at ten ratios of neighbouring depths.

    A pixel and one of its four neighbours are a boundary at the ratio t where one is more than t times as near as the
    other. Recall and precision are means over the four directions. Depth is only needed up to a factor: 1/Z is
    proportional to d + doffs. Both pixels belong to the region; a missing estimate is a boundary that was not found. A
    ratio at which neither map has a boundary scores 0, as in the authors' program, so that a perfect map reaches 1 only
    where there are true boundaries at every ratio. Larger ratios weigh more.
    """
    inside, doffs = m.mask(region), m.scene.calibration.doffs
    maps = [np.where(inside, one.astype(np.float64) + doffs, np.nan) for one in (m.estimate, m.gt)]
    with np.errstate(invalid="ignore", divide="ignore"):
        found, true = (_ratios(np.where(one > 0, one, np.nan)) for one in maps)
        missing = int(np.count_nonzero(inside & np.isnan(m.estimate)))
        count = int(np.count_nonzero(inside)) - (missing if m.protocol.invalid == "exclude" else 0)
        if not any((one > RATIOS[0]).any() for one in true):
            return Statistic.empty(f"no depth boundary in region {region!r}", missing)
        scores = [_f1(found, true, ratio) for ratio in RATIOS]
    # Exact sums: a dot product of BLAS rounds differently on every processor.
    value = math.fsum(score * ratio for score, ratio in zip(scores, RATIOS, strict=True)) / math.fsum(RATIOS)
    return Statistic.of_value(value, count, missing)
