"""Sparsification results as scores of a store: each measure of a matcher is an algorithm of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stereogauge.confidence.evaluation import SceneCurves
from stereogauge.protocol import Protocol
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable

METRICS = ("sparsification-auc", "ause", "aurg", "confidence-roc")


def score_table(
    scenes: Sequence[SceneCurves], *, dataset: str, matcher: str, region: str, protocol: Protocol
) -> ScoreTable:
    """Scores `sparsification-auc`, `ause`, `aurg` and `confidence-roc` of `MATCHER/MEASURE` for every scene."""
    scores = [
        Score(
            dataset=dataset,
            scene=scene.scene,
            algorithm=f"{matcher}/{measure}",
            metric=f"{metric}@{curve.threshold:g}",
            region=region,
            value=value,
            sum=0.0 if math.isnan(value) else value * curve.pixels,
            count=0 if math.isnan(value) else curve.pixels,
            missing=0,
            protocol=protocol.scoring_hash,
            note=f"region {region!r} has only good or only bad pixels" if math.isnan(value) else "",
        )
        for scene in scenes
        for measure, curve in scene.curves.items()
        for metric, value in zip(METRICS, (curve.auc, curve.ause, curve.aurg, curve.roc_auc), strict=True)
    ]
    return ScoreTable(scores, protocol)
