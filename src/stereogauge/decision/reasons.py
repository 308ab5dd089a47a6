"""An explanation in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from stereogauge.decision.divided import UNDIVIDED
from stereogauge.decision.words import listed, percent, score_text
from stereogauge.protocol.parameters import EITHER_UNIT
from stereogauge.tables.number import number_text

if TYPE_CHECKING:
    from stereogauge.decision.explanation import Explanation, Piece, Reason

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
