"""What may be given as estimates and as scenes, in the form that the evaluation works on."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.errors import SizeError, StereogaugeError
from stereogauge.io.files import DisparityFile
from stereogauge.matching.result import MatchResult
from stereogauge.model import Dataset, ResultSet, Scene

ONE_SCENE = "scene"
"""The id of a scene that is nothing but a ground truth."""


def scene_list(scenes: Any) -> list[Scene]:
    """The scenes that estimates are held against: one or several."""
    several = isinstance(scenes, Dataset | Sequence) and not isinstance(scenes, str)
    found = list(scenes) if several else [scenes]
    strange = next((type(scene).__name__ for scene in found if not isinstance(scene, Scene)), None)
    if strange is not None:
        raise StereogaugeError(
            f"Estimates are held against a Scene, a dataset or a list of scenes; found {strange}. "
            "A map and its ground truth alone are given as a pair: sg.evaluate((map, truth))."
        )
    return found


def taken_apart(estimates: Any) -> tuple[Any, Scene]:
    """The estimate and the scene of a pair (map, truth)."""
    if isinstance(estimates, tuple) and len(estimates) == 2:
        estimate, truth = estimates
        if _is_map(truth) and (_is_map(estimate) or isinstance(estimate, MatchResult)):
            return estimate, Scene(ONE_SCENE, gt=truth)
    raise StereogaugeError("Estimates alone have no truth: give a scene as well, or a pair (map, truth).")


def result_sets(estimates: Any, scenes: Sequence[Scene]) -> list[ResultSet]:
    """What was given as estimates, as one result set per algorithm.

    A map or path (one scene) is called "estimate", a match result by its matcher, paths in a list by their files; a
    mapping gives names, with maps for one scene or {scene: map} for several.
    """
    if estimates is None or (isinstance(estimates, Mapping | list | tuple) and not estimates):
        raise StereogaugeError("No estimate was given: a map, a path, a match result, or a mapping of names to them.")
    if isinstance(estimates, ResultSet):
        return [estimates]
    if isinstance(estimates, Mapping):
        return [_named_results(str(name), value, scenes) for name, value in estimates.items()]
    if isinstance(estimates, MatchResult):
        return [_named_results(estimates.matcher, estimates, scenes)]
    if isinstance(estimates, list | tuple) and estimates:
        if all(isinstance(one, ResultSet) for one in estimates):
            return list(estimates)
        if all(isinstance(one, MatchResult | str | os.PathLike) for one in estimates):
            files = [one for one in estimates if not isinstance(one, MatchResult)]
            names = iter(distinct_names(files))
            named = [(one.matcher if isinstance(one, MatchResult) else next(names), one) for one in estimates]
            return [_named_results(name, one, scenes) for name, one in named]
        if any((isinstance(one, np.ndarray) and one.ndim > 1) or isinstance(one, MatchResult) for one in estimates):
            raise StereogaugeError(
                "Maps in a list have no names; give a mapping, for example {'A': map_a, 'B': map_b}."
            )
    return [_named_results("estimate", estimates, scenes)]


def distinct_names(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The shortest ends of the paths that tell them apart, without suffix.

    >>> distinct_names(["sgm/teddy.pfm", "bm/teddy.pfm"])
    ['sgm/teddy', 'bm/teddy']
    """
    parts = [Path(path).with_suffix("").parts for path in paths]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in paths]


def _named_results(name: str, value: Any, scenes: Sequence[Scene]) -> ResultSet:
    if isinstance(value, ResultSet):
        return value
    if not isinstance(value, Mapping):
        if len(scenes) != 1:
            raise SizeError(f"Algorithm {name!r} gives one map for {len(scenes)} scenes; give {{scene: map}} instead.")
        value = {scenes[0].id: value}
    matches = {str(scene): one for scene, one in value.items() if isinstance(one, MatchResult)}
    right = {scene: one.right_disparity for scene, one in matches.items() if one.right_disparity is not None}
    return ResultSet(
        name,
        {str(scene): one.disparity if isinstance(one, MatchResult) else one for scene, one in value.items()},
        right_maps=right,
        confidence={scene: one.confidence for scene, one in matches.items() if one.confidence is not None},
        seconds={scene: one.seconds for scene, one in matches.items()},
        runs={scene: one.facts for scene, one in matches.items()},
        confidence_better=next((one.confidence_better for one in matches.values() if one.confidence is not None), None),
    )


def _is_map(value: Any) -> bool:
    """Whether this may be a disparity map or its file."""
    if isinstance(value, np.ndarray):
        return value.ndim >= 2
    return isinstance(value, str | os.PathLike | DisparityFile)
