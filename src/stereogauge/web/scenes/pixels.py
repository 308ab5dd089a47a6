"""Values behind the pictures: at one pixel, as points in space, the blocks with most of a metric's error, by object."""

from __future__ import annotations

import base64
import contextlib

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import FileError, NotApplicable, SizeError, StereogaugeError
from stereogauge.evaluation.objects import object_columns, object_statistics, objects_of
from stereogauge.figures.geometry import SET_LAYERS
from stereogauge.figures.pictures import image_colours
from stereogauge.metrics.costs import MOST_BLOCKS, CostBlock, worst_blocks
from stereogauge.metrics.registry import parse_column
from stereogauge.model import DisparityMap
from stereogauge.protocol import load_protocol
from stereogauge.scores.column import columns_of
from stereogauge.text import json_value
from stereogauge.web.responses import Plain, plain
from stereogauge.web.scenes.reader import SceneQuery, SceneReader, SceneView


def scene_answer(scenes: SceneReader, query: SceneQuery) -> Plain:
    """What can be shown of a scene."""
    view = scenes.view(query)
    maps = {name: scenes.maps(name, view) for name in scenes.algorithms(view)}
    present = [layer for layer in ("left", "right") if view.scene.has(layer)]
    calibration = view.scene.calibration
    height, width = view.scene.left.shape[:2] if view.hidden and view.scene.has("left") else view.scene.shape
    shows = (
        []
        if view.hidden
        else ["truth"] * view.scene.has("gt") + ["signed", "metric", "region", "hard"] + ["set"] * view.scene.has("gt")
    )
    errors = ["error"] if not view.hidden or "blocks" in scenes.hidden.shows else []
    return plain(
        calibration,
        ("focal", "baseline", "doffs", "ndisp"),
        name=view.name,
        dataset=view.scene.dataset,
        width=width,
        height=height,
        hidden=view.hidden,
        layers=[*present, "estimate", *errors, *shows],
        regions=[] if view.hidden else scenes.regions(view),
        sets=[] if view.hidden else list(SET_LAYERS),
        limits=scenes.limits(view),
        algorithms=[name for name, files in maps.items() if files.left is not None],
        confidence=[name for name, files in maps.items() if files.confidence],
    )


def pixel_answer(scenes: SceneReader, query: SceneQuery, x: int, y: int, algorithms: list[str]) -> Plain:
    """The values at column x, row y."""
    view = scenes.view(query)
    height, width = view.scene.shape
    if not (0 <= x < width and 0 <= y < height):
        raise StereogaugeError(f"The pixel ({x}, {y}) is outside of {view.name}, which has {width} × {height} pixels.")
    truth = None if view.hidden or not view.scene.has("gt") else json_value(scenes.truth(view)[y, x])
    return {
        "x": x,
        "y": y,
        "colour": np.atleast_1d(view.scene.left[y, x]).tolist() if view.scene.has("left") else [],
        "truth": truth,
        "depth": _depth(view, truth),
        "regions": [] if view.hidden else _regions_at(scenes, view, x, y),
        "hidden": view.hidden,
        "estimates": [_estimated(scenes, view, algorithm, x, y, truth) for algorithm in algorithms],
    }


def _depth(view: SceneView, disparity: float | None) -> float | None:
    if disparity is None or not view.scene.calibration.metric:
        return None
    return json_value(view.scene.calibration.depth(np.array([[disparity]]))[0, 0])  # type: ignore[no-any-return]  # plain float


def _regions_at(scenes: SceneReader, view: SceneView, x: int, y: int) -> list[str]:
    found = []
    for region in scenes.regions(view):
        with contextlib.suppress(NotApplicable):
            if scenes.mask(view, region)[y, x]:
                found.append(region)
    return found


def _estimated(scenes: SceneReader, view: SceneView, algorithm: str, x: int, y: int, truth: float | None) -> Plain:
    try:
        values = scenes.shown(algorithm, view)
        value = json_value(values[y, x])
        note = "no estimate" if value is None else ""
    except SizeError:
        value, note = None, "its map has another size than the scene"
    except FileError:
        value, note = None, "its map cannot be read"
    except StereogaugeError as reason:
        value, note = None, str(reason)
    depth, true_depth = _depth(view, value), _depth(view, truth)
    return {
        "algorithm": algorithm,
        "disparity": value,
        "error": None if value is None or truth is None else value - truth,
        "depth": depth,
        "depth_error": None if depth is None or true_depth is None else depth - true_depth,
        "note": note,
    }


def cloud_answer(scenes: SceneReader, query: SceneQuery, algorithm: str | None, points: int) -> Plain:
    """The ground truth (no algorithm) or an estimate as points in space, thinned to about `points`.

    Little-endian float32 x, y, z triples and uint8 red, green, blue triples, both in base64: in metres where the scene
    is calibrated (x to the right, y down, z away from the camera); else x and y in px and z = −disparity.
    """
    view = scenes.view(query)
    disparity = scenes.truth(view) if algorithm is None else scenes.shown(algorithm, view)
    step = max(1, int(np.ceil(np.sqrt(disparity.size / points))))
    positions, colours, unit = _points(view, disparity, step)
    return {
        "points": len(positions),
        "unit": unit,
        "positions": base64.b64encode(positions.astype("<f4").tobytes()).decode(),
        "colours": base64.b64encode(colours.tobytes()).decode(),
        "step": step,
    }


def _points(view: SceneView, disparity: DisparityMap, step: int) -> tuple[NDArray[np.float64], NDArray[np.uint8], str]:
    thin = slice(step // 2, None, step)
    thinned, calibration = disparity[thin, thin].astype(np.float64), view.scene.calibration
    if calibration.metric:
        places = calibration.scaled(1 / step).points(thinned / step)
    else:
        height, width = disparity.shape
        y, x = np.mgrid[step // 2 : height : step, step // 2 : width : step]
        places = np.stack([x - width / 2.0, y - height / 2.0, -thinned], axis=-1)
    known = np.isfinite(places).all(axis=-1)
    image = view.scene.left[thin, thin] if view.scene.has("left") else np.full(thinned.shape, 160, np.uint8)
    return places[known], np.ascontiguousarray(image_colours(image)[known]), "m" if calibration.metric else "px"


def blocks_answer(
    scenes: SceneReader, query: SceneQuery, algorithm: str, metric: str | None, region: str | None
) -> list[Plain]:
    """The blocks with most of a metric's error (without a metric: of the absolute error), the worst first.

    Of blocks side by side only the worst is listed, so that they show different places.

    Only pixels that the metric counts in its region: `bad@1:nonocc` has no occluded ones. A metric without a region is
    taken on all pixels, or on its own. One that is not about pixels cannot say where its error lies, and is refused.
    """
    view = scenes.view(query)
    scenes.refuse_hidden(view, "where errors lie is")
    bound, named = parse_column(metric or "mae")
    where = bound.within(region) if region else named or bound.metric.region or "all"
    costs = bound.costs(scenes.measurement(view, algorithm, bound.id), where)
    if not np.isfinite(costs).any():
        raise StereogaugeError(f"No pixel of {view.name} counts here: {where} holds none with ground truth.")
    spread: list[CostBlock] = []
    for block in worst_blocks(costs, costs.size):
        beside = (max(abs(block.x - one.x), abs(block.y - one.y)) <= block.size for one in spread)
        if len(spread) < MOST_BLOCKS and not any(beside):
            spread.append(block)
    return [block._asdict() for block in spread]


def objects_answer(scenes: SceneReader, query: SceneQuery, algorithms: list[str]) -> list[Plain]:
    """The objects of a scene: region, box, number of pixels, and the scores of the algorithms on each of them.

    The metrics are those of the protocol `hci` that have a pixel set of their own.
    """
    view = scenes.view(query)
    scenes.refuse_hidden(view, "its objects are")
    found = objects_of(view.regions)
    preset = load_protocol("hci")
    declared = dict.fromkeys(column.declared for column in columns_of(preset.metrics, preset.regions))
    columns = object_columns([bound for bound in declared if bound.metric.region is not None], found)
    scores: dict[str, list[Plain]] = {one.region: [] for one in found}
    for algorithm in algorithms:
        measurement = scenes.measurement(view, algorithm)
        for column, statistic in object_statistics(measurement, columns).items():
            metric = column.declared.metric
            scores[columns[column].region].append(
                {
                    "algorithm": algorithm,
                    "metric": column.metric,
                    "unit": metric.unit,
                    "value": json_value(metric.value_of(statistic)),
                    "note": statistic.note,
                }
            )
    names = ("name", "kind", "region", "x", "y", "width", "height", "pixels")
    return [plain(one, names, scores=scores[one.region]) for one in found]
