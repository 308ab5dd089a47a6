"""`confidence`: sparsification curves of the confidence maps beside the results."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from stereogauge.confidence.bound import combination_bound
from stereogauge.confidence.sparsification import is_bad, sparsify
from stereogauge.scores.cube import ScoreCube
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.scenes.reader import SceneReader, SceneView

DENSITIES = np.linspace(0.0, 1.0, 101)


class Curve(BaseModel):
    """Share of bad pixels among the most confident pixels, by the share of pixels kept.

    `oracle` removes all bad pixels first, `random` removes in proportion; `auc` is the mean over all densities.
    """

    algorithm: str
    measure: str
    bad: list[float]
    oracle: list[float]
    random: float
    auc: float
    optimal_auc: float


class Bound(BaseModel):
    """A lower bound for every combination of an algorithm's measures: the bad pixels that all measures keep."""

    algorithm: str
    density: list[float]
    bad: list[float]


class ConfidenceAnswer(BaseModel):
    """Curves on one scene; `available` lists every (algorithm, scene) with a confidence map and public ground truth."""

    scene: str
    threshold: float
    region: str
    density: list[float]
    curves: list[Curve]
    bounds: list[Bound]
    available: list[tuple[str, str]]


def confidence_answer(
    scenes: SceneReader, cube: ScoreCube, protocol: str | None, scene: str | None, threshold: float, region: str
) -> ConfidenceAnswer:
    """The curves of every selected algorithm with confidence maps on a scene; larger values are more confident."""
    datasets = cube.datasets or ("",) * len(cube.scenes)
    shown = [name for name, dataset in zip(cube.scenes, datasets, strict=True) if not scenes.hidden(name, dataset)]
    present = [(name, scene) for name in cube.algorithms for scene in scenes.source.with_confidence(name, shown)]
    chosen = scene or next((name for _, name in present), "")
    answer = ConfidenceAnswer(
        scene=chosen, threshold=threshold, region=region, density=DENSITIES.tolist(), curves=[], bounds=[],
        available=present,
    )  # fmt: skip
    if not chosen:
        return answer
    if chosen not in cube.scenes:
        raise UnknownChoiceError("scene", chosen, cube.scenes)
    view = scenes.view(chosen, protocol)
    scenes.refuse_hidden(view, "sparsification curves are")
    mask = scenes.mask(view, region)
    for algorithm in dict.fromkeys(name for name, scene in present if scene == chosen):
        answer.curves += _curves(scenes, view, algorithm, threshold, mask)
        answer.bounds += _bounds(scenes, view, algorithm, threshold, mask)
    return answer


def _curves(
    scenes: SceneReader, view: SceneView, algorithm: str, threshold: float, mask: NDArray[np.bool_]
) -> list[Curve]:
    estimate, truth = scenes.estimate(algorithm, view), scenes.truth(view)
    found = {
        measure: sparsify(values, estimate, truth, threshold, mask, higher_is_better=True)
        for measure, values in scenes.confidence(algorithm, view).items()
    }
    return [
        Curve(
            algorithm=algorithm,
            measure=measure,
            bad=curve.rates(DENSITIES).tolist(),
            oracle=curve.oracle.rates(DENSITIES).tolist(),
            random=curve.bad_pixels / curve.pixels,
            auc=curve.auc,
            optimal_auc=curve.oracle.auc,
        )
        for measure, curve in found.items()
    ]


def _bounds(
    scenes: SceneReader, view: SceneView, algorithm: str, threshold: float, mask: NDArray[np.bool_]
) -> list[Bound]:
    maps = scenes.confidence(algorithm, view)
    if len(maps) < 2:
        return []
    estimate, truth = scenes.estimate(algorithm, view), scenes.truth(view)
    domain = mask & np.isfinite(truth)
    bad = is_bad(estimate, truth, threshold)
    bound = combination_bound({name: -values for name, values in maps.items()}, bad, domain)
    density = bound.densities(DENSITIES)
    counts = bound.counts(DENSITIES)
    kept = np.maximum(density * domain.sum(), 1.0)
    return [Bound(algorithm=algorithm, density=density.tolist(), bad=(counts / kept).tolist())]
