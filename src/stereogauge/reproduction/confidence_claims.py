"""The statements of Haeusler and Klette about frames, each read at the density that it names.

The page on confidence and the page on reproduction take their verdicts from here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from stereogauge.confidence_measures.paper import PAPER as MEASURES
from stereogauge.reproduction.frames import PATH_MEAN, READINGS, SECOND_COST, Frame, singles

DENSE, SPARSE = 0.95, 0.5
ON_A_PAR = 0.10
GOOD = "share of good pixels"


class Claim(NamedTuple):
    """A statement about frames, where it is read off, and of how many the paper says it: `all`, `most` or `some`."""

    what: str
    read_at: str
    printed: str
    quantifier: Literal["all", "most", "some"]
    holds: Callable[[Frame], bool]

    def counted(self, frames: Sequence[Frame]) -> str:
        """Of how many frames it holds."""
        return f"{sum(self.holds(frame) for frame in frames)} of {len(frames)}"

    def verdict(self, frames: Sequence[Frame]) -> str:
        """Whether it holds of as many frames as it says."""
        number, total = sum(self.holds(frame) for frame in frames), len(frames)
        needed = {"all": total, "most": total // 2 + 1, "some": 1}[self.quantifier]
        return "holds" if number >= needed else "does not hold"


class Figure(NamedTuple):
    """A number of a set of frames that a statement is about, as text."""

    what: str
    read_at: str
    printed: str
    value: Callable[[Sequence[Frame]], str]


def _others(entropy: str) -> tuple[str, ...]:
    return singles(entropy)[1:]


CLAIMS: tuple[Claim, ...] = (
    *(
        Claim(
            f"Γ0 is the worst single measure, Γ3 {reading}",
            GOOD,
            "in general",
            "most",
            lambda f, e=entropy: f.worst(singles(e)) == "curvature",  # type: ignore[misc]
        )
        for entropy, reading in READINGS.items()
    ),
    *(
        Claim(
            f"of Γ1 … Γ4, the entropy Γ3 is the worst, {reading}",
            GOOD,
            "most often",
            "most",
            lambda f, e=entropy: f.worst(_others(e)) == e,  # type: ignore[misc]
        )
        for entropy, reading in READINGS.items()
    ),
    Claim(
        "Γ4 is the best single measure at high density",
        "95 % density",
        "abstract",
        "most",
        lambda f: f.best(density=DENSE) == "lr-difference",
    ),
    Claim(
        "Γ4 does not help at high sparsification: it leaves more bad pixels than Γ1, Γ2 and Γ3",
        "half density",
        "in all frames",
        "all",
        lambda f: f.worst(MEASURES[1:], SPARSE) == "lr-difference",
    ),
    Claim(
        "Γ4 tells good from bad pixels less well than Γ1 does, by ROC area",
        "pixels with Γ4 < 1",
        "especially not if Γ4 < 1",
        "all",
        lambda f: f.inside["lr-difference"] < f.inside["perturbation"],
    ),
    Claim(
        "Γ leaves fewer bad pixels than every single measure",
        GOOD,
        "for most frames",
        "most",
        lambda f: f.left("product") < f.left(f.best()),
    ),
    Claim(
        "Γ has a smaller area than every single measure",
        "70 … 95 % density",
        "for most frames",
        "most",
        lambda f: f.product.range_mean < min(f.curve(measure).range_mean for measure in MEASURES),
    ),
    Claim(
        f"Γ4 can be on a par with Γ (within {100 * ON_A_PAR:.0f} %)",
        GOOD,
        "can be",
        "some",
        lambda f: f.left("lr-difference") <= (1 + ON_A_PAR) * f.left("product"),
    ),
    Claim(
        "the second smallest cost yields a measure more like curvature than the second minimum does (rank correlation)",
        "domain",
        "similar to parabola curvature",
        "all",
        lambda f: f.rank_correlation["curvature", SECOND_COST] > f.rank_correlation["curvature", "peak-ratio"],
    ),
    Claim(
        "sub-pixel disparities lock to whole numbers: more of them than of the true ones lie within 1/8 px of one",
        "domain",
        "so-called pixel locking",
        "all",
        lambda f: f.locked[0] > f.locked[1],
    ),
)


def _range(values: Sequence[float], digits: int = 2) -> str:
    return f"{min(values):.{digits}f} … {max(values):.{digits}f}"


def _within(share: float) -> Callable[[Sequence[Frame]], str]:
    def counted(frames: Sequence[Frame]) -> str:
        number = sum(frame.spread(MEASURES[1:], DENSE) <= share for frame in frames)
        return f"{number} of {len(frames)}"

    return counted


FIGURES: tuple[Figure, ...] = (
    Figure("Γ1 … Γ4 within 10 % of each other, T = P2", "95 % density", "almost on a par", _within(0.10)),
    Figure("Γ1 … Γ4 within 15 % of each other, T = P2", "95 % density", "almost on a par", _within(0.15)),
    Figure(
        "spread of Γ1 … Γ4, T = P2: how much more the worst leaves",
        "95 % density",
        "almost on a par",
        lambda frames: _range([frame.spread(MEASURES[1:], DENSE) for frame in frames]),
    ),
    Figure(
        "spread of Γ1 … Γ4, T = 8",
        "95 % density",
        "almost on a par",
        lambda frames: _range([frame.spread(_others(PATH_MEAN), DENSE) for frame in frames]),
    ),
    Figure(
        "bad pixels that Γ leaves, relative to the best single measure",
        GOOD,
        "outperforms",
        lambda frames: _range([frame.left("product") / frame.left(frame.best()) for frame in frames]),
    ),
    Figure(
        "ROC area of Γ4 where Γ4 < 1",
        "pixels with Γ4 < 1",
        "not helpful",
        lambda frames: _range([frame.inside["lr-difference"] for frame in frames]),
    ),
    Figure(
        "ROC area of Γ1 there",
        "pixels with Γ4 < 1",
        "–",
        lambda frames: _range([frame.inside["perturbation"] for frame in frames]),
    ),
    Figure(
        "median of s / Γ: bad pixels that every measure keeps, relative to what Γ leaves",
        GOOD,
        "half",
        lambda frames: f"{np.median([frame.bound / frame.left('product') for frame in frames]):.2f}",
    ),
    Figure(
        "rank correlation of Γ0 with Γ2 (second minimum)",
        "domain",
        "–",
        lambda frames: _range([frame.rank_correlation["curvature", "peak-ratio"] for frame in frames]),
    ),
    Figure(
        "rank correlation of Γ0 with the second smallest cost",
        "domain",
        "similar",
        lambda frames: _range([frame.rank_correlation["curvature", SECOND_COST] for frame in frames]),
    ),
    Figure(
        "estimates within 1/8 px of a whole disparity, 25 % if even",
        "domain",
        "pixel locking",
        lambda frames: _range([frame.locked[0] for frame in frames]),
    ),
    Figure(
        "pixels without ground truth that fail the left-right check, relative to those with it",
        "below the highest true disparity",
        "absent where challenging",
        lambda frames: _range([frame.failing[1] / frame.failing[0] for frame in frames if frame.failing[0] > 0]),
    ),
)
