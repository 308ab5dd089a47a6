"""Scenes whose ground truth stays on the server, and how much of it scores and pictures may tell.

A score with all its digits answers a question about single pixels of the hidden map: a submitter of two maps that
differ in one pixel reads its true disparity from the difference. So the scores of hidden scenes are rounded to what
their number of pixels supports, scores that cover few pixels are withheld, and the estimates of others are shown
coarsely. docs/guide/hosting.md states what a number of submissions can learn at most; `most_bits` computes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.scores.cube import NOT_KEPT, ScoreCube, Values
from stereogauge.scores.score import ARRAYS
from stereogauge.tables.score_table import lacking

Shown = Literal["scores", "blocks"]
FEWEST_DIGITS, MOST_DIGITS = 2, 4
LARGEST = 1e6
"""Larger scores of hidden scenes are shown as this."""
DECADES = 6
"""From 1 to LARGEST."""
LEAST_COVERED = 0.5
"""The share of its pixels that a score of a hidden scene must cover: that of a few chosen pixels tells their truth."""
NUMBERS_PER_COLUMN = 4
"""Value, sum, pixels and missing pixels."""
KINDS_OF_FINDINGS = 16
"""Kinds of findings, at most one per map, that validation can name on a hidden scene."""
COARSE_SIDE = 8
COARSE_STEP = 0.5
"""px; estimates on hidden scenes are shown as means of squares of COARSE_SIDE pixels, in steps of this."""


class Hidden:
    """The hidden scenes, by patterns such as `kitti-2015/*` or `Adirondack`.

    `shows` is what the host allows beyond means over all hidden scenes: their "scores" one by one, and pictures of the
    error in "blocks".
    """

    def __init__(self, patterns: Iterable[str] = (), shows: Iterable[Shown] = ()) -> None:
        self.patterns = tuple(patterns)
        self.shows = frozenset(shows)

    def __call__(self, scene: str, dataset: str = "") -> bool:
        """Whether the scene's ground truth is hidden."""
        name = scene.removeprefix(f"{dataset}/") if dataset else scene
        spellings = {scene, name, f"{dataset}/{name}"}
        return any(fnmatchcase(spelling, pattern) for spelling in spellings for pattern in self.patterns)

    def mask(self, cube: ScoreCube) -> NDArray[np.bool_]:
        """Which scenes of a cube are hidden."""
        return np.array([self(scene, dataset) for scene, dataset in zip(cube.scenes, cube.datasets, strict=True)], bool)

    def rounded(self, cube: ScoreCube) -> ScoreCube:
        """The scores as visitors and submitters may read them; see `supported`."""
        hidden = self.mask(cube)
        if not hidden.any():
            return cube
        parts = {name: getattr(cube, name).copy() for name in ARRAYS}
        for name, shown in _shown(**{name: whole[:, hidden] for name, whole in parts.items()}).items():
            parts[name][:, hidden] = shown
        few = np.zeros_like(parts["values"], bool)
        few[:, hidden] = cube.coverage[:, hidden] < LEAST_COVERED
        parts["values"][few] = np.nan
        return replace(cube, **parts)

    def scene_by_scene(self, cube: ScoreCube) -> ScoreCube:
        """The cube for views of single scenes: hidden ones have no score unless the host shows them."""
        hidden = self.mask(cube)
        if "scores" in self.shows or not hidden.any():
            return cube
        values = cube.values.copy()
        values[:, hidden] = np.nan
        void = np.zeros(values.shape[1:], bool) if cube.void is None else cube.void.copy()
        void[hidden] = True
        return replace(cube, values=values, sums=NOT_KEPT, counts=NOT_KEPT, missing=NOT_KEPT, void=void)

    def unseen(self, cube: ScoreCube) -> set[str]:
        """The scenes whose scores are not shown one by one."""
        if "scores" in self.shows:
            return set()
        return {scene for scene, own in zip(cube.scenes, self.mask(cube), strict=True) if own}

    def incomplete(self, cube: ScoreCube) -> set[str]:
        """The algorithms that lack some of the scenes whose scores are not shown one by one."""
        unseen = self.unseen(cube)
        return {name for scenes, names in lacking(cube).items() if unseen & set(scenes) for name in names}

    def splits(self, cube: ScoreCube, scenes: Iterable[str] | None) -> bool:
        """Whether a selection of scenes takes some hidden scenes without the others, which would tell them apart."""
        hidden = self.unseen(cube)
        chosen = hidden & set(scenes) if scenes is not None else hidden
        return bool(chosen) and chosen != hidden


def _shown(values: Values, sums: Values, counts: Values, missing: Values) -> dict[str, Values]:
    """Scores of hidden scenes as they may leave the server: no number tells more digits than the score itself.

    A sum is rounded as the mean that it makes, missing pixels as their share: both may be small where all others
    cancel, and would then tell single pixels.
    """
    rounded = supported(counts, counts)
    pixels = np.fmax(counts + missing, 1.0)
    return {
        "values": supported(values, counts),
        "sums": supported(sums / np.fmax(counts, 1.0), counts) * rounded,
        "counts": rounded,
        "missing": np.rint(supported(missing / pixels, pixels) * supported(pixels, pixels)),
    }


def supported(values: Values, counts: Values) -> Values:
    """Values rounded to the digits that their number of pixels n supports: log₁₀ √n of them, 2 to 4, and as many
    decimals at most.

    The mean over n independent pixels has a relative standard error of the order of 1/√n; digits beyond it tell nothing
    about the algorithm. Without the limit on decimals a signed error that nearly cancels would have them.

    >>> supported(np.array([0.123456, 12.3456, 0.0012]), np.array([1e4, 1e6, 1e4])).tolist()
    [0.12, 12.3, 0.0]
    """
    digits = np.clip(np.rint(np.log10(np.fmax(counts, 1.0)) / 2), FEWEST_DIGITS, MOST_DIGITS)
    size = np.abs(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = np.maximum(np.floor(np.log10(size)) + 1 - digits, -digits)
        up, down = 10.0 ** np.maximum(place, 0), 10.0 ** np.maximum(-place, 0)
        near = np.round(values * down / up) * up / down
    return np.where(size == 0, 0.0, np.clip(near, -LARGEST, LARGEST))


def coarse(disparity: NDArray[np.float32]) -> NDArray[np.float32]:
    """A map as others may see it on a hidden scene: means of squares, in steps, at the size of the map."""
    height, width = disparity.shape
    side = COARSE_SIDE
    padded = np.full((-(-height // side) * side, -(-width // side) * side), np.nan, np.float32)
    padded[:height, :width] = disparity
    blocks = padded.reshape(padded.shape[0] // side, side, padded.shape[1] // side, side)
    known = np.isfinite(blocks)
    count = known.sum(axis=(1, 3))
    means = np.full(count.shape, np.nan, np.float32)
    np.divide(np.where(known, blocks, 0).sum(axis=(1, 3)), count, out=means, where=2 * count >= side)
    stepped = np.round(means / COARSE_STEP) * COARSE_STEP
    return np.asarray(np.repeat(np.repeat(stepped, side, 0), side, 1)[:height, :width], np.float32)


def most_bits(submissions: int, columns: int, scenes: int, digits: int = MOST_DIGITS) -> float:
    """What this many submissions can learn at most about the ground truth of all hidden scenes together, in bits.

    Every number that leaves the server is computed from value, sum, pixels and missing pixels of each column on each
    hidden scene, each one of 2 · (10^digits + 6 · 9·10^(digits − 1)) + 1 possible numbers (sign; below 1 as many
    decimals, above it six decades of as many digits) or none, and from at most one of 16 findings per scene:

        bits = N · scenes · (4 · columns · log₂(128·10^(digits − 1) + 2) + 4)
    """
    numbers = 2 * (10**digits + DECADES * 9 * 10 ** (digits - 1)) + 2
    per_scene = NUMBERS_PER_COLUMN * columns * math.log2(numbers) + math.log2(KINDS_OF_FINDINGS)
    return submissions * scenes * per_scene
