"""How a map fails at depth discontinuities: foreground too fat, too thin, edges too fuzzy.

M_d are the discontinuities of the ground truth D, M_f and M_b the bands on their near and far side, M_e all three
together; D_f and D_b continue the foreground and the background across the edge (docs/geometry.md). E is the estimate,
V the pixels that have one. An estimate full of NaN has no score.
"""

from __future__ import annotations

from stereogauge.kernels.set_scores import edge_fuzziness
from stereogauge.masks.geometry.sets import Positions, Values
from stereogauge.metrics.costs import PixelCosts, mean
from stereogauge.metrics.declaration import metric
from stereogauge.metrics.hci import HCI, VARIANT, closer_to_beyond, nothing_measured
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import FAR, JUMP, NEAR, WRONG, Picture, layers


def _on_set(m: Measurement, positions: Positions, values: Values, divisor: float = 1.0) -> PixelCosts:
    least = m.protocol.geometry.at(m.scene.resolution).discontinuity_gradient
    looked_for = f"no disparity gradient exceeds {least:.3g} px per px"
    beside = "beside depth discontinuities"
    empty = nothing_measured(m, positions.size, "depth discontinuity", beside, looked_for)
    return PixelCosts(values, positions=positions, divisor=divisor, empty=empty)


def _fattened(m: Measurement) -> Values:
    sets = m.regions.geometry
    return m.once("d-fat", lambda: closer_to_beyond(m.estimate, m.gt, sets.background, sets.extrapolated_foreground))


def _thinned(m: Measurement) -> Values:
    sets = m.regions.geometry
    return m.once("d-thin", lambda: closer_to_beyond(m.estimate, m.gt, sets.foreground, sets.extrapolated_background))


def _fuzziness(m: Measurement) -> Values:
    sets = m.regions.geometry
    return m.once(
        "d-fuz",
        lambda: edge_fuzziness(
            m.estimate, sets.edge, sets.edge_gradient, sets.edge_to_discontinuity, sets.edge_to_outside
        ),
    )


def _bands(m: Measurement, region: str, title: str, wrong: Positions, text: str) -> Picture:
    sets = m.regions.geometry
    named = [
        (sets.foreground, "foreground band", NEAR),
        (sets.background, "background band", FAR),
        (sets.discontinuity, "discontinuity", JUMP),
        (wrong, text, WRONG),
    ]
    return layers(m, region, title, named)


def _fat_picture(m: Measurement) -> Picture:
    wrong = m.regions.geometry.background[_fattened(m) == 1]
    return _bands(m, "disc-background", "foreground fattening", wrong, "background taken for foreground")


def _thin_picture(m: Measurement) -> Picture:
    wrong = m.regions.geometry.foreground[_thinned(m) == 1]
    return _bands(m, "disc-foreground", "foreground thinning", wrong, "foreground taken for background")


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
    reduce=mean,
    wrong=("background", "background taken for foreground"),
    picture=_fat_picture,
    version=3,
)
def d_fat(m: Measurement) -> PixelCosts:
    """Share (0 to 1) of the estimated background beside edges that is nearer to the foreground beyond the edge.

    0: no background pixel was swallowed by the foreground. NaN: the scene has no discontinuity, or no estimate lies
    there.
    """
    return _on_set(m, m.regions.geometry.background, _fattened(m))


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
    reduce=mean,
    wrong=("foreground", "foreground taken for background"),
    picture=_thin_picture,
    version=3,
)
def d_thin(m: Measurement) -> PixelCosts:
    """Share (0 to 1) of the estimated foreground beside edges that is nearer to the background beyond the edge.

    0: no foreground pixel was lost to the background. NaN: the scene has no discontinuity, or no estimate lies there.
    """
    return _on_set(m, m.regions.geometry.foreground, _thinned(m))


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
    region="disc-edge",
    reduce=mean,
    version=2,
)
def d_fuz(m: Measurement) -> PixelCosts:
    """Mean, around depth discontinuities, of gradients too strong away from the edge and too weak on it, in px.

    Each is weighted by its distance in px to where it would be right. 0: every gradient has the ground truth's
    strength. Pixels whose gradient needs a missing estimate are left out and counted as missing. This is the paper's
    formula as printed; its distances, and with them the value, grow with the image size. `d-fuz-rel` does not.
    """
    return _on_set(m, m.regions.geometry.edge, _fuzziness(m))


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
    reduce=mean,
    version=2,
)
def d_fuz_rel(m: Measurement) -> PixelCosts:
    """Fuzziness with distances in units of the bands' length, so that sizes of one scene compare.

    Gradients are px of disparity per px and do not depend on the size either. The paper's printed values, 0.63 to 0.75
    on Adirondack and at most 3.4, are of this order at every size; those of `d-fuz` are not.
    """
    length = m.protocol.geometry.at(m.scene.resolution).band_length
    return _on_set(m, m.regions.geometry.edge, _fuzziness(m), divisor=length)
