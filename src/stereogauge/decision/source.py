"""What a decision starts from: scores with their origin, the purpose, and where values are needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from stereogauge.decision.verdict import compared_scores
from stereogauge.decision.words import Claim, render
from stereogauge.errors import StereogaugeError
from stereogauge.metrics.registry import parse_column
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.ranking.profile import Profile, composed_weights, load_profile, metric_words, stated_weights
from stereogauge.ranking.run import Scores
from stereogauge.ranking.weighted_score import WeightedScore, term_columns, unmeasurable, with_stand_ins
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.scope import EVERY_PIXEL, LEAST_COVERAGE
from stereogauge.scores.table import ScoreTable
from stereogauge.store import Store, open_store

DEFAULT = "balanced"
OWN = "own"


class Source(Struct, frozen=True, eq=False):
    """A cube, the protocol that made it where that is known, and the name of its store ("" where it has none)."""

    cube: ScoreCube
    protocol: Protocol | None = None
    store: str = ""

    def command(self, metrics: Iterable[str], regions: Iterable[str] = (), settings: str = "") -> str:
        """The command that computes these metrics into the store."""
        dataset = self.cube.datasets[0].partition(":")[0] if self.cube.datasets else ""
        protocol = f" --protocol {self.protocol.name}" if self.protocol is not None else ""
        named = f" --regions {','.join(regions)}" if tuple(regions) else ""
        changed = f" --set {settings}" if settings else ""
        return (
            f"stereogauge evaluate {dataset or 'DATASET'}:FOLDER RESULTS --store {self.store or 'STORE'}{protocol} "
            f"--metrics {','.join(metrics)}{named}{changed}"
        )


def read_scores(scores: Scores, completeness: float | str = LEAST_COVERAGE) -> Source:
    """The scores of a table, a cube, or a store at a path or URL; for every pixel, those of maps with filled holes."""
    if isinstance(scores, ScoreCube):
        return Source(scores)
    if isinstance(scores, ScoreTable):
        return Source(scores.cube, scores.protocol)
    with open_store(scores, read_only=True) as opened:
        cube = needed_cube(opened, completeness)
        return Source(
            cube, opened.protocol(cube.protocol, cube.columns) if cube.protocol else None, Path(opened.name).name
        )


def needed_cube(
    store: Store, need: float | str | None, *, dataset: str | None = None, protocol: str | None = None
) -> ScoreCube:
    """The scores of a store, or of one of its datasets; for every pixel, those of maps whose holes were filled."""
    if need != EVERY_PIXEL:
        return store.cube(dataset=dataset, protocol=protocol)
    for entry in store.protocols():
        named = protocol in (None, entry.name, entry.hash, entry.scoring_hash)
        if named and parse_protocol(entry.text, store.name).invalid == "fill":
            cube = store.cube(dataset=dataset, protocol=entry.hash)
            if cube.scenes:
                return cube
    raise StereogaugeError(
        f"{store.name} holds no scores{f' of {dataset}' if dataset else ''} of maps whose holes were filled, which a "
        "value at every pixel requires; evaluate again with --set invalid=fill."
    )


def purpose_of(
    cube: ScoreCube,
    profile: str | Path | None = None,
    weights: Mapping[str, float] | None = None,
    proportions: Mapping[str, float] | str | None = None,
) -> Profile | None:
    """The profile that was named or that weights, or proportions of the parts of images, make; None without any."""
    weights = composed_weights(cube, proportions, weights, profile)
    if weights is None:
        return None if profile is None else load_profile(profile)
    return Profile(OWN, "these weights", "", stated_weights(weights, profile) or {})


def opening(purpose: Profile) -> str:
    """The words that open a sentence: "For driver assistance", "With these weights"."""
    return "With these weights" if purpose.id == OWN else f"For {purpose.purpose}"


class NotMeasured(NamedTuple):
    """A weighted metric, or a requirement, that lacks scores, and the command that computes it.

    `weight` is the part of its weight that is not measured, `where` the scenes that it lacks if it has others.
    """

    term: str
    words: str
    weight: float
    command: str
    where: str = ""


class Compatibility(Struct, frozen=True):
    """How much of what a profile weighs has usable scores, and the command that computes the rest."""

    profile: Profile
    share: float
    not_measured: tuple[NotMeasured, ...]
    command: str

    @property
    def claim(self) -> Claim:
        """How much of the profile is measured."""
        names = tuple(f"{one.term} {one.where}".strip() for one in self.not_measured)
        return Claim("measured", names, {"measured": self.share})

    @property
    def sentence(self) -> str:
        """The same in words."""
        return "; ".join(part for part in render([self.claim]) if part)


def compatibility(source: Source, profile: Profile) -> Compatibility:
    """How much of a profile the scores can answer: the weight of terms with usable scores after the rule for gaps."""
    profile, score = with_stand_ins(profile, source.cube), None
    with contextlib.suppress(StereogaugeError):  # nothing can be compared
        score, _ = compared_scores(source.cube, profile, "common")
    return measured_part(source, profile, score)


def measured_part(source: Source, profile: Profile, score: WeightedScore | None) -> Compatibility:
    """The measured share of a profile: the weight of its terms, each by the share of the compared scenes with scores.

    A scene that has nothing to measure by a term is none that lacks it. The command measures what was not tried yet,
    and stand-ins for what the ground truth does not allow. `score` is None where nothing can be compared.
    """
    weighed = {term: weight for term, weight in profile.weights.items() if weight > 0}
    scenes = {term: _lacking_scenes(source.cube, score, term) for term in weighed}
    lacking = {term: weighed[term] * missing / total for term, (missing, total) in scenes.items() if missing}
    impossible = unmeasurable(lacking, source.cube)
    untried = [term for term in lacking if term not in impossible]
    metrics = dict.fromkeys(parse_column(term)[0].id for term in untried)
    instead = (profile.stand_ins[term] for term in lacking if term in profile.stand_ins)
    metrics |= dict.fromkeys(names[0] for names in instead if not set(names) & set(source.cube.metrics))
    regions = dict.fromkeys(region for term in untried if (region := parse_column(term)[1]))
    command = source.command(metrics, regions) if metrics else ""
    share = float(sum(weight - lacking.get(term, 0.0) for term, weight in weighed.items())) if lacking else 1.0
    where = {term: f"on {missing} of {total} scenes" for term, (missing, total) in scenes.items() if missing < total}
    not_measured = (
        NotMeasured(term, metric_words(term), weight, command, where.get(term, "")) for term, weight in lacking.items()
    )
    return Compatibility(profile, share, tuple(not_measured), command)


def _lacking_scenes(cube: ScoreCube, score: WeightedScore | None, term: str) -> tuple[int, int]:
    """How many of the compared scenes lack a term that they could be measured by, and how many could."""
    if score is None or term not in score.terms:
        return 1, 1
    columns = term_columns(term, cube.columns)
    rows = [cube.algorithms.index(name) for name in score.algorithms]
    places = [cube.scenes.index(name) for name in score.scenes]
    gaps = np.isnan(cube.values[np.ix_(rows, places, columns)]).any(axis=0)
    applies = cube.applies[np.ix_(places, columns)]
    used = np.isin(np.arange(len(places)), score.costs.scene_of[score.terms[term].flat])
    lacks = (gaps & applies).any(axis=1) & ~used
    return int(lacks.sum()), int((lacks | used).sum())
