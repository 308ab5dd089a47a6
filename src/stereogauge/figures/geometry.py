"""Pictures of a scene's regions and geometry sets, and the figures of planes and of gradient directions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import unknown_name
from stereogauge.figures.chart import (
    PAGE,
    Chart,
    Spec,
    heading,
    hover,
    layer,
    layered,
    panel_width,
    panels,
    quantity,
    quoted,
    scaled,
)
from stereogauge.figures.palette import INK, OKABE_ITO, colour
from stereogauge.figures.pictures import SMALL, WIDTH, LegendEntry, PictureFigure, captioned_figure, render
from stereogauge.kernels.edges import fill_rows, thin_runs
from stereogauge.kernels.planes import direction_change
from stereogauge.masks.geometry.connected import central_gradient
from stereogauge.masks.geometry.edges import distance_to
from stereogauge.masks.geometry.sets import GeometrySets, Positions
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import FAR, JUMP, NEAR, Picture, grey_image
from stereogauge.metrics.surfaces import circular_earth_movers_distance, direction_histogram
from stereogauge.model import DisparityMap, Mask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REGION = "#0072b2"
LEAST_TILT = 1e-3
COLUMNS = 3


@dataclass(frozen=True, eq=False)
class PlaneSegmentation(PictureFigure):
    """Planar surfaces in colours, with a point (x, y) inside and the unit normal (x, y, d) of each."""

    title: str
    caption: str
    picture: Picture
    points: NDArray[np.float64]
    normals: NDArray[np.float64]

    def figure(self) -> Figure:
        """Planes in colours with their numbers; an arrow shows which way each leans, its length how much."""
        colours = render(self.picture)
        height, width = colours.shape[:2]
        legend = [LegendEntry(text, shade) for text, shade in self.picture.legend.values()]
        figure = captioned_figure(WIDTH, WIDTH * height / width, self.title, self.caption, legend)
        axes = figure.add_subplot()
        axes.imshow(colours, interpolation="nearest" if width < 900 else "antialiased")
        axes.set_axis_off()
        tilt = np.hypot(self.normals[:, 0], self.normals[:, 1])
        longest = 0.09 * width / max(float(tilt.max(initial=0.0)), LEAST_TILT)
        box = {"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": INK, "linewidth": 0.6}
        for number, ((x, y), normal) in enumerate(zip(self.points, self.normals, strict=True), 1):
            tip = (x + longest * normal[0], y + longest * normal[1])
            for shade, thick in (("white", 3.2), (INK, 1.4)):
                arrow = {"arrowstyle": "-|>", "color": shade, "lw": thick}
                axes.annotate("", xy=tip, xytext=(x, y), arrowprops=arrow)
            axes.text(x, y, str(number), fontsize=SMALL, ha="center", va="center", color=INK, bbox=box)
        return figure


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


def _discontinuities(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    layers = {
        "foreground band": (sets.foreground, NEAR),
        "background band": (sets.background, FAR),
        "discontinuity": (sets.discontinuity, JUMP),
    }
    return _overlay(scene_regions, "depth discontinuities and their bands", layers) if sets.edge.size else None


def _continued_background(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    if not sets.edge.size:
        return None
    title = "D_b: background continued into the foreground"
    return _extrapolated(scene_regions, title, sets.foreground, sets.extrapolated_background)


def _continued_foreground(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    if not sets.edge.size:
        return None
    title = "D_f: foreground continued into the background"
    return _extrapolated(scene_regions, title, sets.background, sets.extrapolated_foreground)


def _fine_structures(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    layers = {"background beside them": (sets.surround, FAR), "fine structure": (sets.fine, REGION)}
    return _overlay(scene_regions, f"{sets.fine_label.max()} fine structures", layers) if sets.fine.size else None


def _continued_structures(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    if not sets.fine.size:
        return None
    title = "D_n: fine structures continued into the background"
    return _extrapolated(scene_regions, title, sets.surround, sets.extrapolated_structure)


def _normals(scene_regions: SceneRegions) -> Picture | None:
    """The normal of each plane as a colour; the lean is stretched, since disparity planes are nearly frontal."""
    sets = scene_regions.geometry
    if not sets.planar.size:
        return None
    lean = sets.plane_normals[:, :2]
    most = max(float(np.abs(lean).max(initial=0.0)), 1e-6)
    shades = np.rint(127.5 + 127.5 * np.column_stack([lean / most, np.zeros(len(lean))])).astype(np.uint8)
    grey = grey_image(scene_regions.scene)
    base = np.full((sets.height, sets.width), 255, np.uint8) if grey is None else (128 + grey / 2).astype(np.uint8)
    colours = np.repeat(base[..., None], 3, axis=2)
    colours.reshape(-1, 3)[sets.planar] = shades[sets.planar_label - 1]
    legend = {
        1: ("leans right", "#ff8080"),
        2: ("leans left", "#008080"),
        3: ("leans down", "#80ff80"),
        4: ("leans up", "#800080"),
        5: ("frontal", "#808080"),
    }
    return Picture(f"normals of the planes, n_x and n_y up to ±{most:.2g}", colours, "rgb", legend=legend)


def _filled(scene_regions: SceneRegions) -> DisparityMap | None:
    if scene_regions.geometry.refusal or not scene_regions.scene.has("gt"):
        return None
    return np.asarray(fill_rows(scene_regions.scene.gt))


def _gradient(scene_regions: SceneRegions) -> Picture | None:
    filled = _filled(scene_regions)
    if filled is None:
        return None
    limit = scene_regions.protocol.geometry.at(scene_regions.scene.resolution).discontinuity_gradient
    title = f"gradient of the ground truth; discontinuities from {limit:.3g}"
    values = central_gradient(filled)[2]
    return Picture(title, values, "sequential", "px per px", (0.0, limit), unknown=_unknown(scene_regions))


def _direction_change(scene_regions: SceneRegions) -> Picture | None:
    import cv2

    filled = _filled(scene_regions)
    if filled is None:
        return None
    parameters = scene_regions.protocol.geometry
    width = parameters.at(scene_regions.scene.resolution).plane_smoothing
    parts = [np.clip(part, -1, 1) for part in central_gradient(filled)[:2]]
    smooth = (cv2.GaussianBlur(part, (0, 0), width, borderType=cv2.BORDER_REPLICATE) for part in parts)
    change = direction_change(*(np.asarray(part, np.float32) for part in smooth))
    limit = parameters.plane_direction_change
    title = f"turn of the smoothed gradient's direction; planes below {limit:.3g}"
    return Picture(title, change, "sequential", "rad per px", (0.0, 2 * limit), unknown=_unknown(scene_regions))


def _thin_runs(scene_regions: SceneRegions) -> Picture | None:
    filled = _filled(scene_regions)
    if filled is None:
        return None
    scaled = scene_regions.protocol.geometry.at(scene_regions.scene.resolution)
    runs = np.flatnonzero(thin_runs(filled, scaled.fine_gradient, scaled.fine_width)).astype(np.int32)
    layers = {"too small, or outside": (runs, FAR), "fine structure": (scene_regions.geometry.fine, REGION)}
    return _overlay(scene_regions, f"runs of at most {scaled.fine_width} px between a rise and a fall", layers)


SET_LAYERS: Mapping[str, Callable[[SceneRegions], Picture | None]] = {
    "discontinuities": _discontinuities,
    "extrapolated-background": _continued_background,
    "extrapolated-foreground": _continued_foreground,
    "fine-structures": _fine_structures,
    "extrapolated-structures": _continued_structures,
    "normals": _normals,
    "gradient": _gradient,
    "direction-change": _direction_change,
    "thin-runs": _thin_runs,
}
"""Pictures of the geometry sets and of the steps to them, by name; None where a scene has none."""


def set_pictures(scene_regions: SceneRegions, names: Iterable[str] | None = None) -> dict[str, Picture]:
    """The pictures of `SET_LAYERS` that the scene has, or those of them that are named."""
    wanted = list(SET_LAYERS if names is None else names)
    for name in wanted:
        if name not in SET_LAYERS:
            raise unknown_name("layer", name, SET_LAYERS)
    made = {name: SET_LAYERS[name](scene_regions) for name in wanted}
    return {name: picture for name, picture in made.items() if picture is not None}


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


def direction_histograms_data(measurements: Mapping[str, Measurement], region: str = "planar") -> Chart:
    """Gradient directions of several estimates of one scene on a region, against the ground truth's.

    Rows: map (the ground truth's is ""), from, to (degrees), pixels. The fact `distances` holds the circular earth
    mover's distance of each estimate's histogram from the ground truth's, in degrees.
    """
    histograms = {name: direction_histogram(m, region) for name, m in measurements.items()}
    first = next(iter(histograms.values()))
    scene = next(iter(measurements.values())).scene.id
    half = 180 / first.truth.size
    counts = {"": first.truth} | {name: one.estimate for name, one in histograms.items()}
    rows = tuple(
        {"map": name, "from": float(centre) - half, "to": float(centre) + half, "pixels": int(count)}
        for name, own in counts.items()
        for centre, count in zip(first.centres, own, strict=True)
    )
    distances = {name: circular_earth_movers_distance(one.estimate, one.truth) for name, one in histograms.items()}
    across = min(COLUMNS, max(len(histograms), 1))
    kinds = {"ground truth": "#bbbbbb", "estimate": colour(0)}
    circle = {"domain": [-180 - half, 180 - half], "nice": False}
    place = {
        "x": quantity("from", "direction (°)", scale=circle, axis={"values": [-180, -90, 0, 90]}),
        "y": quantity("shown", "pixels", scale={"type": "log", "domainMin": 0.5}, axis={"format": "~s"}),
        "color": scaled("kind", kinds, PAGE),
        "tooltip": hover("kind", ("from", "from (°)", ".1f"), ("to", "to (°)", ".1f"), ("pixels", "pixels", ",.0f")),
    }  # fmt: skip
    views = []
    for name, distance in distances.items():
        drawn = [
            _steps("bar", {**place, "x2": {"field": "to"}, "y2": {"datum": 0.5}}, "", "ground truth"),
            _steps("line", place, name, "estimate", interpolate="step-after", strokeWidth=1.3),
        ]
        title = heading(f"{name} ({distance:.1f}°)")
        views.append(layered(*drawn, width=panel_width(across), height=105, title=title))
    return Chart(
        f"Directions of disparity gradients on {scene}, {region}",
        f"Pixels in each of {first.truth.size} bins of the direction atan2(∂y, ∂x), logarithmic; in brackets the "
        "circular earth mover's distance from the ground truth's histogram. After Honauer et al. 2015, supplement.",
        rows,
        panels(views, across),
        facts={"distances": distances},
    )


def _steps(kind: str, encoding: Spec, name: str, text: str, **style: Any) -> Spec:
    """A layer over the histogram of one map; an empty bin is drawn at half a pixel, the foot of the axis."""
    drawn = layer(kind, encoding, **style)
    counted = [{"calculate": "max(datum.pixels, 0.5)", "as": "shown"}, {"calculate": quoted(text), "as": "kind"}]
    return {**drawn, "transform": [{"filter": f"datum.map === {quoted(name)}"}, *counted]}
