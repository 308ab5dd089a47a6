"""`confidence`: sparsification curves of the confidence maps beside the results, and of our SGM's measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from stereogauge.confidence_measures.error_curves import sparsify_by
from stereogauge.confidence_measures.evaluation import combination_bound
from stereogauge.confidence_measures.measures import confidence
from stereogauge.confidence_measures.run import search_range
from stereogauge.confidence_measures.sparsification import ErrorKind, parse_error
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import Chart, Spec
from stereogauge.figures.confidence import DASH_DOTTED, DASHED, DOTTED, LONG, SOLID, Line, Panel, curve_panels
from stereogauge.figures.palette import GREY, Styles
from stereogauge.matching.run import match
from stereogauge.model import DisparityMap
from stereogauge.scores.cube import ScoreCube
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.scenes.reader import SceneQuery, SceneReader, SceneView
from stereogauge.web.selection import SelectionQuery

DENSITIES = np.linspace(0.0, 1.0, 101)
SGM = "census SGM"
DASHES = (SOLID, DASHED, DOTTED, DASH_DOTTED, LONG)
MOST_COSTS = 200_000_000
"""Pixels times disparities that a visitor may have matched."""


class Curve(BaseModel):
    """The error of the most confident pixels by the share of pixels kept: a share of bad pixels, or px.

    `oracle` removes the largest errors first, `random` removes in proportion; `auc` is the mean over all densities.
    `better` is the direction of the map, `declared` whether its `results.toml` says so.
    """

    algorithm: str
    measure: str
    bad: list[float]
    oracle: list[float]
    random: float
    auc: float
    optimal_auc: float
    ause: float
    aurg: float
    better: Literal["higher", "lower"]
    declared: bool


class Bound(BaseModel):
    """Bad pixels that every measure of an algorithm would keep at density φ, as a share of the φ·N kept ones.

    Together the measures keep fewer pixels than φ (`kept`), so that at its own density a single measure may leave
    fewer bad pixels.
    """

    algorithm: str
    density: list[float]
    bad: list[float]
    kept: list[float]


class ConfidenceAnswer(BaseModel):
    """Curves on one scene; `available` lists every (algorithm, scene) with a confidence map and public ground truth."""

    scene: str
    threshold: float
    error: str
    unit: str
    region: str
    density: list[float]
    curves: list[Curve]
    bounds: list[Bound]
    figure: Spec | None = None
    available: list[tuple[str, str]]


class MapsOf(NamedTuple):
    """The maps of one algorithm on a scene, lower = more confident, with their declared directions."""

    algorithm: str
    estimate: DisparityMap
    maps: Mapping[str, NDArray[Any]]
    directions: Mapping[str, Literal["higher", "lower"] | None]


class ConfidenceQuery(NamedTuple):
    """What is requested: the scene, the pixels, the error, and measures of our SGM with their scales."""

    scene: str | None
    threshold: float
    region: str
    error: str = "bad"
    sgm: Sequence[str] = ()
    sigma: float | None = None
    temperature: float | None = None

    @property
    def kind(self) -> ErrorKind:
        """The error that the curves follow."""
        return parse_error(f"bad@{self.threshold:.12g}" if self.error == "bad" else self.error)


def confidence_answer(
    scenes: SceneReader, cube: ScoreCube, selected: SelectionQuery, query: ConfidenceQuery, styles: Styles
) -> ConfidenceAnswer:
    """The curves of every selected algorithm with confidence maps on a scene."""
    datasets = cube.datasets or ("",) * len(cube.scenes)
    shown = [name for name, dataset in zip(cube.scenes, datasets, strict=True) if not scenes.hidden(name, dataset)]
    whole = [name for name in cube.algorithms if name.rpartition("/")[0] not in cube.algorithms]
    present = [(name, scene) for name in whole for scene in scenes.source.with_confidence(name, shown)]
    if selected.submission is not None:
        present += _own_present(scenes, cube, selected, shown)
    chosen = query.scene or next((name for _, name in present), shown[0] if query.sgm and shown else "")
    kind = query.kind
    answer = ConfidenceAnswer(
        scene=chosen, threshold=query.threshold, error=str(kind), unit="px" if kind.magnitude else "%",
        region=query.region, density=DENSITIES.tolist(), curves=[], bounds=[], available=present,
    )  # fmt: skip
    if not chosen:
        return answer
    if chosen not in cube.scenes:
        raise UnknownChoiceError("scene", chosen, cube.scenes)
    view = scenes.view(SceneQuery(chosen, selected.protocol, selected.submission))
    scenes.refuse_hidden(view, "sparsification curves are")
    mask = scenes.mask(view, query.region)
    judged = [_beside(scenes, view, name) for name in dict.fromkeys(n for n, scene in present if scene == chosen)]
    if query.sgm:
        judged.append(_matched(view, query))
    truth = scenes.truth(view)
    for one in judged:
        answer.curves += _curves(one, view, truth, kind, mask)
        if not kind.magnitude and len(one.maps) > 1:
            answer.bounds.append(_bound(one, view, truth, kind, mask))
    if answer.curves:
        answer.figure = _chart(answer, styles).page_spec()
    return answer


def _chart(answer: ConfidenceAnswer, styles: Styles) -> Chart:
    """The curves of every map, with the oracle and the random line of each algorithm."""
    percent = 100 * DENSITIES[1:]  # at density 0 there is no pixel and no share of bad ones
    factor = 1 if answer.unit == "px" else 100

    def line(label: str, values: Sequence[float], algorithm: str, dash: tuple[int, ...], width: float = 1.0) -> Line:
        shade = styles[algorithm].colour if algorithm in styles else GREY
        return Line(label, percent, factor * np.array(values[1:]), shade, dash, width)

    lines: list[Line] = []
    seen: dict[str, int] = {}
    for one in answer.curves:
        place = seen.setdefault(one.algorithm, 0)
        seen[one.algorithm] += 1
        drawn = line(f"{one.algorithm} {one.measure}", one.bad, one.algorithm, DASHES[place % len(DASHES)], 2.0)
        lines.append(drawn._replace(about={"algorithm": one.algorithm, "measure": one.measure}))
    for one in {curve.algorithm: curve for curve in reversed(answer.curves)}.values():
        flat = [one.random] * len(DENSITIES)
        lines.append(line(f"oracle of {one.algorithm}", one.oracle, one.algorithm, DOTTED))
        lines.append(line(f"random, {one.algorithm}", flat, one.algorithm, SOLID, 0.5))
    for bound in answer.bounds:
        label = f"bad pixels that every measure of {bound.algorithm} keeps"
        lines.append(line(label, bound.bad, bound.algorithm, DASH_DOTTED))
    y_label = f"{answer.error} of them [{answer.unit}]"
    x_label = "pixels kept, most confident first [%]"
    return curve_panels("Sparsification", "", [Panel("", tuple(lines))], y_label, x_label=x_label, number=".2f")


def _own_present(
    scenes: SceneReader, cube: ScoreCube, selected: SelectionQuery, shown: list[str]
) -> list[tuple[str, str]]:
    """The scenes for which the visitor's unpublished submission has confidence maps, with its name."""
    views = [scenes.view(SceneQuery(name, selected.protocol, selected.submission)) for name in shown]
    own = [(view.own, view.name) for view in views if view.own is not None and view.own.maps.confidence]
    return [(one.algorithm, name) for one, name in own if one.algorithm in cube.algorithms]


def _beside(scenes: SceneReader, view: SceneView, algorithm: str) -> MapsOf:
    sources = scenes.maps(algorithm, view).confidence
    directions = {name: source.direction for name, source in sources.items()}
    estimate = scenes.estimate(algorithm, view)
    return MapsOf(algorithm, estimate, scenes.confidence(algorithm, view), directions)


def _matched(view: SceneView, query: ConfidenceQuery) -> MapsOf:
    """Measures of our SGM on the scene's own images."""
    scene = view.scene
    if not (scene.has("left") and scene.has("right")):
        raise StereogaugeError(f"Scene {view.name!r} has no pair of images to match.")
    ndisp = search_range(scene)
    if scene.shape[0] * scene.shape[1] * ndisp > MOST_COSTS:
        raise StereogaugeError(
            f"Scene {view.name!r} is too large to be matched here; use `stereogauge confidence` instead."
        )
    result = match(scene.left, scene.right, "sgm", ndisp)
    maps = confidence(result, query.sgm, sigma=query.sigma, temperature=query.temperature)
    return MapsOf(SGM, result.raw, maps, dict.fromkeys(maps, "lower"))


def _curves(
    given: MapsOf, view: SceneView, truth: DisparityMap, kind: ErrorKind, mask: NDArray[np.bool_]
) -> list[Curve]:
    found = []
    for measure, values in given.maps.items():
        curve = sparsify_by(kind, values, given.estimate, truth, mask, calibration=view.scene.calibration)
        direction = given.directions[measure]
        found.append(
            Curve(
                algorithm=given.algorithm,
                measure=measure,
                bad=curve.rates(DENSITIES).tolist(),
                oracle=curve.oracle.rates(DENSITIES).tolist(),
                random=float(curve.rates([1.0])[0]),
                auc=curve.auc,
                optimal_auc=curve.oracle.auc,
                ause=curve.ause,
                aurg=curve.aurg,
                better=direction or "higher",
                declared=direction is not None,
            )
        )
    return found


def _bound(given: MapsOf, view: SceneView, truth: DisparityMap, kind: ErrorKind, mask: NDArray[np.bool_]) -> Bound:
    domain = mask & np.isfinite(truth)
    bad = kind.bad(given.estimate, truth, view.scene.calibration)
    bound = combination_bound(given.maps, bad, domain)
    kept = np.maximum(DENSITIES * domain.sum(), 1.0)
    return Bound(
        algorithm=given.algorithm,
        density=DENSITIES.tolist(),
        bad=(bound.counts(DENSITIES) / kept).tolist(),
        kept=bound.densities(DENSITIES).tolist(),
    )
