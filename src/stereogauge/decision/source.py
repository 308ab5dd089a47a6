"""Scores with what is known of where they come from, and what a user needs a value at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stereogauge.decision.result import NotMeasured, not_measured
from stereogauge.decision.words import percent
from stereogauge.errors import StereogaugeError
from stereogauge.metrics.declaration import parse_column
from stereogauge.protocol import Protocol, parse_protocol
from stereogauge.ranking.profile import Profile, checked_weights, load_profile
from stereogauge.ranking.run import Scores
from stereogauge.scores.cube import LEAST_COVERAGE, ScoreCube
from stereogauge.scores.table import ScoreTable
from stereogauge.store import Store, open_store

EVERY_PIXEL, ONLY_SURE = "every-pixel", "sure"


@dataclass(frozen=True, eq=False)
class Source:
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
        protocol = filled_protocol(opened) if completeness == EVERY_PIXEL else None
        cube = opened.cube(protocol=protocol)
        return Source(
            cube, opened.protocol(cube.protocol, cube.columns) if cube.protocol else None, Path(opened.name).name
        )


def filled_protocol(store: Store, protocol: str | None = None) -> str:
    """The protocol of a store under which holes were filled first."""
    filled = [
        entry.hash
        for entry in store.protocols()
        if parse_protocol(entry.text, store.name).invalid == "fill"
        and protocol in (None, entry.name, entry.hash, entry.scoring_hash)
    ]
    if not filled:
        raise StereogaugeError(
            f"{store.name} holds no scores of maps whose holes were filled, which a value at every pixel asks for; "
            "evaluate once more with --set invalid=fill."
        )
    return filled[0]


def least_coverage(completeness: float | str) -> float:
    """The share of its pixels that a score must cover, from "every-pixel", a share such as 0.9 or "90%", or "sure"."""
    if completeness == EVERY_PIXEL:
        return 1.0
    if completeness == ONLY_SURE:
        return 0.0
    try:
        share = float(str(completeness).removesuffix("%")) / (100 if str(completeness).endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise StereogaugeError(
            f"A value is needed at {EVERY_PIXEL}, at a share of the pixels such as 90%, or only where it is sure "
            f"({ONLY_SURE}); found {completeness!r}."
        )
    return share


DEFAULT = "balanced"
OWN = "own"


def purpose_of(profile: str | Path | None, weights: Mapping[str, float] | None) -> Profile:
    """The profile that was named or that the weights make; `balanced` where neither was given."""
    if profile is not None and weights is not None:
        raise StereogaugeError(f"Give weights or a profile, not both; found weights and the profile {str(profile)!r}.")
    if weights is not None:
        return Profile(OWN, "these weights", "", checked_weights(weights, "The weights"))
    return load_profile(profile or DEFAULT)


def opening(purpose: Profile) -> str:
    """The words that open a sentence: "For driver assistance", "With these weights"."""
    return "With these weights" if purpose.id == OWN else f"For {purpose.purpose}"


class Compatibility:
    """How much of what a profile weighs the scores measure, and the command that computes the rest."""

    def __init__(self, source: Source, profile: Profile) -> None:
        present = {column.metric for column in source.cube.columns} | {str(column) for column in source.cube.columns}
        weighed = {term: weight for term, weight in profile.weights.items() if weight > 0}
        lacking = {term: weight for term, weight in weighed.items() if term not in present}
        metrics = dict.fromkeys(parse_column(term)[0].id for term in lacking)
        regions = dict.fromkeys(region for term in lacking if (region := parse_column(term)[1]))
        self.profile = profile
        self.share = 1.0 if not lacking else float(sum(weighed.values()) - sum(lacking.values()))
        self.share = 0.0 if len(lacking) == len(weighed) else self.share
        self.command = source.command(metrics, regions) if lacking else ""
        self.not_measured: tuple[NotMeasured, ...] = tuple(
            not_measured(term, weight, self.command) for term, weight in lacking.items()
        )

    @property
    def sentence(self) -> str:
        """What can be answered, in words."""
        if self.share == 1:
            return "everything that it weighs is measured"
        missing = ", ".join(one.term for one in self.not_measured)
        return f"{percent(self.share)} of its weight is measured; not measured: {missing}"


def compatibility(source: Source, profile: Profile) -> Compatibility:
    """How much of a profile the scores can answer."""
    return Compatibility(source, profile)
