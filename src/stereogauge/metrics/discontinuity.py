"""How a map fails at depth discontinuities: foreground too fat, too thin, edges too fuzzy.

M_d are the discontinuities of the ground truth D, M_f and M_b the bands on their near and far side, M_e all three
together; D_f and D_b continue the foreground and the background across the edge (docs/geometry.md). E is the estimate,
V the pixels that have one.
Shares are of the pixels that have an estimate: a hole is neither fat nor right, and is reported as missing. An estimate
full of NaN has no score.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.set_scores import edge_fuzziness
from stereogauge.metrics.costs import set_costs
from stereogauge.metrics.declaration import Statistic, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.overlays import (
    FAR,
    HCI,
    JUMP,
    NEAR,
    VARIANT,
    WRONG,
    emptiness,
    heat_overlay,
    label_overlay,
    mean_of,
)
from stereogauge.metrics.picture import Picture
from stereogauge.metrics.pooling import mean
from stereogauge.metrics.verdicts import closer_to_beyond

DISCONTINUITY = "depth discontinuity"
AT_DISCONTINUITIES = "beside depth discontinuities"


def _empty(m: Measurement, size: int) -> str:
    least = m.protocol.geometry.at(m.scene.resolution).discontinuity_gradient
    looked_for = f"no disparity gradient exceeds {least:.3g} px per px"
    return emptiness(m, size, DISCONTINUITY, AT_DISCONTINUITIES, looked_for)


def _fattened(m: Measurement) -> NDArray[np.float32]:
    sets = m.regions.geometry
    return m.once("d-fat", lambda: closer_to_beyond(m.estimate, m.gt, sets.background, sets.extrapolated_foreground))


def _thinned(m: Measurement) -> NDArray[np.float32]:
    sets = m.regions.geometry
    return m.once("d-thin", lambda: closer_to_beyond(m.estimate, m.gt, sets.foreground, sets.extrapolated_background))


def _fuzziness(m: Measurement) -> NDArray[np.float32]:
    sets = m.regions.geometry
    return m.once(
        "d-fuz",
        lambda: edge_fuzziness(
            m.estimate, sets.edge, sets.edge_gradient, sets.edge_to_discontinuity, sets.edge_to_outside
        ),
    )


def _band_length(m: Measurement) -> int:
    return m.protocol.geometry.at(m.scene.resolution).band_length


def _whole_edge(m: Measurement) -> float:
    """c_d · band length: the fuzziness of a pixel that lacks its whole discontinuity, a band's width from its end."""
    return m.protocol.geometry.at(m.scene.resolution).discontinuity_gradient * _band_length(m)


def _bands_picture(
    m: Measurement, title: str, wrong: NDArray[np.int32], text: str, measured: NDArray[np.int32]
) -> Picture:
    sets = m.regions.geometry
    layers = [
        (sets.foreground, "foreground band", NEAR),
        (sets.background, "background band", FAR),
        (sets.discontinuity, "discontinuity", JUMP),
        (wrong, text, WRONG),
    ]
    return label_overlay(m, title, layers, measured)


def _fat_picture(m: Measurement) -> Picture:
    background = m.regions.geometry.background
    wrong = background[_fattened(m) == 1]
    return _bands_picture(m, "foreground fattening", wrong, "background taken for foreground", background)


def _thin_picture(m: Measurement) -> Picture:
    foreground = m.regions.geometry.foreground
    wrong = foreground[_thinned(m) == 1]
    return _bands_picture(m, "foreground thinning", wrong, "foreground taken for background", foreground)


def _fuzziness_picture(m: Measurement) -> Picture:
    return heat_overlay(m, "fuzziness of edges", m.regions.geometry.edge, _fuzziness(m), "px", 2 * _whole_edge(m))


def _relative_fuzziness_picture(m: Measurement) -> Picture:
    length = _band_length(m)
    values, limit = _fuzziness(m) / np.float32(length), 2 * _whole_edge(m) / length
    return heat_overlay(m, "relative fuzziness of edges", m.regions.geometry.edge, values, "", limit)


@metric(
    id="d-fat",
    name="Foreground fattening",
    formula=r"\frac{|\{x \in M_b \cap V : |E - D| > |E - D_f|\}|}{|M_b \cap V|}",
    unit="",
    range=(0.0, 1.0),
    heuristic_range=(0.0, 0.6),
    source=HCI,
    missing="left out",
    region="disc-background",
    finalize=mean,
    picture=_fat_picture,
    costs=set_costs(lambda m: m.regions.geometry.background, _fattened),
    version=3,
)
def d_fat(m: Measurement, region: str) -> Statistic:
    """Share (0 to 1) of the estimated background beside edges that is nearer to the foreground beyond the edge.

    0: no background pixel was swallowed by the foreground. NaN: the scene has no discontinuity, or no estimate lies
    there.
    """
    return mean_of(_fattened(m), _empty(m, m.regions.geometry.background.size))


@metric(
    id="d-thin",
    name="Foreground thinning",
    formula=r"\frac{|\{x \in M_f \cap V : |E - D| > |E - D_b|\}|}{|M_f \cap V|}",
    unit="",
    range=(0.0, 1.0),
    heuristic_range=(0.0, 0.3),
    source=HCI,
    missing="left out",
    region="disc-foreground",
    finalize=mean,
    picture=_thin_picture,
    costs=set_costs(lambda m: m.regions.geometry.foreground, _thinned),
    version=3,
)
def d_thin(m: Measurement, region: str) -> Statistic:
    """Share (0 to 1) of the estimated foreground beside edges that is nearer to the background beyond the edge.

    0: no foreground pixel was lost to the background. NaN: the scene has no discontinuity, or no estimate lies there.
    """
    return mean_of(_thinned(m), _empty(m, m.regions.geometry.foreground.size))


@metric(
    id="d-fuz",
    name="Fuzziness of discontinuities",
    formula=r"\frac{1}{|M_e|}\sum_{x \in M_e} f(x), \quad G = \|\nabla D\| - \|\nabla E\|, \quad "
    r"f = \begin{cases} |G|\,\mathrm{dist}(x, M_d) & G < 0 \\ "
    r"G\,\mathrm{dist}(x, \Omega \setminus M_e) & \text{else}\end{cases}",
    unit="px",
    heuristic_range=(0.0, 3.4),
    source=HCI,
    missing="left out",
    scaling="length",
    region="disc-edge",
    finalize=mean,
    picture=_fuzziness_picture,
    costs=set_costs(lambda m: m.regions.geometry.edge, _fuzziness),
    version=2,
)
def d_fuz(m: Measurement, region: str) -> Statistic:
    """Mean, around depth discontinuities, of gradients too strong away from the edge and too weak on it, in px.

    Each is weighted by its distance in px to where it would be right. 0: every gradient has the ground truth's
    strength. Pixels whose gradient needs a missing estimate are left out and counted as missing. This is the paper's
    formula as printed; its distances, and with them the value, grow with the image size. `d-fuz-rel` does not.
    """
    return mean_of(_fuzziness(m), _empty(m, m.regions.geometry.edge.size))


@metric(
    id="d-fuz-rel",
    name="Relative fuzziness of discontinuities",
    formula=r"\frac{1}{|M_e|}\sum_{x \in M_e} \frac{f(x)}{\ell}, \quad G = \|\nabla D\| - \|\nabla E\|, \quad "
    r"f = \begin{cases} |G|\,\mathrm{dist}(x, M_d) & G < 0 \\ "
    r"G\,\mathrm{dist}(x, \Omega \setminus M_e) & \text{else}\end{cases}, \quad \ell \text{ the bands' length}",
    unit="",
    heuristic_range=(0.0, 3.4),
    source=VARIANT,
    missing="left out",
    region="disc-edge",
    finalize=mean,
    picture=_relative_fuzziness_picture,
    costs=set_costs(lambda m: m.regions.geometry.edge, lambda m: _fuzziness(m) / _band_length(m)),
    version=2,
)
def d_fuz_rel(m: Measurement, region: str) -> Statistic:
    """Fuzziness with distances in units of the bands' length, so that sizes of one scene compare.

    Gradients are px of disparity per px and do not depend on the size either. The paper's printed values, 0.63 to 0.75
    on Adirondack and at most 3.4, are of this order at every size; those of `d-fuz` are not.
    """
    plain = d_fuz.compute(m, region)
    return replace(plain, sum=plain.sum / _band_length(m))
