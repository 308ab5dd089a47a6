"""Studies of a store as plain values, for pages and other programs.

`study_summary` gives a dictionary with the keys

    name matcher dataset scenes sampler seed prune protocol space   what was asked for
    groups           scenes that share a ground truth, as lists of ids
    columns          "metric:region", the order of every list of scores
    objectives       [{name, unit, direction: minimize|maximize, terms: {metric: {weight, unit, origin}}}]
    judge            the profile that picks the best trial, or None
    states           {complete, pruned, failed, running, waiting}: counts
    baseline best    numbers of trials, or None while there is none
    parameters matcher_text toml                                    the recommended setting in three forms, or None
    trials           [{number, place, state, parameters, values, seconds, failure, scores: {scene: [value a column]}}]
    front            numbers of the trials that none dominates
    importance       {objective: {parameter: share}}
    seen held_out    [{goal, unit, direction, default, tuned, difference, low, high, percent, level, draws, better,
                     compared, scenes, scene_default, scene_tuned}], one for each objective, then the judge; [] while
                     unknown
    folds            [{held_out: [scene], states, best: a trial or None}]

A number that does not exist is None.
"""

from __future__ import annotations

import os
from typing import Any

from stereogauge.tuning.export import without_nan
from stereogauge.tuning.reading import load_result, own_studies, read_result, reading


def studies(store: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Name, matcher, dataset, objectives, judge, scenes, folds and counted states of every tuning."""
    with reading(store) as storage:
        return [] if storage is None else [_entry(read_result(storage, name)) for name in own_studies(storage)]


def _entry(result: Any) -> dict[str, Any]:
    plain = result.to_plain()
    kept = ("name", "matcher", "dataset", "judge", "states", "baseline", "best", "matcher_text")
    entry = {key: plain[key] for key in kept}
    return {
        **entry,
        "objectives": [objective["name"] for objective in plain["objectives"]],
        "scenes": len(plain["scenes"]),
        "folds": len(plain["folds"]),
    }


def study_summary(store: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """One tuning in full."""
    plain: dict[str, Any] = without_nan(load_result(store, name).to_plain())
    return plain
