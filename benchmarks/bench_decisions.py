"""How often answers name an algorithm, and how often it is the right one: `python -m benchmarks decisions`.

Generated stores: score = mean of the algorithm × difficulty of the scene × noise, so the best algorithm is known. Real
stores: the answer on half of the independent scenes, compared with the scores on the other half, for many splits.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import stereogauge as sg
from benchmarks.real_scores import read, real_store
from benchmarks.report import Report
from stereogauge.ranking.profile import shipped_profiles
from stereogauge.scores.column import Column
from stereogauge.scores.cube import ScoreCube

Values = NDArray[np.float64]
TOLERANCE = 0.05
REPEATS = 1000
MANY = 20
"""From so many algorithms on, a fifth of the repeats."""
SPLITS = 40
BASE = 10.0
"""bad@1 in per cent of an average algorithm on an average scene."""


@dataclass
class Tally:
    """What became of the answers of one case."""

    runs: int = 0
    named: int = 0
    best: int = 0
    within: int = 0
    covered: list[float] = field(default_factory=list)
    set_size: list[float] = field(default_factory=list)
    set_holds: int = 0

    def add(self, found: sg.Answer, means: Values, names: tuple[str, ...]) -> None:
        """Count one answer; `means` are the true scores of the algorithms."""
        true = dict(zip(names, means.tolist(), strict=True))
        least = min(true.values())
        good = {name for name, mean in true.items() if mean <= (1 + TOLERANCE) * least}
        self.runs += 1
        if found.winner is not None:
            self.named += 1
            self.best += true[found.winner] == least
            self.within += found.winner in good
        kept = {found.winner} if found.winner is not None else {found.leader, *found.rivals}
        self.set_size.append(len(kept))
        self.set_holds += bool(kept & good)
        for place in found.places:
            mean = true[place.algorithm]
            low = 1 + sum(other < mean for other in true.values())
            high = sum(other <= mean for other in true.values())
            self.covered.append(float(place.rank_low <= high and low <= place.rank_high))

    @property
    def line(self) -> str:
        """The row of the table."""
        wrong = 100 * (self.named - self.within) / self.runs
        best = 100 * self.best / max(1, self.named)
        named, covered = 100 * self.named / self.runs, 100 * np.mean(self.covered)
        shares = f"{named:7.0f} | {best:6.0f} | {wrong:7.1f} | {covered:14.0f}"
        return f"{shares} | {np.mean(self.set_size):4.1f} | {100 * self.set_holds / self.runs:11.0f}"


HEADER = "named % | best % | wrong % | rank covered % |  set | set holds %"


@dataclass(frozen=True)
class Case:
    """A kind of generated store: `means` draws the true scores, `noise` what a scene makes of them."""

    name: str
    algorithms: int
    scenes: int
    means: Callable[[np.random.Generator, int], Values]
    noise: float = 0.25
    skewed: bool = False
    twins: bool = False
    failures: float = 0.0

    def stores(self, repeats: int) -> Iterator[tuple[ScoreCube, Values]]:
        """Score cubes with the true scores of their algorithms."""
        for seed in range(repeats):
            random = np.random.default_rng(seed)
            means = self.means(random, self.algorithms)
            shape = (self.algorithms, self.scenes)
            difficulty = np.exp(random.normal(0, 0.4, self.scenes))
            if self.skewed:
                factor = random.gamma(1 / self.noise**2 / 4, 4 * self.noise**2, shape)
            else:
                factor = 1 + self.noise * np.clip(random.normal(size=shape), -3, 3)
            if self.twins:
                factor[1] = factor[0] * (1 + 0.02 * random.normal(size=self.scenes))
            values = means[:, None] * difficulty * factor
            if self.failures:
                fails = random.random(self.scenes) < self.failures
                values[0, fails] *= 8
                means = means * np.where(np.arange(self.algorithms) == 0, 1 + 7 * self.failures, 1.0)
            yield cube_of(values), means


def cube_of(values: Values) -> ScoreCube:
    """A cube of one column, in per cent of bad pixels."""
    return ScoreCube(
        tuple(f"a{place}" for place in range(len(values))),
        tuple(f"s{place}" for place in range(values.shape[1])),
        (Column("bad@1", "all"),),
        np.minimum(BASE * values, 100.0)[:, :, None],
    )


def random_means(random: np.random.Generator, count: int) -> Values:
    return np.exp(random.normal(0, 0.25, count))


def twin(random: np.random.Generator, count: int) -> Values:
    means = 1.6 + 0.4 * random.random(count)
    means[:2] = 1.0, 1.003
    return means


def behind(random: np.random.Generator, count: int) -> Values:
    return np.where(np.arange(count) == 0, 1.0, 1.051)


def one_ahead(random: np.random.Generator, count: int) -> Values:
    return np.where(np.arange(count) == 0, 1.0, 1.5)


def equal(random: np.random.Generator, count: int) -> Values:
    return np.ones(count)


CASES = (
    Case("random means", 5, 12, random_means),
    Case("random means", 20, 12, random_means),
    Case("random means", 60, 30, random_means),
    Case("random means, skewed", 5, 12, random_means, skewed=True),
    Case("best ahead by one SD", 20, 12, one_ahead),
    Case("a twin 0.3 % worse", 5, 12, twin, twins=True),
    Case("all equal", 5, 12, equal),
    Case("all others 5.1 % behind, skewed", 5, 12, behind, skewed=True),
    Case("a rival fails on 5 % of scenes", 5, 12, twin, noise=0.1, failures=0.05),
)


def simulated(case: Case, repeats: int = REPEATS) -> Tally:
    """The answers on generated stores."""
    tally = Tally()
    for cube, means in case.stores(repeats if case.algorithms < MANY else repeats // 5):
        tally.add(sg.answer(cube, weights={"bad@1": 1}, draws=1000), means, cube.algorithms)
    return tally


def halves(cube: ScoreCube, profile: str, splits: int = SPLITS) -> Tally:
    """The answers on half of the independent scenes, compared with the weighted scores on the other half."""
    tally = Tally()
    units = cube.unit_of
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(np.unique(units))
        first = np.isin(units, order[: -(-len(order) // 2)])
        asked, other = (cube.take(scenes=np.flatnonzero(part).tolist()) for part in (first, ~first))
        found = sg.answer(asked, profile=profile, completeness=0.0, draws=1000)
        later = sg.rank(other, "weighted", profile=profile)
        scores = dict(zip(later.algorithms, later.value.tolist(), strict=True))
        names = tuple(place.algorithm for place in found.places if place.algorithm in scores)
        tally.add(found, np.array([scores[name] for name in names]), names)
    return tally


def run(report: Report) -> None:
    """Print both tables."""
    report.say(f"{'generated store':48s} | {HEADER}")
    for case in CASES:
        name = f"{case.name}, {case.algorithms} × {case.scenes}"
        report.say(f"{name:48s} | {simulated(case).line}")
    with tempfile.TemporaryDirectory() as folder:
        cube = read(real_store(Path(folder) / "real.sqlite", invalid="fill", say=lambda _: None))
    for profile in shipped_profiles():
        report.say(f"{f'half of the real scenes, {profile}':48s} | {halves(cube, profile).line}")
