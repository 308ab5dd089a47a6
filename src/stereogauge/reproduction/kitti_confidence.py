"""R. Haeusler, R. Klette, "Analysis of KITTI data for stereo analysis with stereo confidence measures", 2012.

ECCV workshops. Reproduced on the paper's nine frames with our census SGM at its penalties. Its plots carry no numbers,
so its statements are checked one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from stereogauge.confidence.measures import PAPER as MEASURES
from stereogauge.reproduction.declaration import Paper, Recorder, Table
from stereogauge.reproduction.material import FEW_ERRORS, Frame, Material

NAMES = dict(zip((*MEASURES, "product"), ("Γ0", "Γ1", "Γ2", "Γ3", "Γ4", "Γ"), strict=True))
OURS = "the paper's own nine frames, our census SGM (P1 = 20, P2 = 100, 128 disparities); theirs is not published"
PAPER = Paper(
    "kitti-confidence-measures",
    "Haeusler, Klette: Analysis of KITTI data for stereo analysis with stereo confidence measures (2012)",
    OURS,
)
PAIRS = "two Middlebury pairs, error > 1 px"
SPARSE = 0.5
ON_A_PAR = 0.10
USELESS = 0.10


@PAPER.item("figure 1", "The nine frames and their errors")
def figure_1(record: Recorder, material: Material) -> None:
    """Disparity maps of the frames and where ground truth is."""
    for number, frame in material.kitti_frames.items():
        record.other_data(f"frame {number}: bad pixels in the domain, %", 100 * (1 - frame.good_share), "picture")
    few = sorted(material.kitti_frames, key=lambda number: 1 - material.kitti_frames[number].good_share)[:2]
    verdict = "yes" if set(few) == set(FEW_ERRORS) else f"no: {few[0]} and {few[1]} have"
    record.other_data("frames 8 and 128 have the fewest errors", verdict, "yes")
    frame = material.kitti_frames[87]
    record.other_data("frame 87: bad pixels, %", 100 * (1 - frame.good_share), 20.0, f"“20 percent bad pixels”; {OURS}")


@PAPER.item("figures 2 and 3", "Sparsification of nine frames")
def figures_2_and_3(record: Recorder, material: Material) -> None:
    """Remaining bad pixels by measure at the density of good ones."""
    frames = material.kitti_frames.values()
    record.other_data("remaining bad pixels against density, nine frames", "table below", "plots")
    record.other_data("the same on Middlebury pairs", "table below", None, PAIRS)
    low, high = min(f.good_share for f in frames), max(f.good_share for f in frames)
    record.other_data("share of good pixels, %", f"{100 * low:.0f} … {100 * high:.0f}", "70 … 95")
    tables = [
        _table("Bad pixels (> 3 px) left at the share of good pixels, KITTI 2012", frames),
        _table("Bad pixels (> 1 px) left at the share of good pixels, Middlebury v2", material.middlebury_frames),
    ]
    record.add(tables)


def _table(title: str, frames: Iterable[Frame]) -> Table:
    headings = ("pair", "bad pixels", "good share, %", *NAMES.values(), "bound s")
    cells = tuple(
        (
            frame.name,
            frame.bad,
            round(100 * frame.good_share, 1),
            *(round(frame.left(measure)) for measure in NAMES),
            round(frame.bound),
        )
        for frame in frames
    )
    return Table(title, headings, cells)


def _alike(frame: Frame) -> bool:
    """Γ1 … Γ4 within a tenth of each other at 95 % density."""
    left = [frame.left(measure, 0.95) for measure in MEASURES[1:]]
    return max(left) <= (1 + ON_A_PAR) * min(left)


class Claim(NamedTuple):
    """A statement about frames, and of how many the paper says it: `all`, `most` or `some`."""

    what: str
    printed: str
    quantifier: Literal["all", "most", "some"]
    holds: Callable[[Frame], bool]

    def verdict(self, frames: Iterable[Frame]) -> str:
        """Whether it holds of as many frames as it says, and of how many it does."""
        verdicts = [self.holds(frame) for frame in frames]
        number, total = sum(verdicts), len(verdicts)
        needed = {"all": total, "most": total // 2 + 1, "some": 1}[self.quantifier]
        return f"{_verdict(number >= needed)}: {number} of {total}"


CLAIMS = (
    Claim("Γ0 is the worst single measure", "in general", "most", lambda f: f.worst() == "curvature"),
    Claim(
        f"Γ1 … Γ4 are on a par (within {100 * ON_A_PAR:.0f} %) where few pixels are removed (density 95 %)",
        "almost",
        "most",
        _alike,
    ),
    Claim(
        "of Γ1 … Γ4, the entropy Γ3 is the worst", "most often", "most", lambda f: f.worst(MEASURES[1:]) == "entropy"
    ),
    Claim(
        "Γ4 does not help at high sparsification: at half density it leaves more bad pixels than Γ1, Γ2 and Γ3",
        "in all frames",
        "all",
        lambda f: f.worst(MEASURES[1:], SPARSE) == "lr-difference",
    ),
    Claim(
        "Γ leaves fewer bad pixels than every single measure at the share of good pixels",
        "for most frames",
        "most",
        lambda f: f.left("product") < f.left(f.best()),
    ),
    Claim(
        f"Γ4 can be on a par with Γ there (within {100 * ON_A_PAR:.0f} %)",
        "can be",
        "some",
        lambda f: f.left("lr-difference") <= (1 + ON_A_PAR) * f.left("product"),
    ),
    Claim(
        "Γ4 is the best single measure at high density (at the share of good pixels)",
        "abstract",
        "most",
        lambda f: f.best() == "lr-difference",
    ),
)


def _verdict(holds: bool) -> str:
    return "holds" if holds else "does not hold"


@PAPER.item("section 4", "The statements, one by one")
def claims(record: Recorder, material: Material) -> None:
    """Section 4, statement by statement."""
    frames = material.kitti_frames
    for claim in CLAIMS:
        record.other_data(claim.what, f"{claim.verdict(frames.values())} frames", claim.printed)
        record.other_data(
            f"{claim.what} (Middlebury)", f"{claim.verdict(material.middlebury_frames)} pairs", None, PAIRS
        )
    gains = {number: frame.gain("curvature") for number, frame in frames.items()}
    record.other_data(
        "frame 43: Γ0 is almost a random order (gain over random at the good share)",
        f"{_verdict(gains[43] < USELESS)}: {gains[43]:.2f}",
        "straight line",
    )
    best = sorted(gains, key=lambda number: -gains[number])[:2]
    shown = ", ".join(f"{number}: {gains[number]:.2f}" for number in sorted({*best, 8, 122}))
    record.other_data(
        "Γ0 is useful on frames 8 and 122 (its two largest gains over random)",
        f"{_verdict(set(best) == {8, 122})}: {shown}",
        "yes",
    )
    ratios = sorted(frame.bound / frame.left("product") for frame in frames.values())
    middle = ratios[len(ratios) // 2]
    record.other_data(
        "the bound s leaves half of what Γ leaves (median over the frames)",
        middle,
        0.5,
        f"{OURS}; from {ratios[0]:.2f} to {ratios[-1]:.2f}",
    )
