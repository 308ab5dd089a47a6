"""Protocols that share their scores, since they make the same choices for every score, and aggregate them differently.

KITTI 2012 and 2015 fill holes and read masks alike, so their scores are kept under one scoring hash; 2012 takes means
of images, 2015 pools pixels. Asked by name, each means its own columns on the datasets that were evaluated under it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from stereogauge.metrics.declaration import is_declared
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.scores.column import Column, columns_of
from stereogauge.store import names, schema


class Share(NamedTuple):
    """What a protocol leaves to the others of its scoring: their columns, and the scenes of their datasets."""

    columns: frozenset[Column] = frozenset()
    scenes: frozenset[int] = frozenset()


def others_share(connection: Connection, scoring: int, wanted: str) -> Share:
    """What belongs to other protocols of a scoring when one of them is asked for by its name or hash.

    Protocols that aggregate alike stand together. A dataset belongs to those that know most of the columns of one of
    its evaluations; a column that no protocol names belongs to all.
    """
    table = schema.protocols
    rows = connection.execute(sql.select(table.c.name, table.c.hash, table.c.text).where(table.c.scoring_id == scoring))
    columns: dict[str, set[Column]] = {}
    asked = ""
    for name, own, text in rows:
        protocol = parse_protocol(text, "the store")
        way = aggregation_key(protocol)
        columns.setdefault(way, set()).update(protocol_columns(protocol))
        asked = way if wanted in (name, own) else asked
    if not asked or len(columns) < 2:
        return Share()
    foreign = frozenset().union(*(own for way, own in columns.items() if way != asked)) - columns[asked]
    scores, scenes = schema.scores, schema.scenes
    query = (
        sql.select(scenes.c.id, scenes.c.dataset_id, scores.c.column_set_id)
        .join(scores, scores.c.scene_id == scenes.c.id)
        .where(scores.c.scoring_id == scoring)
        .distinct()
    )
    sets = names.known_column_sets(connection)
    found = connection.execute(query).all()
    mine = {dataset for _, dataset, number in found if asked in _nearest(columns, (one.column for one in sets[number]))}
    return Share(foreign, frozenset(scene for scene, dataset, _ in found if dataset not in mine))


def aggregation_key(protocol: Protocol) -> str:
    """How a protocol aggregates over scenes, as text."""
    return repr((protocol.aggregation, sorted(protocol.scene_weights.items())))


def protocol_columns(protocol: Protocol) -> frozenset[Column]:
    """The columns that a protocol asks for, without metrics whose plug-in is not loaded."""
    return frozenset(columns_of(filter(is_declared, protocol.metrics), protocol.regions))


def best_fitting(candidates: Iterable[Protocol], columns: Iterable[Column]) -> Protocol | None:
    """The protocol that asks for most of these columns; of several the first that asks for little else."""
    present = frozenset(columns)

    def fit(protocol: Protocol) -> tuple[int, int]:
        asked = protocol_columns(protocol)
        return len(asked & present), -len(asked - present)

    return max(candidates, key=fit, default=None)


def _nearest(columns: dict[str, set[Column]], present: Iterable[Column]) -> list[str]:
    """The ways to aggregate whose columns cover these best."""
    wanted = frozenset(present)
    covered = {way: len(own & wanted) for way, own in columns.items()}
    return [way for way, count in covered.items() if count == max(covered.values())]
