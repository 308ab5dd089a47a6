"""The words in which answers and explanations are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stereogauge.masks.declaration import declared_regions
from stereogauge.metrics.declaration import parse_column
from stereogauge.protocol.parameters import EITHER_UNIT
from stereogauge.ranking.profile import lower_first
from stereogauge.text import number_text

if TYPE_CHECKING:
    from stereogauge.decision.explain import Explanation, Piece, Reason

MOST_NAMED = 4
UNDIVIDED = "not divided"
"""What an explanation calls the part of a difference that cannot be attributed to a region."""


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


MOST_REASONS = 3
WORTH = 0.05
"""A term, scene or region is named where it makes at least this share of all amounts."""


def explanation_text(found: Explanation, depth_unit: str = EITHER_UNIT) -> str:
    """Who is better, what speaks for and against it, and on which scenes and regions the difference arises."""
    if found.better is None:
        return f"{found.purpose}, {found.first} and {found.second} have the same score, {found.scores[0]:.3f}."
    sign = 1.0 if found.better == found.second else -1.0
    other = found.second if found.better == found.first else found.first
    scores = dict(zip((found.first, found.second), found.scores, strict=True))
    lines = [
        f"{found.purpose}, {found.better} is better than {other}: its score is "
        f"{number_text(scores[found.better])} against {number_text(scores[other])}, and lower is better."
    ]
    order = sorted(found.terms, key=lambda reason: -sign * reason.amount)
    size = sum(abs(reason.amount) for reason in found.terms)
    good = [reason for reason in order if sign * reason.amount >= WORTH * size][:MOST_REASONS]
    bad = [reason for reason in reversed(order) if -sign * reason.amount >= WORTH * size][:MOST_REASONS]
    if good:
        lines.append(f"{found.better} is better at {_reasons(good, depth_unit, swapped=found.better == found.second)}.")
    if bad:
        lines.append(f"{other} is better at {_reasons(bad, depth_unit, swapped=other == found.second)}.")
    lines += _where(found, sign)
    return " ".join(lines)


def _reasons(reasons: Sequence[Reason], depth_unit: str, *, swapped: bool) -> str:
    """Terms with the scores of the better one first."""
    texts = []
    for reason in reasons:
        one, two = (reason.second, reason.first) if swapped else (reason.first, reason.second)
        known = not (math.isnan(one) or math.isnan(two))
        ours, theirs = (score_text(reason.term, value, depth_unit) for value in (one, two))
        texts.append(f"{reason.words}, {ours} against {theirs}" if known else reason.words)
    return "; ".join(texts)


def _where(found: Explanation, sign: float) -> list[str]:
    lines = []
    wins = sum(1 for piece in found.scenes if sign * piece.amount > 0)
    if len(found.scenes) > 1:
        lines.append(f"It is ahead on {wins} of {len(found.scenes)} scenes, most on {_largest(found.scenes, sign)}.")
    divided = [piece for piece in found.regions if piece.name != UNDIVIDED]
    ahead = [piece for piece in divided if sign * piece.amount > 0]
    whole = sum(abs(piece.amount) for piece in found.regions)
    rest = abs(found.regions[-1].amount)
    if ahead:
        lines.append(f"By region, most of its lead is from {_largest(ahead, sign)}.")
    if whole and rest / whole >= WORTH:
        lines.append(f"{percent(rest / whole)} of the difference is not divided by region.")
    return lines


def _largest(pieces: Sequence[Piece], sign: float, most: int = 2) -> str:
    order = sorted(pieces, key=lambda piece: -sign * piece.amount)
    kept = [piece.name for piece in order[:most] if sign * piece.amount > 0]
    return listed(kept) if kept else order[0].name
