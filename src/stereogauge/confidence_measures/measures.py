"""Confidence maps of a matcher's result."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.confidence_measures.declaration import confidence_measures, parse_measure
from stereogauge.confidence_measures.evidence import Evidence
from stereogauge.confidence_measures.learned import Trees
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.display import NamedMaps
from stereogauge.errors import NotApplicable
from stereogauge.matching.result import MatchResult

HINTS = {
    "costs": "the matcher's aggregated costs, and {matcher} gave none; without them there are: {possible}",
    "volume": "all aggregated costs, and {matcher} kept none; match again with keep=costs",
    "right": "a right disparity map, and {matcher} gave none; {right}",
    "gt": "ground truth: give it as gt=…",
    "model": "a trained model: give it as model=… (--model FILE)",
    "image": "the left image",
}


def confidence(
    result: MatchResult,
    measures: Iterable[str] = (*PAPER, "product"),
    *,
    gt: NDArray[Any] | None = None,
    literal: bool = False,
    sigma: float | None = None,
    temperature: float | None = None,
    model: Trees | str | os.PathLike[str] | None = None,
) -> NamedMaps[NDArray[np.floating[Any]]]:
    """Maps of the requested measures by id; lower = more confident, NaN = undefined.

    `literal` gives those of Haeusler and Klette as printed. `sigma` and `temperature` are ς and T of the exponential
    measures (default: P2 of the matcher); a measure may have its own, as `entropy@8` does, so that several can be
    compared. `gt` is for the oracle, `model` (a file or `Trees`) for the learned
    combination.

    >>> left = np.random.default_rng(0).integers(0, 255, (40, 60), np.uint8)
    >>> result = sg.match(left, np.roll(left, -4, axis=1), ndisp=16)  # every point moves by 4 px
    >>> maps = sg.confidence(result, ["peak-ratio", "lr-difference"])
    >>> maps["peak-ratio"].shape, bool(np.median(maps["lr-difference"]) < 0.1)
    ((40, 60), True)
    """
    trained = model if model is None or isinstance(model, Trees) else Trees.load(model)
    evidence = Evidence.of(result, sigma=sigma, temperature=temperature, gt=gt, model=trained)
    return NamedMaps({name: _map(evidence, name, literal) for name in measures})


def _map(evidence: Evidence, name: str, literal: bool) -> NDArray[np.floating[Any]]:
    declared, scale = parse_measure(name)
    missing = sorted(declared.needs - evidence.parts)
    if missing:
        hint = HINTS.get(missing[0], missing[0]).format(
            matcher=evidence.result.matcher,
            right=right_map_hint(evidence.result),
            possible=", ".join(m.id for m in confidence_measures().values() if not m.needs & {"costs", "volume"}),
        )
        raise NotApplicable(f"Confidence measure {name!r} needs {hint}.")
    if declared.scale is not None and scale is not None:
        own = replace(evidence, sigma=scale) if declared.scale == "sigma" else replace(evidence, temperature=scale)
        return np.ascontiguousarray(own.measured(declared), dtype=np.float32)
    if literal and declared.literal is not None:
        return np.ascontiguousarray(declared.literal(evidence))
    return np.ascontiguousarray(evidence.measured(declared), dtype=np.float32)


def right_map_hint(result: MatchResult) -> str:
    """How to obtain a right map."""
    if "right_view" in result.parameters:
        return f"match with {result.matcher}:right_view=second-run"
    return "take a matcher that makes one"
