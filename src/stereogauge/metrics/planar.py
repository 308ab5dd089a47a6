"""How a map fails on planar surfaces: bumpy, shifted or tilted.

M_p are the pixels of planes fitted to the ground truth D, or of planar regions drawn by hand (docs/geometry.md); E is
the estimate. Pixels whose estimate, or a neighbour that is needed, is missing are left out and counted as missing. The
ground truth itself does not score 0, since its surfaces are not perfectly flat: its own score, the floor, is in the
note of every score. Drawn regions need no ground truth: where a region has none, its plane is fitted to the estimate,
and the note says so.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.set_scores import second_differences
from stereogauge.masks.geometry.connected import whole_windows
from stereogauge.masks.geometry.planes import PlanePoints, drawn_planes, fit_plane
from stereogauge.masks.geometry.sets import BUMPINESS, MISORIENTATION, OFFSET, Positions, Values, plane_errors
from stereogauge.metrics.costs import PixelCosts, mean
from stereogauge.metrics.declaration import Parameter, metric, percentage
from stereogauge.metrics.hci import HCI, VARIANT, is_above, nothing_measured
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture, heat, own_limit
from stereogauge.model import DisparityMap

BUMP_REACH = 4  # × s px: the distance at which relative bumps are measured
OWN_PLANES = "planes fitted to the estimate itself, because there is no ground truth"
PLANAR = "planar"
NOT_DRAWN = "no planar region is drawn for this scene; give a label image with --planes"


def _planes(m: Measurement) -> NDArray[np.float64]:
    """The scene's planes; a drawn region without known plane takes the one that fits the estimate best."""
    sets = m.regions.geometry
    unknown = np.flatnonzero(np.isnan(sets.planes[:, 0]))
    if not unknown.size:
        return sets.planes
    parameters = m.protocol.geometry
    planes = sets.planes.copy()
    random = np.random.default_rng(parameters.plane_seed)
    tolerance = sets.plane_tolerance
    for plane in unknown:
        inside = sets.mask(sets.planar[sets.planar_label == plane + 1]) & np.isfinite(m.estimate)
        fitted, found = fit_plane(PlanePoints.of(m.estimate, inside), tolerance, parameters.plane_iterations, random)
        planes[plane] = fitted if found else np.nan
    return planes


def _errors(m: Measurement, kind: int) -> Values:
    """The errors of the estimate on planes; distances are positive in front of the plane.

    An angle needs the estimate in the whole 5 × 5 window.
    """
    sets = m.regions.geometry

    def errors() -> Values:
        planes = sets.planes if kind == BUMPINESS else m.once("p-planes", lambda: _planes(m))
        found = plane_errors(kind, m.estimate, sets.planar, sets.planar_label, planes)
        if kind != MISORIENTATION:
            return found
        return np.where(whole_windows(m.estimate, beyond=True).ravel()[sets.planar], found, np.float32(np.nan))

    return m.once(f"p {kind}", errors)


def _truth_errors(m: Measurement, kind: int) -> Values:
    """The same of the ground truth; none where the scene has none."""
    sets = m.regions.geometry

    def errors() -> Values:
        if not m.scene.has("gt"):
            return np.empty(0, np.float32)
        return plane_errors(kind, m.gt, sets.planar, sets.planar_label, sets.planes)

    return m.once(f"p-truth {kind}", errors)


def _distant_differences(values: DisparityMap, pixels: Positions, reach: int) -> Values:
    """|Δ| over the neighbours `reach` px away, divided by that distance: every map of each reach-th row and column."""
    rows, columns = np.divmod(pixels, np.int32(values.shape[1]))
    found = np.empty(pixels.shape, np.float32)
    for top, left in np.ndindex(reach, reach):
        chosen = (rows % reach == top) & (columns % reach == left)
        part = np.ascontiguousarray(values[top::reach, left::reach])
        places = rows[chosen] // reach * np.int32(part.shape[1]) + columns[chosen] // reach
        found[chosen] = second_differences(part, places) / np.float32(reach)
    return found


def _empty(m: Measurement) -> str:
    least, tolerance = 100 * m.protocol.geometry.plane_share, m.regions.geometry.plane_tolerance
    looked_for = f"no plane fits {least:.3g} % of the pixels within {tolerance:.3g} px"
    return nothing_measured(m, m.regions.geometry.planar.size, "planar surface", "on planar surfaces", looked_for)


def _on_planes(m: Measurement, values: NDArray[np.floating], note: str = "") -> PixelCosts:
    return PixelCosts(values, positions=m.regions.geometry.planar, note=note, empty=_empty(m))


def _shares(m: Measurement, kind: int, share: Callable[[Values], NDArray[np.floating]], unit: str) -> PixelCosts:
    """The share of each failure that counts; the note holds what the ground truth scores."""
    own = share(_truth_errors(m, kind))
    own = own[~np.isnan(own)]
    floor = float(own.mean()) if own.size else np.nan
    return _on_planes(m, share(_errors(m, kind)), _note(m, kind, 100 * floor if unit == " %" else floor, unit))


def _note(m: Measurement, kind: int, floor: float, unit: str) -> str:
    """The ground truth's own score, and what that means where its values are quantised."""
    step = m.regions.geometry.value_step
    notes = [f"ground truth itself: {floor:.3g}{unit}"] if np.isfinite(floor) else []
    if notes and step and kind != OFFSET:
        notes.append(f"it is quantised in steps of {step:g} px: differences below that are not measurable")
    if kind != BUMPINESS and np.isnan(m.regions.geometry.planes[:, 0]).any():
        notes.append(OWN_PLANES)
    return "; ".join(notes)


def _sizes(m: Measurement, kind: int, unit: str) -> PixelCosts:
    """Sizes of failures; the note holds the ground truth's own mean."""
    return _on_planes(m, np.abs(_errors(m, kind)), _note(m, kind, float(m.regions.geometry.plane_floors[kind]), unit))


def _beyond(m: Measurement, kind: int, threshold: float) -> PixelCosts:
    """Which sizes exceed the threshold."""
    return _shares(m, kind, lambda sizes: is_above(sizes, threshold), " %")


def _offset_picture(m: Measurement) -> Picture:
    sets = m.regions.geometry
    values = sets.spread(sets.planar, _errors(m, OFFSET))
    return heat(m, PLANAR, "offset from planes", values, "px", own_limit(p_off, m, values), signed=True)


def _relative_picture(m: Measurement) -> Picture:
    """On the range of `p-bump`, so that pictures of several maps compare."""
    values = p_bump_rel.shown(m)
    return heat(m, PLANAR, p_bump_rel.name, values, "px", own_limit(p_bump, m, values))


_on_plane = functools.partial(metric, missing="left out", needs=(), region=PLANAR, reduce=mean)
_percentage = functools.partial(percentage, source=VARIANT, missing="left out", needs=(), region=PLANAR)


@_on_plane(
    id="p-bump",
    name="Bumpiness of planes",
    formula=r"\frac{1}{|M_p|}\sum_{x \in M_p} |\Delta E(x)|",
    unit="px",
    heuristic_range=(0.0, 4.5),
    source=HCI,
    worst_pixel=lambda scene: 4 * scene.span,
    version=7,
)
def p_bump(m: Measurement) -> PixelCosts:
    """Mean magnitude of the 4-neighbour Laplacian of the estimate on planar surfaces, in px.

    0: perfectly even. Above 1: strongly bumpy.
    """
    return _sizes(m, BUMPINESS, " px")


@_on_plane(
    id="p-bump-clip",
    name="Bumpiness of planes, bounded",
    formula=r"\frac{1}{|M_p|}\sum_{x \in M_p} \frac{\min(|\Delta E(x)|, c)}{c}",
    unit="",
    range=(0.0, 1.0),
    source=VARIANT,
    parameters=(
        Parameter(
            "clip", unit="px", description="the Laplacian beyond which a bump counts no more", low=1e-3, default=1.0
        ),
    ),
    examples=("p-bump-clip@1",),
    version=5,
)
def p_bump_clip(m: Measurement, clip: float) -> PixelCosts:
    """Mean magnitude of the Laplacian on planar surfaces, clipped at c px, as a share (0 to 1) of c.

    Without the bound a few gross outliers decide: on a wall one wrong patch weighs as much as all small bumps. 1 px is
    what the paper calls strongly bumpy. Profiles weigh this form.
    """
    most = np.float32(clip)
    return _shares(m, BUMPINESS, lambda bumps: np.minimum(np.abs(bumps), most) / most, "")


@_on_plane(
    id="bumpiness",
    name="Bumpiness of drawn planes",
    formula=r"\frac{1}{|M_p|}\sum_{x \in M_p} |\Delta E(x)|, \quad M_p \text{ drawn by hand}",
    unit="px",
    source=VARIANT,
    worst_pixel=lambda scene: 4 * scene.span,
    version=3,
)
def bumpiness(m: Measurement) -> PixelCosts:
    """`p-bump` on planar regions drawn by hand, for scenes without ground truth; NaN where none is drawn."""
    if drawn_planes(m.scene) is None:
        return PixelCosts(np.empty(0), positions=np.empty(0, np.int32), empty=NOT_DRAWN)
    return _sizes(m, BUMPINESS, " px")


@metric(
    id="p-bump-rel",
    name="Bumpiness of the error on planes",
    formula=r"\frac{1}{|M_p|}\sum_{x \in M_p} \frac{|\Delta_h (E - D)(x)|}{h}, \quad h = \max(1, 4 s)",
    unit="px",
    source=VARIANT,
    missing="left out",
    region=PLANAR,
    reduce=mean,
    worst_pixel=lambda scene: 8 * scene.span,
    picture=_relative_picture,
    version=8,
)
def p_bump_rel(m: Measurement) -> PixelCosts:
    """Mean magnitude of the Laplacian of the error on planar surfaces, in px; the ground truth scores exactly 0.

    Its four neighbours are h = 4·s px away (whole, at least 1) and it is divided by h: the same bump counts the same at
    every size. The steps of a quantised ground truth are bumps of the error: a perfect estimate scores what the note
    says.
    """
    sets = m.regions.geometry
    reach = max(1, round(BUMP_REACH * m.scene.resolution))
    note = ""
    if sets.value_step and sets.planar.size:
        own = np.nanmean(_distant_differences(m.gt, sets.planar, reach))
        note = f"the steps of the ground truth ({sets.value_step:g} px) alone make {own:.3g} px"
    return _on_planes(m, _distant_differences(m.error, sets.planar, reach), note)


@_on_plane(
    id="p-off",
    name="Offset from planes",
    formula=r"\frac{1}{|M_p|}\sum_{p_i \in P}\sum_{x \in M_{p_i}} d\big((x, y, E(x)), p_i\big)",
    unit="px",
    heuristic_range=(0.0, 25.0),
    source=HCI,
    worst_pixel=lambda scene: scene.span + 1,
    picture=_offset_picture,
    version=7,
)
def p_off(m: Measurement) -> PixelCosts:
    """Mean Euclidean distance of the points (x, y, E) to their plane in disparity space, in px. 0: on the plane."""
    return _sizes(m, OFFSET, " px")


@_on_plane(
    id="p-mis",
    name="Misorientation of planes",
    formula=r"\frac{1}{|M_p|}\sum_{p_i \in P}\sum_{x \in M_{p_i}} \angle(n_E(x), n_i)",
    unit="°",
    range=(0.0, 90.0),
    heuristic_range=(0.0, 60.0),
    source=HCI,
    version=8,
)
def p_mis(m: Measurement) -> PixelCosts:
    """Mean angle between the estimate's normal, by least squares over 5 × 5 px, and its plane's, in degrees.

    0: every patch is parallel to its plane; 90: orthogonal to it. A pixel whose window has a missing estimate is left
    out: a normal from fewer pixels is a noisier one.
    """
    return _sizes(m, MISORIENTATION, "°")


@_percentage(
    id="p-bump-bad",
    name="Bumpy pixels of planes",
    formula=r"\frac{100}{|M_p \cap V|}\,|\{x \in M_p \cap V : |\Delta E(x)| > t\}|",
    parameters=(
        Parameter("threshold", unit="px", description="largest Laplacian that is still even", low=0.0, high=1e4),
    ),
    wrong=("even within {0:g} px", "bumpier than {0:g} px"),
    examples=("p-bump-bad@1",),
    version=7,
)
def p_bump_bad(m: Measurement, threshold: float) -> PixelCosts:
    """Percentage of the estimated planar pixels whose Laplacian exceeds t px."""
    return _beyond(m, BUMPINESS, threshold)


@_percentage(
    id="p-off-bad",
    name="Planar pixels off their plane",
    formula=r"\frac{100}{|M_p \cap V|}\,|\{x \in M_p \cap V : d(x) > t\}|",
    parameters=(
        Parameter(
            "threshold", unit="px", description="largest distance that is still good", low=0.0, high=1e4, default=1.0
        ),
    ),
    wrong=("within {0:g} px of the plane", "farther than {0:g} px from the plane"),
    examples=("p-off-bad@1",),
    version=7,
)
def p_off_bad(m: Measurement, threshold: float) -> PixelCosts:
    """Percentage of the estimated planar pixels farther than t px from their plane."""
    return _beyond(m, OFFSET, threshold)


@_percentage(
    id="p-mis-bad",
    name="Misoriented pixels of planes",
    formula=r"\frac{100}{|M_p \cap V|}\,|\{x \in M_p \cap V : \angle(n_E(x), n_i) > t\}|",
    parameters=(
        Parameter("angle", unit="°", description="largest angle that is still good", low=0.0, high=90.0, default=5.0),
    ),
    wrong=("turned by at most {0:g}°", "turned by more than {0:g}°"),
    examples=("p-mis-bad@5",),
    version=8,
)
def p_mis_bad(m: Measurement, threshold: float) -> PixelCosts:
    """Percentage of the estimated planar pixels whose normal is off by more than t degrees."""
    return _beyond(m, MISORIENTATION, threshold)
