"""Pictures of a scene's regions and geometry sets, figures of planes and of gradient directions, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import one_of
from stereogauge.figures import chart as vl
from stereogauge.figures.chart import Chart, Spec
from stereogauge.figures.palette import INK, colour, segment_colours
from stereogauge.figures.pictures import (
    LegendEntry,
    PictureFigure,
    PicturePanel,
    disparity_limits,
    file_name,
    render,
    save_picture,
)
from stereogauge.io.files import load_disparity
from stereogauge.kernels.edges import fill_rows, thin_runs
from stereogauge.kernels.planes import direction_change
from stereogauge.masks.geometry.connected import central_gradient
from stereogauge.masks.geometry.edges import distance_to
from stereogauge.masks.geometry.plane_search import Search, flat_pixels, smoothed_gradient
from stereogauge.masks.geometry.sets import GeometrySets, Positions
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import FAR, JUMP, NEAR, Picture, grey_image
from stereogauge.metrics.surfaces import circular_earth_movers_distance, direction_histogram
from stereogauge.model import DisparityMap, Mask

REGION = "#0072b2"
LEAST_TILT = 1e-3
PLANES = "planes"
"""The layer of the planes; as a file it has their numbers and the way that they lean."""


def _numbered_arrow(number: int, start: NDArray[np.float64], tip: NDArray[np.float64], one: float) -> str:
    """An arrow in ink on white with a number in a circle at its start; `one` is the thickness of a thin line."""
    along = (tip - start) / max(float(np.hypot(*(tip - start))), 1e-9)
    across = np.array([-along[1], along[0]])
    wings = [tip - 7 * one * along + side * 3.5 * one * across for side in (-1, 1)]
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in (wings[0], tip, wings[1]))
    ends = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{tip[0]:.1f}" y2="{tip[1]:.1f}"'
    drawn = "".join(
        f'<g stroke="{shade}" fill="{shade}" stroke-width="{thick * one:.2f}"><line {ends}/>'
        f'<polygon points="{head}"/></g>'
        for shade, thick in (("white", 4.0), (INK, 1.5))
    )
    place = f'x="{start[0]:.1f}" y="{start[1] + 3 * one:.1f}" font-size="{8.7 * one:.2f}" text-anchor="middle"'
    circle = f'cx="{start[0]:.1f}" cy="{start[1]:.1f}" r="{7 * one:.2f}" stroke-width="{0.8 * one:.2f}"'
    return f'{drawn}<circle {circle} fill="white" stroke="{INK}"/><text {place} fill="{INK}">{number}</text>'


def region_picture(scene_regions: SceneRegions, name: str, mask: Mask) -> Picture:
    """One region over the image."""
    inside = np.flatnonzero(mask).astype(np.int32)
    title = f"{name}: {inside.size} pixels, {100 * inside.size / mask.size:.1f} % of the image"
    return _overlay(scene_regions, title, {name: (inside, REGION)})


def _unknown(scene_regions: SceneRegions) -> Mask | None:
    return ~np.isfinite(scene_regions.scene.gt) if scene_regions.scene.has("gt") else None


def _overlay(scene_regions: SceneRegions, title: str, layers: Mapping[str, tuple[Positions, str]]) -> Picture:
    """Sets of pixels over the image, each in its colour; a later one is drawn over an earlier one."""
    values = np.zeros(scene_regions.scene.shape, np.uint8)
    for label, (positions, _) in enumerate(layers.values(), 1):
        values.ravel()[positions] = label
    return Picture(
        title=title,
        values=values,
        kind="labels",
        legend={label: (text, shade) for label, (text, (_, shade)) in enumerate(layers.items(), 1)},
        unknown=_unknown(scene_regions),
        backdrop=grey_image(scene_regions.scene),
    )


def _bands(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    layers = {
        "foreground band": (sets.foreground, NEAR),
        "background band": (sets.background, FAR),
        "discontinuity": (sets.discontinuity, JUMP),
    }
    return _overlay(scene_regions, "depth discontinuities and their bands", layers) if sets.edge.size else None


def _fine_structures(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    layers = {"background beside them": (sets.surround, FAR), "fine structure": (sets.fine, REGION)}
    return _overlay(scene_regions, f"{sets.fine_label.max()} fine structures", layers) if sets.fine.size else None


def _continued(title: str, pixels: str, values: str) -> Callable[[SceneRegions], Picture | None]:
    """The picture of a surface that is continued into other pixels, both named as fields of `GeometrySets`."""

    def picture(scene_regions: SceneRegions) -> Picture | None:
        positions: Positions = getattr(scene_regions.geometry, pixels)
        if not positions.size:
            return None
        truth = scene_regions.scene.gt.copy()
        truth.ravel()[positions] = getattr(scene_regions.geometry, values)
        limits = disparity_limits(scene_regions.scene.gt)
        return Picture(title, truth, "sequential", "px", limits, unknown=_unknown(scene_regions))

    return picture


def _planes(scene_regions: SceneRegions) -> Picture | None:
    sets = scene_regions.geometry
    if not sets.planar.size:
        return None
    texts = [
        f"plane {number}: n = ({', '.join(f'{part:.3f}' for part in normal + 0.0)})"
        for number, normal in enumerate(sets.plane_normals, 1)
    ]
    shades = segment_colours(texts)  # without black, which means unknown ground truth
    layers = {text: (sets.planar[sets.planar_label == n], shades[text]) for n, text in enumerate(texts, 1)}
    return _overlay(scene_regions, f"{len(texts)} planar surfaces", layers)


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
    filled = _filled(scene_regions)
    if filled is None:
        return None
    scene, parameters = scene_regions.scene, scene_regions.protocol.geometry
    step = scene_regions.geometry.value_step
    search = Search.of(filled, np.isfinite(scene.gt), scene.resolution, step, parameters)
    flat = flat_pixels(search)
    change = np.where(flat, direction_change(*smoothed_gradient(search, flat)), np.float32(np.nan))
    limit = parameters.plane_direction_change
    title = f"turn of the smoothed gradient's direction on flat pixels; planes below {limit:.3g}"
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
    "discontinuities": _bands,
    "extrapolated-background": _continued(
        "D_b: background continued into the foreground", "foreground", "extrapolated_background"
    ),
    "extrapolated-foreground": _continued(
        "D_f: foreground continued into the background", "background", "extrapolated_foreground"
    ),
    "fine-structures": _fine_structures,
    "extrapolated-structures": _continued(
        "D_n: fine structures continued into the background", "surround", "extrapolated_structure"
    ),
    PLANES: _planes,
    "normals": _normals,
    "gradient": _gradient,
    "direction-change": _direction_change,
    "thin-runs": _thin_runs,
}
"""Pictures of the geometry sets and of the steps to them, by name; None where a scene has none."""


def set_pictures(scene_regions: SceneRegions, names: Iterable[str] | None = None) -> dict[str, Picture]:
    """The pictures of `SET_LAYERS` that the scene has, or those of them that are named."""
    wanted = [one_of("layer", name, SET_LAYERS) for name in (SET_LAYERS if names is None else names)]
    made = {name: SET_LAYERS[name](scene_regions) for name in wanted}
    return {name: picture for name, picture in made.items() if picture is not None}


def plane_segmentation_data(scene_regions: SceneRegions) -> PictureFigure | None:
    """The planes of a scene, None where it has none."""
    sets, picture = scene_regions.geometry, _planes(scene_regions)
    if picture is None:
        return None
    normals, count = sets.plane_normals, len(sets.plane_normals)
    share = 100 * sets.planar.size / (sets.height * sets.width)
    bumpiness, offset, misorientation = sets.plane_floors
    pixels = [sets.planar[sets.planar_label == number] for number in range(1, count + 1)]
    points = np.array([_middle(sets, inside) for inside in pixels], dtype=np.float64)
    legend = [LegendEntry(*entry) for entry in picture.legend.values()]
    panel = PicturePanel(render(picture), marks=_arrows(points, normals[:, :2], sets.width))
    return PictureFigure(
        f"Planar surfaces of {scene_regions.scene.id}",
        f"{count} planes, {share:.1f} % of the image. Arrows point along the normal's part in the image plane, towards "
        f"falling disparity. The ground truth's own scores: bumpiness {bumpiness:.3g} px, offset {offset:.3g} px, "
        f"misorientation {misorientation:.2g}°.",
        [[panel]],
        legend,
    )


def _arrows(points: NDArray[np.float64], leans: NDArray[np.float64], width: int) -> str:
    """The number of each plane at a point inside, and an arrow: which way it leans, its length how much."""
    longest = 0.09 * width / max(float(np.hypot(*leans.T).max(initial=0.0)), LEAST_TILT)
    one = width / vl.PAGE  # a px of the figure, in pixels of the picture
    ends = zip(points, points + longest * leans, strict=True)
    return "".join(_numbered_arrow(number, start, tip, one) for number, (start, tip) in enumerate(ends, 1))


def _middle(sets: GeometrySets, positions: Positions) -> tuple[int, int]:
    """The (x, y) of the pixel deepest inside a surface."""
    inside = np.pad(sets.mask(positions), 1)
    row, column = np.unravel_index(np.argmax(distance_to(~inside)), inside.shape)
    return int(column) - 1, int(row) - 1


def direction_histograms_data(measurements: Mapping[str, Measurement]) -> Chart:
    """Gradient directions of several estimates of one scene on its planes, against the ground truth's.

    In brackets is the circular earth mover's distance of each estimate's histogram from the ground truth's, in degrees.
    Rows: map (the ground truth's is ""), from, to (degrees), pixels.
    """
    histograms = {name: direction_histogram(m, "planar") for name, m in measurements.items()}
    first = next(iter(histograms.values()))
    scene = next(iter(measurements.values())).scene.id
    half = 180 / first.truth.size
    counts = {"": first.truth} | {name: one.estimate for name, one in histograms.items()}
    centres = np.asarray(first.centres)
    rows = [
        row
        for name, own in counts.items()
        for row in vl.tidy(**{"map": name, "from": centres - half, "to": centres + half, "pixels": own})
    ]
    distances = {name: circular_earth_movers_distance(one.estimate, one.truth) for name, one in histograms.items()}
    across = min(vl.ABREAST, len(histograms))
    kinds = {"ground truth": "#bbbbbb", "estimate": colour(0)}
    circle = {"domain": [-180 - half, 180 - half], "nice": False}
    place = {
        "x": vl.quantity("from", "direction (°)", scale=circle, axis={"values": [-180, -90, 0, 90]}),
        "y": vl.quantity("shown", "pixels", scale={"type": "log", "domainMin": 0.5}, axis={"format": "~s"}),
        "color": vl.scaled("kind", kinds, vl.PAGE),
        "tooltip": vl.hover("kind", ("from", "from (°)", ".1f"), ("to", "to (°)", ".1f"), ("pixels", "pixels", ",.0f")),
    }  # fmt: skip
    bars = {**place, "x2": {"field": "to"}, "y2": {"datum": 0.5}}
    steps: Spec = {"interpolate": "step-after", "strokeWidth": 1.3}
    shown = "max(datum.pixels, 0.5)"  # an empty bin is drawn at half a pixel, the foot of the axis
    truth, estimate = ({"shown": shown, "kind": vl.quoted(kind)} for kind in kinds)
    views = [
        vl.layered(
            vl.layer("bar", bars, where=vl.equal("map", ""), calculate=truth),
            vl.layer("line", place, where=vl.equal("map", name), calculate=estimate, **steps),
            width=vl.panel_width(across, vl.PAGE),
            height=105,
            title=vl.heading(f"{name} ({distance:.1f}°)"),
        )
        for name, distance in distances.items()
    ]
    return Chart(
        f"Directions of disparity gradients on {scene}, planar",
        f"Pixels in each of {first.truth.size} bins of the direction atan2(∂y, ∂x), logarithmic; in brackets the "
        "circular earth mover's distance from the ground truth's histogram. After Honauer et al. 2015, supplement.",
        rows,
        vl.panels(views, across),
    )


def write_regions(
    folder: Path, scene_regions: SceneRegions, masks: Mapping[str, Mask], layers: Sequence[str] | None = None
) -> list[Path]:
    """Each region over the image, the geometry sets, extrapolated maps and planes; all of it again as arrays.

    `layers` names those of the sets' pictures (`SET_LAYERS`) that are written; None means all.
    `regions.npz` holds the masks, `geometry.npz` the fields of `GeometrySets`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    scene = scene_regions.scene.id
    regions = {name: region_picture(scene_regions, name, mask) for name, mask in masks.items()}
    written = []
    for name, picture in (regions | set_pictures(scene_regions, layers)).items():
        written.append(folder / f"{file_name(name)}.png")
        segmentation = plane_segmentation_data(scene_regions) if name == PLANES and name not in masks else None
        if segmentation is not None:
            segmentation.save(written[-1])
        else:
            save_picture(written[-1], picture, scene)
    arrays: dict[str, Any] = dict(masks)
    fields: dict[str, Any] = scene_regions.geometry.arrays()
    np.savez_compressed(folder / "regions.npz", **arrays)
    np.savez_compressed(folder / "geometry.npz", **fields)
    return [*written, folder / "regions.npz", folder / "geometry.npz"]


def write_directions(folder: Path, scene_regions: SceneRegions, maps: Mapping[str, Any]) -> Path:
    """Gradient directions of estimates against the ground truth's, as a figure."""
    measurements = {name: Measurement(load_disparity(source), scene_regions) for name, source in maps.items()}
    return direction_histograms_data(measurements).save(folder / "directions.png")
