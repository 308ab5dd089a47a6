"""The sentence of an answer to requirements."""

from __future__ import annotations

from collections.abc import Sequence

from stereogauge.decision.fulfilment import Fulfilment
from stereogauge.decision.result import Answer
from stereogauge.decision.words import counted, listed, percent

SURE = 0.95
"""Share of the draws of scenes in which a winner must meet the requirements."""
LEAST_SCENES = 2


def requirements_sentence(
    held: Fulfilment, lacking: Sequence[str], scenes: int, weighed: Answer | None = None
) -> tuple[str, str | None]:
    """Who meets the requirements in words, and the winner where there is exactly one that does so surely.

    `lacking` are the requirements that are not measured; `weighed` orders those that meet the others.
    """
    if not held.reachable:
        impossible = next(line for line in held.geometry if line.startswith("No algorithm"))
        return f"For {held.name}: {impossible[0].lower()}{impossible[1:]}", None
    if not held.requirements:
        return f"For {held.name}, nothing is required of an algorithm: state a tolerance, an object or a time.", None
    if not held.measured.any():
        return (
            f"For {held.name}, nothing of what is required is measured in these scores: {listed(list(lacking))}.",
            None,
        )
    rest = f" Not measured, so not checked: {listed(list(lacking))}." if lacking else ""
    meeting = held.fulfilling
    if not meeting:
        return f"For {held.name}, no algorithm meets every requirement; {_nearest(held)}.{rest}", None
    if weighed is not None and not lacking:
        return f"{listed(list(meeting))} meet every requirement. {weighed.sentence}", weighed.winner
    if weighed is not None:
        return (
            f"{listed(list(meeting))} meet every requirement that is measured, and {weighed.leader} has the best score "
            f"among them, which is no answer yet.{rest}",
            None,
        )
    if len(meeting) > 1:
        return (
            f"For {held.name}, {listed(list(meeting))} meet every requirement{_measured(lacking)}; {meeting[0]} keeps "
            f"the largest distance from the limits{_margin(held, meeting[0])}. Weights would choose among them.{rest}",
            None,
        )
    return _only_one(held, meeting[0], lacking, scenes, rest)


def _only_one(held: Fulfilment, name: str, lacking: Sequence[str], scenes: int, rest: str) -> tuple[str, str | None]:
    certainty = float(held.certainty[held.algorithms.index(name)])
    alone = len(held.algorithms) == 1
    if lacking or certainty < SURE or scenes < LEAST_SCENES:
        doubt = (
            ""
            if certainty >= SURE
            else f", but in only {percent(certainty)} of the draws of as many scenes, so other scenes may say otherwise"
        )
        if scenes < LEAST_SCENES:
            doubt = ", on the only scene, which tells little about others"
        only = "" if alone else "only "
        return f"For {held.name}, {only}{name} meets every requirement{_measured(lacking)}{doubt}.{rest}", None
    others = "" if alone else ": it is the only one that meets every requirement"
    return (
        f"For {held.name}, take {name}{others}{_margin(held, name)}, in {percent(certainty)} of the draws of "
        f"{counted(scenes, 'scene')}.",
        name,
    )


def _measured(lacking: Sequence[str]) -> str:
    return " that is measured" if lacking else ""


def _margin(held: Fulfilment, name: str) -> str:
    return f" (at least {percent(float(held.smallest_margin[held.algorithms.index(name)]))} below each)"


def _nearest(held: Fulfilment) -> str:
    """Who fails on the least, and on what."""
    by_number = sorted(
        held.algorithms, key=lambda name: (len(held.failures(name)), -held.smallest_margin[held.algorithms.index(name)])
    )
    measured = {one.words for one, known in zip(held.requirements, held.measured, strict=True) if known}
    missed = [text for text in held.failures(by_number[0]) if not text.endswith("is not measured")]
    missed = [text for text in missed if any(text.startswith(words) for words in measured)]
    return f"{by_number[0]} comes nearest: its {'; its '.join(missed)}" if missed else f"{by_number[0]} comes nearest"
