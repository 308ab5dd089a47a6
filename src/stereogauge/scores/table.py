"""Scores and tables of them: what an evaluation returns and everything after it reads.

A score's key is (dataset, scene, algorithm, metric, region, protocol). Sums and counts are kept, so pooling over pixels
or averaging over scenes is a choice made when reading.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from stereogauge.errors import ProtocolError, StereogaugeError, unknown_name
from stereogauge.metrics.declaration import parse_column, parse_metric

if TYPE_CHECKING:
    import pandas as pd

    from stereogauge.protocol import Protocol

NO_ESTIMATE = "no estimate for this scene"
Aggregation = Literal["mean", "pooled", "weighted"]


@dataclass(frozen=True, slots=True)
class Score:
    """One number with its sufficient statistics; NaN with a note where nothing could be measured.

    `rule` is the occlusion rule that made the region, which the protocol's "auto" leaves open. It follows from scene
    and protocol, so it is no part of what makes two scores equal; a score from a store has "".
    """

    dataset: str
    scene: str
    algorithm: str
    metric: str
    region: str
    value: float
    sum: float
    count: int
    missing: int
    protocol: str
    note: str = ""
    rule: str = field(default="", compare=False, repr=False)


class ScoreTable(Sequence[Score]):
    """Scores of some algorithms on some scenes, all under one protocol.

    >>> truth = np.array([[4, 4, 8], [4, 4, 8], [4, 4, 8]])
    >>> scene = sg.Scene("step", gt=truth)
    >>> table = sg.evaluate({"near": truth + 2, "exact": truth}, scene, ["bad@1", "mae"], ["all"])
    >>> table.value("mae", algorithm="near")
    2.0
    >>> print(table.to_pandas()[["algorithm", "metric", "region", "value"]].to_string(index=False))
    algorithm metric region  value
         near  bad@1    all  100.0
         near    mae    all    2.0
        exact  bad@1    all    0.0
        exact    mae    all    0.0
    """

    def __init__(self, scores: Iterable[Score], protocol: Protocol | None = None) -> None:
        self._scores = tuple(scores)
        self.protocol = protocol
        hashes = {score.protocol for score in self._scores}
        if len(hashes) > 1:
            raise ProtocolError(
                f"These scores were computed under {len(hashes)} different protocols ({', '.join(sorted(hashes))}) "
                "and do not compare; select one."
            )

    def __len__(self) -> int:
        return len(self._scores)

    def __getitem__(self, index: Any) -> Any:
        return self._scores[index]

    def __iter__(self) -> Iterator[Score]:
        return iter(self._scores)

    def __repr__(self) -> str:
        parts = f"{len(self.algorithms)} algorithms × {len(self.scenes)} scenes × {len(self.columns)} columns"
        return f"ScoreTable({len(self)} scores: {parts})"

    def _distinct(self, part: Callable[[Score], Any]) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(part(score) for score in self._scores))

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Names in order of appearance."""
        return self._distinct(lambda score: score.algorithm)

    @property
    def scenes(self) -> tuple[str, ...]:
        """Scene ids in order of appearance."""
        return self._distinct(lambda score: score.scene)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """(metric, region) pairs in order of appearance."""
        return self._distinct(lambda score: (score.metric, score.region))

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metric ids in order of appearance."""
        return self._distinct(lambda score: score.metric)

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions in order of appearance."""
        return self._distinct(lambda score: score.region)

    def select(
        self,
        metric: str | None = None,
        region: str | None = None,
        scene: str | None = None,
        algorithm: str | None = None,
    ) -> ScoreTable:
        """The scores that match everything given.

        A metric may carry its region, as in `bad@1:nonocc`; one bound to its own pixel set matches whatever region is
        asked for.
        """
        bound, named = parse_column(metric) if metric is not None else (None, None)
        region = region or named
        wanted = bound.id if bound else None
        if bound is not None and bound.metric.region is not None:
            region = None
        for kind, name, known in (
            ("metric", wanted, self.metrics),
            ("region", region, self.regions),
            ("scene", scene, self.scenes),
            ("algorithm", algorithm, self.algorithms),
        ):
            if name is not None and name not in known:
                raise unknown_name(f"{kind} of this table", name, known)
        return ScoreTable(
            (
                s
                for s in self._scores
                if wanted in (None, s.metric)
                and region in (None, s.region)
                and scene in (None, s.scene)
                and algorithm in (None, s.algorithm)
            ),
            self.protocol,
        )

    def score(
        self, metric: str, region: str | None = None, *, scene: str | None = None, algorithm: str | None = None
    ) -> Score:
        """The one score that matches."""
        found = self.select(metric, region, scene, algorithm)
        if len(found) != 1:
            raise StereogaugeError(
                f"{metric}{':' + region if region else ''} matches {len(found)} scores; "
                "name region, scene and algorithm so that one is left."
            )
        only: Score = found[0]
        return only

    def value(
        self, metric: str, region: str | None = None, *, scene: str | None = None, algorithm: str | None = None
    ) -> float:
        """The value of the one score that matches, NaN where nothing could be measured."""
        return self.score(metric, region, scene=scene, algorithm=algorithm).value

    def aggregate(
        self,
        metric: str,
        region: str | None = None,
        *,
        algorithm: str | None = None,
        how: Aggregation | None = None,
    ) -> float:
        """One value over the scenes: `mean` of scenes, `pooled` over pixels, or `weighted` by the protocol's scene
        weights.

        A scene on which no algorithm of the table could be measured, because it has no such pixels, does not count. A
        scene that only this algorithm lacks is a gap, and a gap is never averaged away: the result is NaN.
        """
        how = how or (self.protocol.aggregation if self.protocol else "mean")
        weights = dict(self.protocol.scene_weights) if self.protocol else {}
        chosen = self.select(metric, region, algorithm=algorithm)
        return aggregate([score for score in chosen if not self.is_void(score)], how, weights)

    def is_void(self, score: Score) -> bool:
        """Whether the scene of `score` has nothing for its metric and region to measure, whatever the algorithm."""
        return (score.scene, score.metric, score.region) in self._void

    @functools.cached_property
    def _void(self) -> set[tuple[str, str, str]]:
        cells: dict[tuple[str, str, str], list[Score]] = {}
        for score in self._scores:
            cells.setdefault((score.scene, score.metric, score.region), []).append(score)
        return {
            key
            for key, scores in cells.items()
            if all(s.count == 0 and s.missing == 0 for s in scores) and any(s.note != NO_ESTIMATE for s in scores)
        }

    def to_pandas(self) -> pd.DataFrame:
        """Long form: dataset scene algorithm metric region value count missing protocol, then sum, note and rule."""
        import pandas as pd

        order = [
            "dataset",
            "scene",
            "algorithm",
            "metric",
            "region",
            "value",
            "count",
            "missing",
            "protocol",
            "sum",
            "note",
            "rule",
        ]
        return pd.DataFrame([asdict(score) for score in self._scores], columns=order)

    def to_csv(self) -> str:
        """The long form as CSV with full precision."""
        return str(self.to_pandas().to_csv(index=False))

    def to_json(self) -> str:
        """One document: the protocol's text and hash, and a list of scores; NaN is null, infinity the text "inf"."""
        rows = [{key: json_number(value) for key, value in asdict(score).items()} for score in self._scores]
        protocol = (
            None
            if self.protocol is None
            else {"name": self.protocol.name, "hash": self.protocol.hash, **self.protocol.choices()}
        )
        return json.dumps({"protocol": protocol, "scores": rows}, indent=1, allow_nan=False, default=str)


def json_number(value: Any) -> Any:
    """What JSON can hold: null for NaN, "inf" or "-inf" for infinities, everything else as it is."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


def aggregate(scores: Sequence[Score], how: Aggregation, weights: dict[str, float] | None = None) -> float:
    """One value of one metric, region and algorithm over scenes; see `ScoreTable.aggregate`."""
    if not scores:
        return math.nan
    keys = {(s.algorithm, s.metric, s.region) for s in scores}
    if len(keys) > 1:
        raise StereogaugeError(
            f"Aggregation takes one algorithm, metric and region at a time; found {len(keys)} combinations."
        )
    if how == "pooled":
        metric = parse_metric(scores[0].metric).metric
        if metric.finalize is None:
            raise ProtocolError(
                f"{scores[0].metric} cannot be pooled over pixels, since it is not made of sums; "
                "aggregate it as the mean of scenes."
            )
        count = sum(s.count for s in scores)
        if any(math.isnan(s.value) for s in scores) or count == 0:
            return math.nan
        return metric.finalize(math.fsum(s.sum for s in scores), count)
    weight = [(weights or {}).get(s.scene, 1.0) if how == "weighted" else 1.0 for s in scores]
    total = math.fsum(weight)
    return math.fsum(w * s.value for w, s in zip(weight, scores, strict=True)) / total if total else math.nan
