"""What a visitor asks about: the same parameters in every call, checked against what there is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import Depends, Query

from stereogauge.errors import StereogaugeError, UnknownNameError, unknown_name
from stereogauge.metrics.declaration import parse_column
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.selection import MissingRule
from stereogauge.web.source import ProtocolRecord, ScoreSource

Names = tuple[str, ...] | None
NO_SCORES = "There are no scores yet; `stereogauge evaluate DATASET:ROOT RESULTS --store STORE` makes some."


class UnknownChoiceError(UnknownNameError):
    """A name that does not exist here, with those that do."""

    def __init__(self, kind: str, name: str, allowed: Iterable[str]) -> None:
        self.allowed = sorted(allowed)
        super().__init__(str(unknown_name(kind, name, self.allowed)))


@dataclass(frozen=True)
class Asked:
    """A selection; None means everything. `submission` adds an unpublished submission of the asker's own."""

    scenes: Names = None
    regions: Names = None
    metrics: Names = None
    algorithms: Names = None
    protocol: str | None = None
    aggregation: Literal["mean", "pooled", "weighted"] = "mean"
    missing: MissingRule = "drop-algorithm"
    submission: str | None = None


async def asked(
    scenes: Annotated[list[str] | None, Query(description="Scenes; repeat the parameter. Default: all.")] = None,
    regions: Annotated[list[str] | None, Query(description="Regions such as nonocc. Default: all.")] = None,
    metrics: Annotated[list[str] | None, Query(description="Metrics, bad@1 or bad@1:nonocc. Default: all.")] = None,
    algorithms: Annotated[list[str] | None, Query(description="Algorithms. Default: all.")] = None,
    protocol: Annotated[
        str | None, Query(description="Name or scoring hash of a protocol. Default: the first.")
    ] = None,
    aggregation: Annotated[
        Literal["mean", "pooled", "weighted"], Query(description="How scenes become one number.")
    ] = "mean",
    missing: Annotated[MissingRule, Query(description="What a missing cell does to a ranking.")] = "drop-algorithm",
    submission: Annotated[
        str | None, Query(description="An unpublished submission of one's own to show with the others.")
    ] = None,
) -> Asked:
    """The selection of a request."""
    return Asked(
        scenes=_unique(scenes),
        regions=_unique(regions),
        metrics=_unique(metrics),
        algorithms=_unique(algorithms),
        protocol=protocol,
        aggregation=aggregation,
        missing=missing,
        submission=submission,
    )


def _unique(names: list[str] | None) -> Names:
    return None if names is None else tuple(dict.fromkeys(names))


Selected = Annotated[Asked, Depends(asked)]


def protocol_record(source: ScoreSource, name: str | None) -> ProtocolRecord:
    """The protocol that a name or scoring hash means; the first one when nothing was asked for."""
    records = source.protocols()
    if not records:
        raise StereogaugeError(NO_SCORES)
    if name is None:
        return records[0]
    for record in records:
        if name in record.names:
            return record
    raise UnknownChoiceError("protocol", name, {name for record in records for name in record.names})


def check_names(cube: ScoreCube, wanted: Asked) -> None:
    """Refuse names that the scores do not have, saying which they do."""
    for kind, names, known in (
        ("scene", wanted.scenes, cube.scenes),
        ("region", wanted.regions, cube.regions),
        ("algorithm", wanted.algorithms, cube.algorithms),
    ):
        for name in names or ():
            if name not in known:
                raise UnknownChoiceError(kind, name, known)
    columns = set(cube.columns)
    for text in wanted.metrics or ():
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
    """The index of one column, written `bad@1:nonocc` or `d-fat`."""
    check_names(cube, Asked(metrics=(text,)))
    return cube.column(text)


def only_values(cube: ScoreCube) -> ScoreCube:
    """The same scores without sums and counts: models read values alone, and cutting the rest costs most."""
    return replace(cube, sums=None, counts=None, missing=None)


def part(cube: ScoreCube, wanted: Asked) -> ScoreCube:
    """The scores that were asked for; the cube itself where everything was."""
    if wanted.scenes is wanted.regions is wanted.metrics is wanted.algorithms is None:
        return cube
    return cube.select(
        scenes=wanted.scenes, metrics=wanted.metrics, regions=wanted.regions, algorithms=wanted.algorithms
    )
