"""Pictures of a scene's regions and geometry sets, and the values behind the figures of planes and directions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.figures.palette import OKABE_ITO, colour
from stereogauge.metrics.directions import circular_earth_movers_distance, direction_histogram
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.overlays import FAR, JUMP, NEAR, grey_image
from stereogauge.metrics.picture import Picture
from stereogauge.model import Mask
from stereogauge.regions.geometry.bands import distance_to
from stereogauge.regions.geometry.sets import GeometrySets, Positions
from stereogauge.regions.scene_regions import SceneRegions

REGION = "#0072b2"


class PlaneSegmentation(NamedTuple):
    """Planar surfaces in colours, with a point (x, y) inside and the unit normal (x, y, d) of each."""

    title: str
    caption: str
    picture: Picture
    points: NDArray[np.float64]
    normals: NDArray[np.float64]


class DirectionHistograms(NamedTuple):
    """Counts of gradient directions in bins around `centres` (degrees), of the ground truth and of each estimate.

    `distances` are the circular earth mover's distances from the ground truth's, in degrees.
    """

    title: str
    caption: str
    centres: NDArray[np.float64]
    truth: NDArray[np.int64]
    estimates: Mapping[str, NDArray[np.int64]]
    distances: Mapping[str, float]


def region_picture(scene_regions: SceneRegions, name: str, mask: Mask) -> Picture:
    """One region over the image."""
    share = 100 * np.count_nonzero(mask) / mask.size
    return Picture(
        title=f"{name}: {np.count_nonzero(mask)} pixels, {share:.1f} % of the image",
        values=np.where(mask, 1, 0).astype(np.uint8),
        kind="labels",
        legend={1: (name, REGION)},
        unknown=_unknown(scene_regions),
        backdrop=grey_image(scene_regions.scene),
    )


def _unknown(scene_regions: SceneRegions) -> Mask | None:
    return ~np.isfinite(scene_regions.scene.gt) if scene_regions.scene.has("gt") else None


def _overlay(scene_regions: SceneRegions, title: str, layers: Mapping[str, tuple[Positions, str]]) -> Picture:
    sets = scene_regions.geometry
    values = np.zeros((sets.height, sets.width), np.uint8)
    legend = {}
    for label, (text, (positions, shade)) in enumerate(layers.items(), 1):
        values.ravel()[positions] = label
        legend[label] = text, shade
    return Picture(
        title=title,
        values=values,
        kind="labels",
        legend=legend,
        unknown=_unknown(scene_regions),
        backdrop=grey_image(scene_regions.scene),
    )


def _extrapolated(
    scene_regions: SceneRegions, title: str, positions: Positions, beyond: NDArray[np.float32]
) -> Picture:
    truth = scene_regions.scene.gt.copy()
    truth.ravel()[positions] = beyond
    known = scene_regions.scene.gt[np.isfinite(scene_regions.scene.gt)]
    return Picture(
        title=title,
        values=truth,
        kind="sequential",
        unit="px",
        limits=(float(known.min()), float(known.max())),
        unknown=_unknown(scene_regions),
    )


def set_pictures(scene_regions: SceneRegions) -> dict[str, Picture]:
    """The geometry sets over the image and the extrapolated maps, by file name; only those that the scene has."""
    sets = scene_regions.geometry
    pictures: dict[str, Picture] = {}
    if sets.edge.size:
        pictures["discontinuities"] = _overlay(
            scene_regions,
            "depth discontinuities and their bands",
            {
                "foreground band": (sets.foreground, NEAR),
                "background band": (sets.background, FAR),
                "discontinuity": (sets.discontinuity, JUMP),
            },
        )
        pictures["extrapolated-background"] = _extrapolated(
            scene_regions, "background continued into the foreground", sets.foreground, sets.extrapolated_background
        )
        pictures["extrapolated-foreground"] = _extrapolated(
            scene_regions, "foreground continued into the background", sets.background, sets.extrapolated_foreground
        )
    if sets.fine.size:
        pictures["fine-structures"] = _overlay(
            scene_regions,
            f"{sets.fine_label.max()} fine structures",
            {"background beside them": (sets.surround, FAR), "fine structure": (sets.fine, REGION)},
        )
        pictures["extrapolated-structures"] = _extrapolated(
            scene_regions, "fine structures continued into the background", sets.surround, sets.extrapolated_structure
        )
    return pictures


def plane_segmentation_data(scene_regions: SceneRegions) -> PlaneSegmentation | None:
    """The planes of a scene, None where it has none."""
    sets = scene_regions.geometry
    if not sets.planar.size:
        return None
    pixels = [sets.planar[sets.planar_label == plane + 1] for plane in range(len(sets.planes))]
    shown = [plane for plane, positions in enumerate(pixels) if positions.size]
    layers = {
        f"plane {number}: n = ({', '.join(f'{part:.3f}' for part in sets.plane_normals[plane] + 0.0)})": (
            pixels[plane],
            _plane_colour(number - 1),
        )
        for number, plane in enumerate(shown, 1)
    }
    picture = _overlay(scene_regions, f"{len(shown)} planar surfaces", layers)
    share = 100 * sets.planar.size / (sets.height * sets.width)
    bumpiness, offset, misorientation = sets.plane_floors
    return PlaneSegmentation(
        title=f"Planar surfaces of {scene_regions.scene.id}",
        caption=(
            f"{len(shown)} planes, {share:.1f} % of the image. Arrows point along the normal's part in the image "
            f"plane, towards falling disparity. The ground truth's own scores: bumpiness {bumpiness:.3g} px, offset "
            f"{offset:.3g} px, misorientation {misorientation:.2g}°."
        ),
        picture=picture,
        points=np.array([_middle(sets, pixels[plane]) for plane in shown], dtype=np.float64),
        normals=sets.plane_normals[shown],
    )


def _plane_colour(number: int) -> str:
    """The palette without black, which means unknown ground truth in pictures."""
    black = OKABE_ITO.index("#000000")
    return colour(number + (number >= black))


def _middle(sets: GeometrySets, positions: Positions) -> tuple[int, int]:
    """The (x, y) of the pixel deepest inside a surface."""
    inside = np.pad(sets.mask(positions), 1)
    row, column = np.unravel_index(np.argmax(distance_to(~inside)), inside.shape)
    return int(column) - 1, int(row) - 1


def direction_histograms_data(measurements: Mapping[str, Measurement], region: str = "planar") -> DirectionHistograms:
    """Gradient directions of several estimates of one scene on a region, against the ground truth's."""
    histograms = {name: direction_histogram(m, region) for name, m in measurements.items()}
    first = next(iter(histograms.values()))
    scene = next(iter(measurements.values())).scene.id
    return DirectionHistograms(
        title=f"Directions of disparity gradients on {scene}, {region}",
        caption=(
            f"Pixels in each of {first.truth.size} bins of the direction atan2(∂y, ∂x), logarithmic; in brackets the "
            "circular earth mover's distance from the ground truth's histogram. After Honauer et al. 2015, supplement."
        ),
        centres=first.centres,
        truth=first.truth,
        estimates={name: one.estimate for name, one in histograms.items()},
        distances={name: circular_earth_movers_distance(one.estimate, one.truth) for name, one in histograms.items()},
    )
