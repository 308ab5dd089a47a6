"""What an answer cannot say, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from stereogauge.decision.sentence import Evidence
from stereogauge.decision.source import Source
from stereogauge.decision.weighing import Weighing
from stereogauge.decision.words import counted, listed
from stereogauge.ranking.models.weighted import deciding_terms
from stereogauge.scores.selection import Dropped


def unknown(found: Weighing, evidence: Evidence, source: Source) -> tuple[str, ...]:
    """Gaps, small numbers of scenes, terms that decide more than they should, and scales taken from the selection."""
    return (
        *_scenes(found, evidence),
        *_left_out(found.selection.dropped),
        *deciding_terms(tuple(found.terms), found.weights, found.effective),
        *_scales(found),
        *_datasets(source),
    )


def _scenes(found: Weighing, evidence: Evidence) -> Iterator[str]:
    count, asked = len(found.costs.scenes), found.selection.asked_scenes
    if count < asked:
        yield f"Compared on {count} of {asked} scenes, because not every algorithm has scores on the others."
    if evidence.too_few_scenes:
        yield (
            f"{counted(count, 'scene').capitalize()}: no difference can be significant below "
            f"{evidence.least_scenes} scenes."
        )


def _left_out(dropped: tuple[Dropped, ...]) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for what in dropped:
        if what.kind == "algorithm":
            alike.setdefault(what.reason, []).append(what.name)
    for reason, names in alike.items():
        yield f"{listed(names)} {'is' if len(names) == 1 else 'are'} not compared: {reason}."
    yield from (f"{what.name} {what.reason}." for what in dropped if what.kind == "score")
    columns = [what.name for what in dropped if what.kind == "column"]
    if columns:
        yield f"Nothing to compare in {listed(columns, 3)}."


def _scales(found: Weighing) -> Iterator[str]:
    own = [term for term, entry in found.terms.items() if "selection" in entry.origin]
    if own:
        yield (
            f"No usual range is known for {listed(own)}: the worst score here stands for 1, so other algorithms in the "
            "selection would change the weighing."
        )


def _datasets(source: Source) -> Iterator[str]:
    names = tuple(dict.fromkeys(name for name in source.cube.datasets if name))
    if len(names) == 1:
        yield f"All scenes are from {names[0]}: what happens on other kinds of scenes is not measured."
