"""Scores of the single planes, fine structures and foreground objects of a scene."""

from __future__ import annotations

from stereogauge.evaluation.objects import object_columns, object_statistics, objects_of
from stereogauge.metrics.declaration import BoundMetric
from stereogauge.protocol import load_protocol
from stereogauge.scores.column import columns_of
from stereogauge.text import json_value
from stereogauge.web.answer import Plain, plain
from stereogauge.web.scenes.reader import SceneQuery, SceneReader


def objects_answer(scenes: SceneReader, query: SceneQuery, algorithms: list[str]) -> list[Plain]:
    """The objects of a scene: region, box, number of pixels, and the scores of the algorithms on each of them."""
    view = scenes.view(query)
    scenes.refuse_hidden(view, "its objects are")
    found = objects_of(view.regions)
    columns = object_columns(_fitting(), found)
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


def _fitting() -> list[BoundMetric]:
    """The metrics of the protocol `hci` that have a pixel set of their own."""
    preset = load_protocol("hci")
    declared = [column.declared for column in columns_of(preset.metrics, preset.regions)]
    return [bound for bound in dict.fromkeys(declared) if bound.metric.region is not None]
