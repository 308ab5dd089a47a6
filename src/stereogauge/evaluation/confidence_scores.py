"""Sparsification results as scores of a store: each measure of a matcher is an algorithm of its own.

What a score depends on is in its key: the pixels in the region (the paper's domain is a region `haeusler-klette`), the
error in the metric, and matcher, search range, scales and files in the algorithm's name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stereogauge.confidence_measures.declaration import parse_measure
from stereogauge.confidence_measures.run import ConfidenceChoices, SceneRun
from stereogauge.confidence_measures.sparsification import sparsify
from stereogauge.hashing import values_hash
from stereogauge.matching.run import as_matcher, matcher_text, settled
from stereogauge.protocol import Protocol
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable


def score_table(
    runs: Sequence[SceneRun], *, dataset: str, names: Mapping[str, str], region: str, protocol: Protocol
) -> ScoreTable:
    """Scores `sparsification-auc`, `ause`, `aurg` and `confidence-roc` of every map and scene.

    As the metrics of these names: the first counts missing estimates as bad, the others leave them out. `names` gives
    the algorithm of each map.
    """
    scores = [
        Score(
            dataset=dataset,
            scene=run.scene,
            algorithm=names[measure],
            metric=f"{metric}@{run.threshold:g}",
            region=region,
            value=value,
            sum=0.0 if math.isnan(value) else value * pixels,
            count=0 if math.isnan(value) else pixels,
            missing=0,
            protocol=protocol.scoring_hash,
            note=f"region {region!r} has only good or only bad pixels" if math.isnan(value) else "",
        )
        for run in runs
        for measure, values in run.maps.items()
        for metric, value, pixels in _values(run, values)
    ]
    return ScoreTable(scores, protocol)


def _values(run: SceneRun, values: Any) -> Iterator[tuple[str, float, int]]:
    whole = sparsify(values, run.result.raw, run.gt, run.threshold, run.domain)
    yield "sparsification-auc", whole.auc, whole.pixels
    given = sparsify(values, run.result.raw, run.gt, run.threshold, run.domain, missing="excluded")
    yield "ause", given.ause, given.pixels
    yield "aurg", given.aurg, given.pixels
    yield "confidence-roc", given.roc_auc, given.pixels


def matcher_names(choices: ConfidenceChoices, measures: Sequence[str], model: str = "") -> dict[str, str]:
    """The algorithm of each measure: `sgm:p1=10,ndisp=128/entropy@8` for one that differs from the defaults in these.

    Without `ndisp` the search range is the scene's own. `model` is the hash of a trained combination.
    """
    declared, given = as_matcher(choices.matcher)
    complete, post = settled(declared, {**given, **choices.parameters})
    defaults, _ = settled(declared, {})
    changed = {name: value for name, value in {**complete, **post.chosen}.items() if defaults.get(name) != value}
    if choices.ndisp is not None:
        changed["ndisp"] = choices.ndisp
    program = choices.matcher.startswith("cmd:")
    matcher = f"{choices.matcher} {choices.ndisp or ''}".strip() if program else matcher_text(declared.id, changed)
    scales = {"sigma": choices.sigma, "temperature": choices.temperature}
    return {
        measure: f"{matcher}{' as printed' if choices.literal else ''}/{_with_scales(measure, scales, model)}"
        for measure in measures
    }


def _with_scales(measure: str, scales: Mapping[str, float | None], model: str) -> str:
    if measure == "learned":
        return f"{measure} {model or 'on the other scenes'}"
    declared, own = parse_measure(measure)
    if measure == "product":
        given = [f"{name}={value:g}" for name, value in scales.items() if value is not None]
        return f"{measure}({','.join(given)})" if given else measure
    scale = None if declared.scale is None else scales[declared.scale]
    return f"{measure}@{scale:g}" if own is None and scale is not None else measure


def file_names(disparity: Sequence[Any], maps: Mapping[str, Sequence[Any]], title: str) -> dict[str, str]:
    """The algorithm of each map from a file: `TITLE/NAME` and a hash of where both come from and how they are read."""
    return {
        name: f"{title}/{name} {values_hash([*map(str, disparity), *map(str, source)])[:8]}"
        for name, source in maps.items()
    }
