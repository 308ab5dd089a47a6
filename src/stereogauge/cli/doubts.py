"""Doubts about the maps of a whole dataset, in few lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stereogauge.evaluation.worker import Doubt

MOST_LINES = 10


def doubt_lines(doubts: Iterable[Doubt]) -> list[str]:
    """One line per algorithm and kind of mistake, with the first sentence and how many scenes have it."""
    groups: dict[tuple[str, str], list[Doubt]] = {}
    for doubt in doubts:
        groups.setdefault((doubt.algorithm, doubt.kind), []).append(doubt)
    lines = []
    for (algorithm, _), found in groups.items():
        who = f"{algorithm} on {found[0].scene}" if algorithm else f"scene {found[0].scene}"
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        lines.append(f"{who}{more}: {found[0].sentence}")
    return lines[:MOST_LINES]
