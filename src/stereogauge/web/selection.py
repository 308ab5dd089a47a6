"""The selection that a request names, checked against the scores that exist."""

from __future__ import annotations

from collections.abc import Iterable

from stereogauge.errors import StereogaugeError, UnknownNameError
from stereogauge.masks.expression import region_id
from stereogauge.metrics.registry import parse_column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import ONLY_SURE, Scope
from stereogauge.tags import expanded
from stereogauge.web.errors import UnknownChoiceError


class SelectionQuery(Scope, frozen=True):
    """The scope of a request. `submission` adds one unpublished submission of the visitor."""

    submission: str | None = None


def refuse_order(query: SelectionQuery) -> None:
    """Refuse to order scores at different densities."""
    if query.need == ONLY_SURE:
        raise StereogaugeError(
            "Values are needed only where they are sure: scores at different densities make no order, since leaving "
            "pixels out would win it. The view Compare orders them at equal density."
        )


def check_names(cube: ScoreCube, query: SelectionQuery) -> None:
    """Refuse names that the scores do not have, and list those that they do have."""
    scenes = expanded("scene", cube.scenes, cube.scene_tags, query.scenes or ())
    algorithms = expanded("algorithm", cube.algorithms, cube.tags.algorithms, query.algorithms or ())
    for kind, names, known in (
        ("scene", scenes, cube.scenes),
        ("region", tuple(region_id(name) for name in query.regions or ()), cube.regions),
        ("algorithm", algorithms, cube.algorithms),
    ):
        for name in names or ():
            if name not in known:
                raise UnknownChoiceError(kind, name, known)
    columns = set(cube.columns)
    for text in query.metrics or ():
        metric, region = _parsed(text, cube)
        if metric not in cube.metrics or (region is not None and (metric, region) not in columns):
            raise UnknownChoiceError("metric", text, {*cube.metrics, *map(str, cube.columns)})


def _parsed(text: str, cube: ScoreCube) -> tuple[str, str | None]:
    try:
        metric, region = parse_column(text)
    except UnknownNameError:
        raise UnknownChoiceError("metric", text, {*cube.metrics, *map(str, cube.columns)}) from None
    return metric.id, region


def known_column(cube: ScoreCube, text: str) -> int:
    """The index of the column that `bad@1:nonocc` or `d-fat` names."""
    check_names(cube, SelectionQuery(metrics=(text,)))
    return cube.column(text)


def check_algorithms(cube: ScoreCube, names: Iterable[str]) -> None:
    """Refuse algorithms that the scores do not have."""
    for name in names:
        if name not in cube.algorithms:
            raise UnknownChoiceError("algorithm", name, cube.algorithms)
