"""Scores of a training loop: maps are measured batch by batch, the table is made at the end, and trackers log it.

Trackers of experiments are MLflow, Weights & Biases, TensorBoard, or anything alike.
"""

from __future__ import annotations

import importlib
import math
import operator
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.datasets.plausibility import Finding, doubt_lines, map_doubts, scene_doubts
from stereogauge.disparity import as_array, as_disparity
from stereogauge.errors import ProtocolError, SizeError, StereogaugeError, check_one_size
from stereogauge.evaluation.evaluate import MetricSource, SceneEstimate, evaluate_cell, measured_protocol, warn_of
from stereogauge.io.files import load_mask
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import Calibration, Mask, Scene
from stereogauge.protocol import Protocol
from stereogauge.scores.aggregation import aggregated, way
from stereogauge.scores.column import columns_of
from stereogauge.scores.facts import SceneFacts
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable

TRACKERS = ("mlflow", "wandb")


class _Measured(NamedTuple):
    """The scores of one image; `name` is None where it has only its number."""

    name: str | None
    scores: tuple[Score, ...]
    facts: SceneFacts


class Running:
    """Scores that are added up batch by batch, as in the validation of a network.

    `compute` gives the table that `sg.evaluate` gives for all maps at once, with the same digits: over the images by
    the protocol's own rule (`aggregation`), per image or pooled. `metrics`, `regions` and `protocol` are those of
    `sg.evaluate`; the name of the algorithm is `algorithm`, that of the dataset `dataset`. The object can be pickled,
    and those of several processes are put together by `merge`.

    >>> running = sg.Running(["epe", "bad@3"], regions=["all"])
    >>> truth = np.tile(np.linspace(5, 60, 64, dtype=np.float32), (2, 32, 1))  # (B, H, W)
    >>> running.update(truth + 0.5, truth)
    >>> running.update(truth[:, None] + 1.5, truth[:, None], mask=truth > 10)  # (B, 1, H, W)
    >>> len(running), round(running.compute().value("epe"), 3)
    (4, 1.0)
    """

    def __init__(
        self,
        metrics: Sequence[MetricSource] | MetricSource | None = None,
        regions: Sequence[str] | str | None = None,
        protocol: Protocol | str | None = None,
        *,
        algorithm: str = "estimate",
        dataset: str = "",
    ) -> None:
        self.protocol = measured_protocol(metrics, regions, protocol)
        self.algorithm, self.dataset = algorithm, dataset
        self._images: list[_Measured] = []
        self._by_name: dict[str, int] = {}
        self._looked_at = False

    def __len__(self) -> int:
        return len(self._images)

    def __repr__(self) -> str:
        return f"Running({', '.join(self.protocol.metrics)}: {len(self)} images)"

    def update(
        self,
        prediction: Any,
        truth: Any,
        mask: Any = None,
        scene: str | Sequence[str | SupportsIndex] | None = None,
        *,
        calibration: Calibration | None = None,
    ) -> None:
        """Measure one image (H, W) or a batch, (B, H, W) or (B, 1, H, W).

        Maps are NumPy arrays, or tensors in main memory of any precision, with gradients or without. Truth that is NaN
        or infinite is unknown, and so is that outside `mask` (true = valid), which has the shape of the truth.
        `scene` names the image, or gives one name or number per image of a batch; by default images are numbered. A
        name that was measured already counts once where its scores are the same, as samplers repeat images to fill a
        batch; other scores of it are an error. Metrics of depth need the `calibration`.

        The first image after the start or `reset` is checked as `sg.evaluate` checks its inputs, and a
        `sg.StereogaugeWarning` says what looks wrong.
        """
        predictions, truths = _planes(prediction, "prediction"), _planes(truth, "truth")
        masks = [None] * len(truths) if mask is None else _planes(mask, "mask")
        names = [scene] * len(truths) if scene is None or isinstance(scene, str) else [_name(one) for one in scene]
        if not len(predictions) == len(truths) == len(masks) == len(names) or (
            isinstance(scene, str) and len(names) > 1
        ):
            raise SizeError(
                f"A batch has one prediction, truth, mask and name per image; found {len(predictions)} predictions, "
                f"{len(truths)} truths, {len(masks)} masks and {1 if isinstance(scene, str) else len(names)} names."
            )
        doubts: list[Finding] = []
        for one, known, inside, name in zip(predictions, truths, masks, names, strict=True):
            doubts += self._add(one, _limited(known, inside), name, calibration)
        warn_of(doubt_lines(doubts, scenes=1))

    def _add(
        self, prediction: NDArray[Any], truth: NDArray[Any], name: str | None, calibration: Calibration | None
    ) -> list[Finding]:
        scene = Scene(name or str(len(self)), gt=truth, calibration=calibration, dataset=self.dataset)
        wanted = columns_of(self.protocol.metrics, self.protocol.regions)
        scores = evaluate_cell(SceneEstimate(self.algorithm, prediction), SceneRegions(scene, self.protocol), wanted)
        self._put(_Measured(name, tuple(scores), SceneFacts(scene.resolution, calibrated=scene.calibration.metric)))
        if self._looked_at:
            return []
        self._looked_at = True
        return [*scene_doubts(scene), *map_doubts(self.algorithm, as_disparity(prediction), scene)]

    def _put(self, image: _Measured) -> None:
        if image.name is None:
            self._images.append(image)
            return
        place = self._by_name.setdefault(image.name, len(self._images))
        if place == len(self._images):
            self._images.append(image)
        elif _numbers(self._images[place]) != _numbers(image):
            raise StereogaugeError(
                f"The scene {image.name!r} was measured already, with other scores; reset() starts the next epoch."
            )

    def compute(self) -> ScoreTable:
        """The table of all images so far; more may follow."""
        if not self._images:
            raise StereogaugeError("Nothing was measured yet; call update(prediction, truth) first.")
        named = {image.name or str(place): image for place, image in enumerate(self._images)}
        if len(named) < len(self._images):
            raise StereogaugeError("Images with names and images without were mixed; name all of them or none.")
        scores = [replace(score, scene=name) for name, image in named.items() for score in image.scores]
        facts = {(self.dataset, name): image.facts for name, image in named.items()}
        return ScoreTable(scores, self.protocol, facts)

    def reset(self) -> None:
        """Forget all images."""
        self._images.clear()
        self._by_name.clear()
        self._looked_at = False

    def merge(self, other: Running) -> Running:
        """Add the images of another object of the same protocol and metrics, and return this one.

        Numbered images are those of different places; an image with a name counts once where both have it.
        """
        mine, theirs = (one.protocol for one in (self, other))
        if (mine.scoring_hash, mine.metrics, mine.regions) != (theirs.scoring_hash, theirs.metrics, theirs.regions):
            raise ProtocolError("Only objects with the same metrics, regions and protocol can be merged.")
        for image in other._images:
            self._put(image)
        return self


def _numbers(image: _Measured) -> list[str]:
    """As text, in which NaN equals itself."""
    return [f"{score.sum!r} {score.count} {score.missing}" for score in image.scores]


def _name(scene: str | SupportsIndex) -> str:
    return scene if isinstance(scene, str) else str(operator.index(scene))


def _planes(values: Any, what: str) -> list[NDArray[Any]]:
    """The images (H, W) of an image or a batch."""
    array = values if isinstance(values, np.ma.MaskedArray) else as_array(values)
    if array.ndim == 2:
        return [array]
    if array.ndim == 3 or (array.ndim == 4 and array.shape[1] == 1):
        return list(array.reshape(array.shape[0], *array.shape[-2:]))
    raise SizeError(f"A {what} has the shape (H, W), (B, H, W) or (B, 1, H, W); found {tuple(array.shape)}.")


def _limited(truth: NDArray[Any], mask: NDArray[Any] | None) -> NDArray[Any]:
    """The truth with NaN outside the mask."""
    if mask is None:
        return truth
    inside: Mask = load_mask(mask)
    check_one_size("The mask", inside.shape, "the truth", truth.shape)
    return np.where(inside, as_array(truth), np.float32(np.nan))


def log_scores(table: ScoreTable | Running, to: Any, *, step: int | None = None, prefix: str = "") -> dict[str, float]:
    """Log the scores of a table, or of `sg.Running`, over its scenes; return them by name, as `SGM/bad_1/nonocc`.

    `to` is "mlflow" (logs to the active run), "wandb" (to the run that `wandb.init` began), a TensorBoard
    `SummaryWriter`, or any object with `add_scalar`, `log_metrics` or `log`. Scores without a value are left out; names
    hold only characters that all trackers take. `prefix` goes before every name, for example `val` or `runs/val`.

    >>> class Tracker:
    ...     def log(self, values, step=None):
    ...         print(step, values)
    >>> table = sg.evaluate((np.array([[1.0, 4.0]]), np.array([[1.0, 2.0]])), metrics=["mae"], regions=["all"])
    >>> _ = sg.log_scores(table, Tracker(), step=3)
    3 {'estimate/mae/all': 1.0}
    """
    values = scalars(table.compute() if isinstance(table, Running) else table, prefix)
    tracker = _tracker(to)
    if hasattr(tracker, "add_scalar"):
        for name, value in values.items():
            tracker.add_scalar(name, value, step)
    elif hasattr(tracker, "log_metrics"):
        tracker.log_metrics(values, step=step)
    elif hasattr(tracker, "log"):
        tracker.log(values, step=step)
    else:
        raise StereogaugeError(
            f"Scores are logged to {', '.join(map(repr, TRACKERS))}, a SummaryWriter, or an object with add_scalar, "
            f"log_metrics or log; found {type(to).__name__}."
        )
    return values


def scalars(table: ScoreTable, prefix: str = "") -> dict[str, float]:
    """One number per algorithm, metric and region, over the scenes by the protocol's own rule."""
    how = table.protocol.aggregation if table.protocol else "mean"
    weights = table.protocol.scene_weights if table.protocol else None
    before = [part for part in prefix.split("/") if part]
    found = {}
    for place, column in enumerate(table.cube.columns):
        part = table.cube.take(columns=[place])
        values = aggregated(part, way(column, how), weights)[:, 0]
        for algorithm, value in zip(part.algorithms, values, strict=True):
            if math.isfinite(value):
                parts = (*before, algorithm, column.metric, column.region)
                found["/".join(re.sub(r"[^\w.-]+", "_", name) for name in parts)] = float(value)
    return found


def _tracker(to: Any) -> Any:
    if not isinstance(to, str):
        return to
    if to not in TRACKERS:
        raise StereogaugeError(f"Unknown tracker {to!r}; known are {', '.join(TRACKERS)}, or give an object.")
    try:
        return importlib.import_module(to)
    except ImportError:
        raise StereogaugeError(f"Logging to {to} needs the package {to}; install it with: pip install {to}.") from None
