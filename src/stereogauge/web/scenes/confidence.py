"""`confidence`: sparsification curves of the confidence maps that lie beside the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from stereogauge.confidence.bound import combination_bound
from stereogauge.confidence.sparsification import SparsificationCurve, is_bad, sparsify
from stereogauge.web.scenes.gallery import Gallery, Place
from stereogauge.web.selection import Asked, UnknownChoiceError

DENSITIES = np.linspace(0.0, 1.0, 101)


class Curve(BaseModel):
    """Share of bad pixels among the most confident part of the map, by the size of that part.

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
    """What no combination of an algorithm's measures can undercut: the share of bad pixels that every measure keeps."""

    algorithm: str
    density: list[float]
    bad: list[float]


class ConfidenceAnswer(BaseModel):
    """Curves on one scene; `available` names every (algorithm, scene) with a confidence map and a truth to show."""

    scene: str
    threshold: float
    region: str
    density: list[float]
    curves: list[Curve]
    bounds: list[Bound]
    available: list[tuple[str, str]]


def confidence_answer(
    gallery: Gallery, wanted: Asked, scene: str | None, threshold: float, region: str
) -> ConfidenceAnswer:
    """The curves of every selected algorithm with confidence maps on a scene; larger values are more confident."""
    cube = gallery.desk.values(wanted)
    owners = cube.datasets or ("",) * len(cube.scenes)
    shown = [name for name, own in zip(cube.scenes, owners, strict=True) if not gallery.hidden(name, own)]
    present = available(gallery, cube.algorithms, shown)
    chosen = scene or next((name for _, name in present), "")
    answer = ConfidenceAnswer(
        scene=chosen, threshold=threshold, region=region, density=DENSITIES.tolist(), curves=[], bounds=[],
        available=present,
    )  # fmt: skip
    if not chosen:
        return answer
    if chosen not in cube.scenes:
        raise UnknownChoiceError("scene", chosen, cube.scenes)
    place = gallery.place(chosen, wanted.protocol)
    gallery.refuse_hidden(place, "what its confidence is worth is")
    mask = gallery.mask(place, region)
    for algorithm in dict.fromkeys(name for name, own in present if own == chosen):
        answer.curves += _curves(gallery, place, algorithm, threshold, mask)
        answer.bounds += _bounds(gallery, place, algorithm, threshold, mask)
    return answer


def available(gallery: Gallery, algorithms: Iterable[str], scenes: Sequence[str]) -> list[tuple[str, str]]:
    """Every (algorithm, scene) with a confidence map."""
    source = gallery.desk.source
    return [(name, scene) for name in algorithms for scene in source.with_confidence(name, scenes)]


def _curves(gallery: Gallery, place: Place, algorithm: str, threshold: float, mask: NDArray[np.bool_]) -> list[Curve]:
    estimate, truth = gallery.estimate(algorithm, place.name), gallery.truth(place)
    return [
        _curve(algorithm, measure, sparsify(values, estimate, truth, threshold, mask, higher_is_better=True))
        for measure, values in gallery.confidence(algorithm, place.name).items()
    ]


def _curve(algorithm: str, measure: str, curve: SparsificationCurve) -> Curve:
    return Curve(
        algorithm=algorithm,
        measure=measure,
        bad=curve.rates(DENSITIES).tolist(),
        oracle=curve.oracle.rates(DENSITIES).tolist(),
        random=curve.bad_pixels / curve.pixels,
        auc=curve.auc,
        optimal_auc=curve.oracle.auc,
    )


def _bounds(gallery: Gallery, place: Place, algorithm: str, threshold: float, mask: NDArray[np.bool_]) -> list[Bound]:
    maps = gallery.confidence(algorithm, place.name)
    if len(maps) < 2:
        return []
    estimate, truth = gallery.estimate(algorithm, place.name), gallery.truth(place)
    domain = mask & np.isfinite(truth)
    bad = is_bad(estimate, truth, threshold)
    bound = combination_bound({name: -values for name, values in maps.items()}, bad, domain)
    density = bound.densities(DENSITIES)
    counts = bound.counts(DENSITIES)
    kept = np.maximum(density * domain.sum(), 1.0)
    return [Bound(algorithm=algorithm, density=density.tolist(), bad=(counts / kept).tolist())]
