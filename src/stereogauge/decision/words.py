"""The words in which answers and explanations are written."""

from __future__ import annotations

from collections.abc import Sequence

from stereogauge.masks.declaration import declared_regions
from stereogauge.metrics.declaration import parse_column
from stereogauge.protocol.parameters import EITHER_UNIT
from stereogauge.ranking.profile import lower_first
from stereogauge.tables.number import number_text

MOST_NAMED = 4


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """Names as a person lists them.

    >>> listed(["A"]), listed(["A", "B"]), listed(["A", "B", "C"]), listed(list("ABCDEF"), 3)
    ('A', 'A and B', 'A, B and C', 'A, B, C and 3 others')
    """
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def percent(share: float) -> str:
    """A share as a percentage that never claims more than it is: 0 % and 100 % only where they are exact.

    >>> [percent(share) for share in (0.0, 0.002, 0.864, 0.998, 1.0)]
    ['0 %', 'less than 1 %', '86 %', 'more than 99 %', '100 %']
    """
    if 0 < share < 0.01:
        return "less than 1 %"
    if 0.99 < share < 1:
        return "more than 99 %"
    return f"{100 * share:.0f} %"


def counted(amount: int, noun: str) -> str:
    """A number with its noun: `1 scene`, `4 scenes`."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def metric_words(term: str) -> str:
    """A metric or column in words, its id in brackets: `foreground fattening (d-fat)`.

    >>> metric_words("d-fat"), metric_words("bad@4:nonocc")
    ('foreground fattening (d-fat)', 'bad pixels, not occluded (bad@4:nonocc)')
    """
    bound, region = parse_column(term)
    name = lower_first(bound.metric.name)
    declared = declared_regions().get(region) if region else None
    where = "" if declared is None or bound.metric.region else f", {lower_first(declared.name)}"
    return f"{name}{where} ({term})"


def score_text(term: str, value: float, depth_unit: str = EITHER_UNIT) -> str:
    """A score with its unit, where depth errors have `depth_unit`."""
    unit = parse_column(term)[0].metric.unit.replace(EITHER_UNIT, depth_unit)
    return f"{number_text(value)} {unit}".strip()


def times(now: float, then: float) -> str:
    """How a weight would have to change: `three times its weight`, `half its weight`, or `12 % instead of 30 %`.

    >>> times(0.1, 0.2), times(0.1, 0.3), times(0.2, 0.1), times(0.1, 0.13)
    ('twice its weight', 'three times its weight', 'half its weight', '13 % instead of 10 %')
    """
    ratio = then / now if now > 0 else 0.0
    for known, text in ((2.0, "twice"), (3.0, "three times"), (4.0, "four times"), (0.5, "half")):
        if abs(ratio - known) < 0.07 * known:
            return f"{text} its weight"
    return f"{100 * then:.0f} % instead of {100 * now:.0f} %"
