"""`confidence`: sparsification curves of the confidence maps beside the results, and of our SGM's measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from stereogauge.confidence_measures.declaration import parse_measure
from stereogauge.confidence_measures.evaluation import combination_bound, single_maps
from stereogauge.confidence_measures.measures import confidence
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.confidence_measures.run import PAPER_DOMAIN, domain_of
from stereogauge.confidence_measures.sparsification import (
    GOOD_RANGE,
    ErrorKind,
    SparsificationCurve,
    parse_error,
    sparsify_by,
)
from stereogauge.datasets.declaration import dataset_threshold, search_range, stated_range
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import Chart
from stereogauge.figures.confidence import BOUND, ORACLE, RANDOM, REFERENCES, SOLID, Line, Panel, curve_panels
from stereogauge.figures.palette import GREY, Styles, algorithm_styles
from stereogauge.matching.run import match
from stereogauge.model import Calibration, DisparityMap, Scene
from stereogauge.scores.cube import ScoreCube
from stereogauge.stages import checkpoint
from stereogauge.text import json_value
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.responses import Plain
from stereogauge.web.scenes.reader import SceneQuery, SceneReader, SceneView
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.source import scene_places

DENSITIES = np.linspace(0.0, 1.0, 101)
SGM = "census SGM"
MOST_COSTS = 200_000_000
"""Pixels times disparities that a visitor may have matched."""
MOST_MEASURES = 16
"""Measures of our SGM that a visitor may have computed at once."""
ELSEWHERE = {"gt": "the ground truth", "model": "a trained model"}
"""What measures of the command line need and those of the site do without."""


class MapsOf(NamedTuple):
    """The maps of one algorithm on a scene, lower = more confident, with their declared directions."""

    algorithm: str
    estimate: DisparityMap
    maps: Mapping[str, NDArray[Any]]
    directions: Mapping[str, Literal["higher", "lower"] | None]


class ConfidenceQuery(BaseModel, frozen=True):
    """What is requested: the scene, the pixels, the error, and measures of our SGM with their scales.

    `threshold` None is the dataset's own. The region `haeusler-klette` is the paper's domain, where our SGM's measures
    are always computed.
    """

    scene: str | None = Field(None, description="Default: the first with a confidence map.")
    threshold: float | None = Field(
        None, gt=0, le=1000, description="Bad above this error, px; default: the dataset's own."
    )
    region: str = Field("all", description="Pixels; haeusler-klette is the paper's domain, with measures of our SGM.")
    error: str = Field("bad", description="What the curves follow: bad, mae, rms, d1, or bad-z@METRES,LIMIT.")
    sgm: str = Field(
        "", description="Measures of our census SGM on the scene's images, e.g. entropy,entropy@8,product."
    )
    sigma: float | None = Field(None, gt=0, description="Scale ς of the perturbation; default: P2.")
    temperature: float | None = Field(None, gt=0, description="Temperature of the entropy; default: P2.")
    ndisp: int | None = Field(
        None, ge=1, le=4096, description="Disparities that our SGM searches; default: the scene's own."
    )
    low: float = Field(GOOD_RANGE[0], ge=0, lt=1, description="Densities of each curve's mean, from …")
    high: float = Field(GOOD_RANGE[1], gt=0, le=1, description="… to.")

    @property
    def measures(self) -> list[str]:
        """The measures of our SGM."""
        stated = [name.strip() for name in self.sgm.split(",") if name.strip()]
        return [*PAPER, "product"] if self.region == PAPER_DOMAIN and not stated else stated


def confidence_answer(scenes: SceneReader, cube: ScoreCube, selected: SelectionQuery, query: ConfidenceQuery) -> Plain:
    """The curves of every selected algorithm with confidence maps on a scene; see `_curves` and `_bound`.

    `available` lists every (algorithm, scene) with a confidence map and public ground truth. `threshold` is the
    dataset's own unless another was requested. `ndisp` is how many disparities our matcher searched, and `ndisp_from`
    what says so: the request, the scene or dataset, or its ground truth, which favours the matcher. `density_range` are
    the densities of each curve's `range_mean`.
    """
    places = {
        name: place for name, place in scene_places(cube).items() if not scenes.hidden(place.scene, place.dataset)
    }
    shown = list(places)
    whole = [name for name in cube.algorithms if name.rpartition("/")[0] not in cube.algorithms]
    present = [(name, scene) for name in whole for scene in scenes.source.with_confidence(name, places)]
    if selected.submission is not None:
        views = [scenes.view(_scene(name, selected)) for name in shown]
        own = [(view.own, view.name) for view in views if view.own is not None and view.own.maps.confidence]
        present += [(one.algorithm, name) for one, name in own if one.algorithm in cube.algorithms]
    chosen = query.scene or next((name for _, name in present), shown[0] if query.measures and shown else "")
    if not query.low < query.high:
        raise StereogaugeError(f"A range of densities goes up; found {query.low:g} to {query.high:g}.")
    threshold = query.threshold or dataset_threshold(places[chosen].dataset if chosen in places else "")
    kind = parse_error(f"bad@{threshold:.12g}" if query.error == "bad" else query.error)
    answer: Plain = {
        "scene": chosen, "threshold": threshold, "error": str(kind), "unit": "px" if kind.magnitude else "%",
        "region": query.region, "density_range": (query.low, query.high), "ndisp": None, "ndisp_from": None,
        "density": DENSITIES.tolist(), "curves": [], "bounds": [], "figure": None, "available": present,
    }  # fmt: skip
    if not chosen:
        return answer
    if chosen not in cube.scenes:
        raise UnknownChoiceError("scene", chosen, cube.scenes)
    view = scenes.view(_scene(chosen, selected))
    scenes.refuse_hidden(view, "sparsification curves are")
    judged = [_beside(scenes, view, name) for name in dict.fromkeys(n for n, scene in present if scene == chosen)]
    truth, mask = scenes.truth(view), None
    if query.measures:
        matched = _matched(scenes, view, query)
        stated = stated_range(view.scene) is not None
        said_by = "request" if query.ndisp else "scene" if stated else "ground truth"
        answer |= {"ndisp": matched.ndisp, "ndisp_from": said_by}
        judged.append(MapsOf(SGM, matched.raw, matched.maps, dict.fromkeys(matched.maps, "lower")))
        if query.region == PAPER_DOMAIN:
            truth, mask = matched.domain
    pixels = JudgedPixels(
        truth, scenes.mask(view, query.region) if mask is None else mask, kind, view.scene.calibration
    )
    curves = [curve for one in judged for curve in _curves(one, pixels, (query.low, query.high))]
    singles = [one._replace(maps=single_maps(one.maps)) for one in judged if not kind.magnitude]
    bounds = [_bound(one, pixels) for one in singles if len(one.maps) > 1]
    answer |= json_value({"curves": curves, "bounds": bounds})
    if curves:
        answer["figure"] = _chart(answer, scenes.source.styles(cube.algorithms)).page_spec()
    return answer


def _chart(answer: Plain, styles: Styles) -> Chart:
    """The curves of every map, with the oracle and the random line of each algorithm."""
    percent = 100 * DENSITIES[1:]  # at density 0 there is no pixel and no share of bad ones
    factor = 1 if answer["unit"] == "px" else 100

    def line(label: str, values: Sequence[float], shade: str, dash: tuple[int, ...] = SOLID) -> Line:
        drawn = factor * np.array(values[1:], np.float64)
        return Line(label, percent, drawn, shade, dash, 2.0 if dash == SOLID else 1.4)

    def reference(kind: str, label: str, values: Sequence[float], algorithm: str) -> Line:
        shade, dash = REFERENCES[kind]
        return line(label, values, shade if several else shades[algorithm], dash)

    # One curve has its algorithm's colour; measures of one algorithm have different colours.
    pairs = [(one["algorithm"], one["measure"]) for one in answer["curves"]]
    counts = Counter(algorithm for algorithm, _ in pairs)
    shades = {name: styles[name].colour if name in styles else GREY for name in counts}
    several = algorithm_styles(f"{algorithm} {measure}" for algorithm, measure in pairs if counts[algorithm] > 1)
    lines: list[Line] = []
    for one, (algorithm, measure) in zip(answer["curves"], pairs, strict=True):
        label = f"{algorithm} {measure}"
        drawn = line(label, one["bad"], several[label].colour if label in several else shades[algorithm])
        lines.append(drawn._replace(about={"algorithm": algorithm, "measure": measure}))
    for name, one in {curve["algorithm"]: curve for curve in reversed(answer["curves"])}.items():
        lines.append(reference(ORACLE, f"oracle of {name}", one["oracle"], name))
        lines.append(reference(RANDOM, f"random, {name}", [one["random"]] * len(DENSITIES), name))
    for bound in answer["bounds"]:
        label = f"bad pixels that every measure of {bound['algorithm']} keeps"
        lines.append(reference(BOUND, label, bound["bad"], bound["algorithm"]))
    y_label = f"{answer['error']} of them [{answer['unit']}]"
    x_label = "pixels kept, most confident first [%]"
    return curve_panels("Sparsification", "", [Panel("", tuple(lines))], y_label, x_label=x_label, number=".2f")


def _scene(name: str, selected: SelectionQuery) -> SceneQuery:
    return SceneQuery(name, selected.protocol, selected.submission, selected.dataset)


def _beside(scenes: SceneReader, view: SceneView, algorithm: str) -> MapsOf:
    sources = scenes.maps(algorithm, view).confidence
    directions = {name: source.direction for name, source in sources.items()}
    estimate = scenes.estimate(algorithm, view)
    return MapsOf(algorithm, estimate, scenes.confidence(algorithm, view), directions)


class Matched(NamedTuple):
    """What our SGM found on a scene: its map before the check, measures by name, and the paper's domain."""

    ndisp: int
    raw: DisparityMap
    maps: Mapping[str, NDArray[Any]]
    domain: tuple[DisparityMap, NDArray[np.bool_]]


def _matched(scenes: SceneReader, view: SceneView, query: ConfidenceQuery) -> Matched:
    """Our SGM on the scene's own images, in a process that ends where its visitor leaves."""
    scene = view.scene
    if not (scene.has("left") and scene.has("right")):
        raise StereogaugeError(f"Scene {view.name!r} has no pair of images to match.")
    ndisp = search_range(scene, query.ndisp, by_truth=True)
    if scene.shape[0] * scene.shape[1] * ndisp > MOST_COSTS:
        raise StereogaugeError(
            f"Scene {view.name!r} is too large to be matched here; use `stereogauge confidence` instead."
        )
    measures = query.measures
    if len(measures) > MOST_MEASURES:
        raise StereogaugeError(f"At most {MOST_MEASURES} measures are computed at once; found {len(measures)}.")
    for name in measures:
        measure, _ = parse_measure(name)  # what cannot be computed is refused before there is a process
        if lacking := sorted(measure.needs & {"gt", "model"}):
            raise StereogaugeError(
                f"The confidence measure {name!r} needs {' and '.join(ELSEWHERE[one] for one in lacking)}, which the "
                "site does not use; compute it with `stereogauge confidence`."
            )
    return scenes.matching.call(match_scene, scene, ndisp, measures, query.sigma, query.temperature)


def match_scene(
    scene: Scene, ndisp: int, measures: list[str], sigma: float | None, temperature: float | None
) -> Matched:
    """The measures of our SGM on a scene."""
    result = match(scene.left, scene.right, "sgm", ndisp)
    maps = confidence(result, measures, sigma=sigma, temperature=temperature)
    return Matched(result.ndisp, result.raw, maps, domain_of(scene, result, PAPER_DOMAIN))


class JudgedPixels(NamedTuple):
    """The pixels on which confidence is judged, and by which error."""

    truth: DisparityMap
    mask: NDArray[np.bool_]
    kind: ErrorKind
    calibration: Calibration


def _curves(given: MapsOf, pixels: JudgedPixels, densities: tuple[float, float]) -> list[Plain]:
    """The error of the most confident pixels by the share of pixels kept: a share of bad pixels, or px.

    `oracle` removes the largest errors first, `random` removes in proportion; `auc` is the mean over all densities.
    `range_mean` is the mean share of bad pixels over the densities that were requested. `better` is the direction of
    the map, `declared` whether its `results.toml` says so.
    """
    found = []
    for measure, values in given.maps.items():
        checkpoint()
        curve = sparsify_by(
            pixels.kind, values, given.estimate, pixels.truth, pixels.mask, calibration=pixels.calibration
        )
        direction = given.directions[measure]
        rate = None
        if isinstance(curve, SparsificationCurve):
            rate = curve.area(*densities) / (densities[1] - densities[0])
        found.append(
            {
                "algorithm": given.algorithm,
                "measure": measure,
                "bad": curve.rates(DENSITIES),
                "oracle": curve.oracle.rates(DENSITIES),
                "random": float(curve.rates([1.0])[0]),
                "auc": curve.auc,
                "range_mean": rate,
                "optimal_auc": curve.oracle.auc,
                "ause": curve.ause,
                "aurg": curve.aurg,
                "better": direction or "higher",
                "declared": direction is not None,
            }
        )
    return found


def _bound(given: MapsOf, pixels: JudgedPixels) -> Plain:
    """Bad pixels that each of `measures` would keep at density φ, as a share of the φ·N kept ones.

    A combination of measures, such as their product, is none of them. Together the measures keep fewer pixels than φ
    (`kept`), so that at its own density a single measure may leave fewer bad pixels.
    """
    domain = pixels.mask & np.isfinite(pixels.truth)
    bad = pixels.kind.bad(given.estimate, pixels.truth, pixels.calibration)
    bound = combination_bound(given.maps, bad, domain)
    kept = np.maximum(DENSITIES * domain.sum(), 1.0)
    return {
        "algorithm": given.algorithm,
        "measures": list(given.maps),
        "density": DENSITIES,
        "bad": bound.counts(DENSITIES) / kept,
        "kept": bound.densities(DENSITIES),
    }
