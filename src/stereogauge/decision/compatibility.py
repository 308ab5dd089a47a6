"""How much of what a profile weighs is measured by the scores at hand."""

from __future__ import annotations

from stereogauge.decision.result import NotMeasured, not_measured
from stereogauge.decision.source import Source
from stereogauge.decision.words import percent
from stereogauge.metrics.declaration import parse_column
from stereogauge.ranking.profile import Profile


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
