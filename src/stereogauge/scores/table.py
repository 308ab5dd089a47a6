"""A table of scores in long form: what an evaluation returns."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from stereogauge import display
from stereogauge.display import Displayed
from stereogauge.errors import ProtocolError, StereogaugeError, StereogaugeWarning, one_of
from stereogauge.masks.expression import region_id
from stereogauge.masks.geometry.objects import SceneObject
from stereogauge.metrics.declaration import BoundMetric
from stereogauge.metrics.registry import parse_column
from stereogauge.protocol import Aggregations, Protocol
from stereogauge.scores.aggregation import aggregated, way
from stereogauge.scores.column import Column, HasColumns
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.scope import Aggregation
from stereogauge.scores.score import Score, score_of_row
from stereogauge.tags import TagBook, Tags, expanded
from stereogauge.text import WrittenAsCsv, WrittenAsJson, json_value

if TYPE_CHECKING:
    import pandas as pd


class ScoreTable(HasColumns, Sequence[Score], Displayed, WrittenAsJson, WrittenAsCsv):
    """Scores of some algorithms on some scenes, all under one protocol.

    `facts` holds what is known of each scene, by dataset and scene; `objects` the object that a score is about, by
    dataset, scene and region, where scores of single objects were requested.

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

    def __init__(
        self,
        scores: Iterable[Score],
        protocol: Protocol | None = None,
        facts: Mapping[tuple[str, str], SceneFacts] | None = None,
        tags: TagBook | None = None,
        objects: Mapping[tuple[str, str, str], SceneObject] | None = None,
        inputs: str = "",
    ) -> None:
        self._scores = tuple(scores)
        self.columns = tuple(Column(*pair) for pair in self._distinct(lambda score: (score.metric, score.region)))
        self.protocol = protocol
        self.facts = facts or {}
        self.tags = tags or TagBook()
        self.objects = objects or {}
        self.inputs = inputs
        self.known_scenes = 0
        hashes = {score.protocol for score in self._scores}
        if len(hashes) > 1:
            raise ProtocolError(
                f"These scores were computed under {len(hashes)} different protocols ({', '.join(sorted(hashes))}) "
                "and do not compare; select one."
            )

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame) -> ScoreTable:
        """Scores from elsewhere, such as a published table, one per row.

        Needed are the columns scene, algorithm, metric and value; dataset, region, sum, count, missing, protocol and
        note are optional. Without counts, scores are taken as they are and cannot be pooled over pixels.

        >>> import pandas as pd
        >>> rows = [("a", "A", 5.0), ("a", "B", 7.0), ("b", "A", 9.0), ("b", "B", 8.0)]
        >>> frame = pd.DataFrame(rows, columns=["scene", "algorithm", "value"]).assign(metric="bad@2")
        >>> sg.rank(sg.ScoreTable.from_pandas(frame), "weighted")
        Ranking(weighted: 1 A, 2 B)
        """
        rows = ({str(name): value for name, value in row.items()} for row in frame.to_dict("records"))
        scores = [score_of_row(row, f"row {place} of the frame") for place, row in enumerate(rows, start=1)]
        keys: dict[tuple[str, ...], int] = {}
        for place, one in enumerate(scores, start=1):
            key = (one.dataset, one.scene, one.algorithm, one.metric, one.region)
            if key in keys:
                raise StereogaugeError(
                    f"Rows {keys[key]} and {place} of the frame are both {one.metric}:{one.region} of {one.algorithm} "
                    f"on {one.scene}; keep one."
                )
            keys[key] = place
        return cls(scores)

    def __len__(self) -> int:
        return len(self._scores)

    def __getitem__(self, index: Any) -> Any:
        return self._scores[index]

    def __iter__(self) -> Iterator[Score]:
        return iter(self._scores)

    def __repr__(self) -> str:
        parts = f"{len(self.algorithms)} algorithms × {len(self.scenes)} scenes × {len(self.columns)} columns"
        return f"ScoreTable({len(self)} scores: {parts})"

    def __str__(self) -> str:
        """The scores as text, over the scenes."""
        return display.text(self)

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

    def select(
        self,
        metric: str | None = None,
        region: str | None = None,
        scene: str | None = None,
        algorithm: str | None = None,
    ) -> ScoreTable:
        """The scores that match everything given.

        A metric may name its region, as in `bad@1:nonocc`; one with a pixel set of its own matches whatever region is
        given, unless it was measured inside that region. A scene or an algorithm may be a selector by tag, as in
        `tag:technique=learned`.
        """
        bound, named = parse_column(metric) if metric is not None else (None, None)
        region = region_id(region) if region else named
        wanted = bound.id if bound else None
        if bound is not None and bound.metric.region is not None:
            region = self._region_of(bound, named or region)
        for kind, name, known in (
            ("metric", wanted, self.metrics),
            ("region", region, self.regions),
        ):
            if name is not None:
                one_of(f"{kind} of this table", name, known)
        by_scene: dict[str, Tags] = {name: tags for (_, name), tags in self.tags.scenes.items()}
        scenes = self._named("scene", scene, self.scenes, by_scene)
        algorithms = self._named("algorithm", algorithm, self.algorithms, self.tags.algorithms)
        return ScoreTable(
            (
                s
                for s in self._scores
                if wanted in (None, s.metric)
                and region in (None, s.region)
                and s.scene in scenes
                and s.algorithm in algorithms
            ),
            self.protocol,
            self.facts,
            self.tags,
            self.objects,
        )

    def _region_of(self, bound: BoundMetric, interest: str | None) -> str | None:
        """Where a metric with a pixel set of its own is meant: inside the region of interest, or else on its set."""
        here = {score.region for score in self._scores if score.metric == bound.id}
        wanted = [] if interest is None else [bound.within(interest)]
        return next((region for region in (*wanted, bound.metric.region) if region in here), None)

    def _named(self, kind: str, wanted: str | None, known: tuple[str, ...], tags: Mapping[str, Tags]) -> set[str]:
        """The names that `wanted` means, a name or a selector by tag; all of them for None."""
        names = known if wanted is None else expanded(kind, known, tags, wanted)
        return {one_of(f"{kind} of this table", name, known) for name in names}

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
        """The value of the one score that matches, NaN where nothing could be measured.

        Over several scenes it is one value by the protocol's own rule; see `aggregate`.
        """
        found = self.select(metric, region, scene, algorithm)
        if scene is not None or len(found.scenes) < 2 or len(found.columns) != 1 or len(found.algorithms) != 1:
            return self.score(metric, region, scene=scene, algorithm=algorithm).value
        return self._over_scenes(found, self.protocol.aggregation if self.protocol else "mean")

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

        A scene without such pixels, or for which no algorithm of the table has an estimate, does not count; of the
        latter one `sg.StereogaugeWarning` says how many there are. A scene that only this algorithm lacks is a gap, and
        a gap is never averaged away: the result is NaN.
        """
        wanted: Aggregations = how or (self.protocol.aggregation if self.protocol else "mean")
        chosen = self.select(metric, region, algorithm=algorithm)
        if len(chosen.algorithms) != 1 or len(chosen.columns) != 1:
            raise StereogaugeError(
                f"Aggregation takes one algorithm, metric and region at a time; found {len(chosen.algorithms)} "
                f"algorithms and {len(chosen.columns)} columns."
            )
        if isinstance(wanted, str) and way(chosen.columns[0], wanted) != wanted:
            raise ProtocolError(
                f"{chosen.columns[0].metric} cannot be pooled over pixels, since it is not made of sums; "
                "aggregate it as the mean of scenes."
            )
        return self._over_scenes(chosen, wanted)

    def _over_scenes(self, chosen: ScoreTable, how: Aggregations) -> float:
        """One algorithm's value in one column over the scenes for which there are estimates."""
        measured = self.cube.measured
        metric = str(chosen.columns[0])
        if len(measured.scenes) < measured.requested_scenes:
            of = f"{len(measured.scenes)} of {measured.requested_scenes} scenes"
            warnings.warn(f"{metric} over {of}; the others have no score.", StereogaugeWarning, stacklevel=3)
        part = measured.select(algorithms=chosen.algorithms, metrics=[metric])
        return float(aggregated(part, how, self.protocol.scene_weights if self.protocol else None)[0, 0])

    @functools.cached_property
    def cube(self) -> ScoreCube:
        """The scores as dense arrays."""
        read = self.protocol or Protocol()
        units = {scene: read.sigma_z.unit(calibrated=bool(one.calibrated)) for scene, one in self.facts.items()}
        cube = ScoreCube.of(self._scores, facts=self.facts, depth_units=units, invalid=read.invalid, tags=self.tags)
        return replace(cube.read_by(self.protocol), known_scenes=self.known_scenes)

    def to_pandas(self) -> pd.DataFrame:
        """Long form: dataset scene algorithm metric region value count missing protocol, then sum, note and rule.

        Scores of single objects have their kind, number, box (x y width height) and pixels as well.
        """
        import pandas as pd

        first = ("dataset", "scene", "algorithm", "metric", "region", "value", "count", "missing", "protocol")
        order = list(dict.fromkeys([*first, *Score.__struct_fields__]))
        if self.objects:
            order += SceneObject.__struct_fields__
        return pd.DataFrame([self._row(score) for score in self._scores], columns=order)

    def _row(self, score: Score) -> dict[str, Any]:
        one = self.objects.get((score.dataset, score.scene, score.region))
        return asdict(score) | ({} if one is None else asdict(one))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: the protocol's choices and hash, the hash of the scenes' files and settings where it
        was made, and a list of scores.
        """
        protocol = (
            None
            if self.protocol is None
            else {"name": self.protocol.name, "hash": self.protocol.hash, **self.protocol.choices()}
        )
        made = {"inputs": self.inputs} if self.inputs else {}
        rows = json_value([self._row(score) for score in self._scores])
        return {"protocol": protocol, **made, "scores": rows}
