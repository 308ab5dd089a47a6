"""Scores of the single planes, fine structures and foreground objects of a scene."""

from __future__ import annotations

from stereogauge.evaluation.objects import object_columns, object_statistics, objects_of
from stereogauge.metrics.declaration import BoundMetric
from stereogauge.protocol import load_protocol
from stereogauge.scores.column import columns_of
from stereogauge.text import json_value
from stereogauge.web.answer import Answer, Number
from stereogauge.web.scenes.reader import SceneQuery, SceneReader


class ObjectScore(Answer):
    """A metric of one algorithm on one object; null with the reason where nothing was measured."""

    algorithm: str
    metric: str
    unit: str
    value: Number
    note: str


class ObjectAnswer(Answer):
    """An object: the region that holds its pixels, its box and number of pixels, and its scores."""

    name: str
    kind: str
    region: str
    x: int
    y: int
    width: int
    height: int
    pixels: int
    scores: list[ObjectScore]


def objects_answer(scenes: SceneReader, query: SceneQuery, algorithms: list[str]) -> list[ObjectAnswer]:
    """The objects of a scene, with scores of the algorithms."""
    view = scenes.view(query)
    scenes.refuse_hidden(view, "its objects are")
    found = objects_of(view.regions)
    columns = object_columns(_fitting(), found)
    scores: dict[str, list[ObjectScore]] = {one.region: [] for one in found}
    for algorithm in algorithms:
        measurement = scenes.measurement(view, algorithm)
        for column, statistic in object_statistics(measurement, columns).items():
            metric = column.declared.metric
            scores[columns[column].region].append(
                ObjectScore(
                    algorithm=algorithm,
                    metric=column.metric,
                    unit=metric.unit,
                    value=json_value(metric.value_of(statistic)),
                    note=statistic.note,
                )
            )
    return [ObjectAnswer.of(one, scores=scores[one.region]) for one in found]


def _fitting() -> list[BoundMetric]:
    """The metrics of the protocol `hci` that have a pixel set of their own."""
    preset = load_protocol("hci")
    declared = [column.declared for column in columns_of(preset.metrics, preset.regions)]
    return [bound for bound in dict.fromkeys(declared) if bound.metric.region is not None]
