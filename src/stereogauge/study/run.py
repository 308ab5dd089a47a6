"""A study: every metric on every damage at every strength, as a table of responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import pandas as pd

from stereogauge.evaluation.evaluate import evaluate_cell
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.registry import parse_metric
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.column import columns_of
from stereogauge.study.damage import damage_called, damages
from stereogauge.study.ground_truth import ground_truth_of
from stereogauge.text import json_value

GEOMETRY_METRICS = ("d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat")
OTHER_METRICS = (
    "bad@1",
    "bad@2",
    "mae",
    "rms",
    "sze-mean",
    "quantile@95",
    "r-ssim",
    "invalid",
    "smooth-gradient@1",
    "view-psnr",
)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Response:
    """The response of one metric to one damage: its value, that on the ground truth, and how much worse it is."""

    damage: str
    strength: float
    metric: str
    region: str
    value: float
    truth: float
    response: float


def worsening(metric: str, value: float, truth: float) -> float:
    """How much worse `value` is than `truth`, positive = worse, in the metric's unit; NaN where either is unknown."""
    direction = parse_metric(metric).metric.direction
    if direction == "higher":
        return truth - value
    return abs(value) - abs(truth) if direction == "zero" else value - truth


class Study:
    """The responses of some metrics on one scene; `idle` are damages that apply to no pixel of it."""

    def __init__(self, scene: str, responses: Iterable[Response], protocol: str, idle: Sequence[str] = ()) -> None:
        self.scene = scene
        self.responses = tuple(responses)
        self.protocol = protocol
        self.idle = tuple(idle)

    def _distinct(self, part: Callable[[Response], str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part(response) for response in self.responses))

    @property
    def damages(self) -> tuple[str, ...]:
        """Ids in order."""
        return self._distinct(lambda response: response.damage)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Ids in order, each with its region unless the metric has a fixed one."""
        return self._distinct(label)

    def curve(self, metric: str, damage: str) -> list[tuple[float, float]]:
        """(strength, value) from 0 upwards; the value at 0 is that of the ground truth."""
        found = [r for r in self.responses if label(r) == metric and r.damage == damage]
        steps = sorted((r.strength, r.value) for r in found)
        return [(0.0, found[0].truth), *steps] if found else []

    def to_pandas(self) -> pd.DataFrame:
        """One row per response."""
        return pd.DataFrame([{"scene": self.scene, **asdict(r), "protocol": self.protocol} for r in self.responses])

    def to_csv(self) -> str:
        """The table as CSV with full precision."""
        return str(self.to_pandas().to_csv(index=False))

    def to_json(self) -> str:
        """One document; what is unknown is null."""
        responses = [asdict(response) for response in self.responses]
        document = {"scene": self.scene, "protocol": self.protocol, "idle": self.idle, "responses": responses}
        return json.dumps(json_value(document), indent=1, allow_nan=False)


def label(response: Response) -> str:
    """The metric's name in tables: with its region, unless the metric has a fixed one."""
    bound = parse_metric(response.metric).metric.region is not None
    return response.metric if bound else f"{response.metric}:{response.region}"


def run_study(
    scene: Scene,
    metrics: Sequence[str] = GEOMETRY_METRICS,
    *,
    damage_ids: Sequence[str] | None = None,
    strengths: Mapping[str, Sequence[float]] | None = None,
    regions: Sequence[str] = ("nonocc",),
    protocol: Protocol | str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Study:
    """Damage the scene's ground truth and measure each damaged map.

    `strengths` replaces a damage's own steps, by id. `progress(done, total)` is called after every map. The same seed
    gives the same study.
    """
    chosen = load_protocol(protocol)
    known = [damage_called(name) for name in damage_ids] if damage_ids is not None else list(damages().values())
    given = strengths or {}
    wanted = columns_of(metrics, regions)
    scene_regions = SceneRegions(scene, chosen)
    ground_truth = ground_truth_of(scene, chosen)
    idle = [kind.id for kind in known if not kind.zone(ground_truth).any()]
    active = [kind for kind in known if kind.id not in idle]
    work = [(kind, float(strength)) for kind in active for strength in given.get(kind.id, kind.strengths)]

    def measured(disparity: DisparityMap, name: str) -> list[float]:
        return [score.value for score in evaluate_cell(disparity, scene_regions, wanted, algorithm=name)]

    truth = measured(ground_truth.disparity, "truth")
    responses: list[Response] = []
    for done, (kind, strength) in enumerate(work, start=1):
        values = measured(kind.apply(ground_truth, strength, seed), kind.id)
        for column, value, perfect in zip(wanted, values, truth, strict=True):
            worse = worsening(column.metric, value, perfect)
            responses.append(Response(kind.id, strength, column.metric, column.region, value, perfect, worse))
        if progress is not None:
            progress(done, len(work))
    return Study(scene.id, responses, chosen.scoring_hash, idle)
