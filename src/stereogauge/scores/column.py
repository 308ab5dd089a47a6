"""A column of scores: a metric on a region."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import NamedTuple

from stereogauge.masks.expression import WHOLE_SCENE, check_region, region_id, region_version
from stereogauge.metrics.declaration import BoundMetric
from stereogauge.metrics.registry import parse_column, parse_metric
from stereogauge.model import Dataset, Scene
from stereogauge.protocol import EITHER_UNIT, Protocol
from stereogauge.registry import code_version

metric_of = functools.lru_cache(maxsize=4096)(parse_metric)


class Column(NamedTuple):
    """A metric on a region, written `bad@1:nonocc`."""

    metric: str
    region: str

    def __str__(self) -> str:
        return f"{self.metric}:{self.region}"

    @property
    def label(self) -> str:
        """For tables and figures: the metric with its region, or alone on the pixels that it brings itself.

        >>> Column("d-fat", "disc-background").label, Column("d-fat", "disc-background&mask:road").label
        ('d-fat', 'd-fat:mask:road')
        """
        own = self.declared.metric.region
        return self.metric if own == self.region else f"{self.metric}:{self.region.removeprefix(f'{own}&')}"

    @property
    def declared(self) -> BoundMetric:
        """The metric's declaration: direction, unit, ranges."""
        return metric_of(self.metric)

    def unit(self, depth_unit: str = EITHER_UNIT) -> str:
        """The unit of the scores, where depth errors have `depth_unit`.

        >>> Column("rms", "all").unit("m"), Column("sze", "all").unit("m")
        ('px', 'm')
        """
        return self.declared.metric.unit.replace(EITHER_UNIT, depth_unit)

    @property
    def versioned(self) -> VersionedColumn:
        """The column as declared now; a scene's own mask has version 0, since its content is hashed instead."""
        metric = parse_metric(self.metric).metric
        version = code_version(metric.function, metric.version)
        return VersionedColumn(self.metric, version, self.region, region_version(self.region))


class VersionedColumn(NamedTuple):
    """The key of a stored column: it is computed again when the version of its metric or region changes."""

    metric: str
    metric_version: int
    region: str
    region_version: int

    def __str__(self) -> str:
        return str(self.column)

    @property
    def column(self) -> Column:
        """The column without versions."""
        return Column(self.metric, self.region)


class HasColumns:
    """What has columns of scores, and so metrics and regions."""

    columns: tuple[Column, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """Metric ids in order of appearance."""
        return tuple(dict.fromkeys(column.metric for column in self.columns))

    @property
    def regions(self) -> tuple[str, ...]:
        """Regions in order of appearance."""
        return tuple(dict.fromkeys(column.region for column in self.columns))


def columns_of(metrics: Iterable[str], regions: Iterable[str]) -> tuple[Column, ...]:
    """Each metric on each region, unless its id (`bad@1:nonocc`) or its declaration names one.

    >>> [str(column) for column in columns_of(["rms", "bad@1:disc", "d-fat"], ["all", "nonocc"])]
    ['rms:all', 'rms:nonocc', 'bad@1:disc', 'd-fat:disc-background']
    """
    wanted = tuple(regions)
    found: dict[Column, None] = {}
    for text in metrics:
        metric, named = parse_column(text)
        for region in (named,) if named else metric.regions(wanted):
            found[Column(metric.id, region_id(region))] = None
    return tuple(found)


def matching(text: str, columns: Iterable[Column]) -> list[int]:
    """The places of the columns that `bad@1:nonocc` or `bad@1` names.

    A metric with a pixel set of its own, named alone, is meant on that set and not inside a region of interest.

    >>> columns = columns_of(["bad@1", "d-fat", "d-fat:near"], ["all", "nonocc"])
    >>> matching("bad@1", columns), matching("d-fat", columns), matching("d-fat:near", columns)
    ([0, 1], [2], [3])
    """
    metric, region = parse_column(text)
    found = {place: column for place, column in enumerate(columns) if column.metric == metric.id}
    if region is not None:
        return [place for place, column in found.items() if column.region == region]
    own = [place for place, column in found.items() if column.region == metric.metric.region]
    return own or list(found)


EXCLUSIVE = (("boundary", "interior", "occluded"), ("textureless", "textured"), ("fg", "bg"), ("near", "mid", "far"))
"""Sets of regions that divide the known pixels: a pixel lies in one of each set."""
UNITED = {"nonocc": ("boundary", "interior"), "disc": ("boundary",)}
"""Regions that lie in the union of others."""


class SharedPixels(NamedTuple):
    """Regions of one metric that share pixels, and how many of them a pixel may lie in."""

    regions: tuple[str, ...]
    times: int


def shared_pixels(columns: Iterable[Column]) -> SharedPixels:
    """The regions whose pixels count several times among the columns of one metric; none where each counts once.

    Which regions overlap follows from their definitions; of a region that is not among the usual ones only that it
    lies in `all`.

    >>> shared_pixels(columns_of(["bad@1"], ["nonocc", "all", "disc"]))
    SharedPixels(regions=('nonocc', 'all', 'disc'), times=3)
    >>> shared_pixels(columns_of(["bad@1"], ["all", "boundary", "interior", "occluded"])).times
    2
    >>> shared_pixels(columns_of(["bad@1"], ["nonocc", "occluded"])).regions
    ()
    """
    by_metric: dict[str, dict[str, None]] = {}
    for column in columns:
        if column.region != WHOLE_SCENE and column.declared.metric.region is None:
            by_metric.setdefault(column.metric, {})[column.region] = None
    shared = (_shared(tuple(regions)) for regions in by_metric.values())
    return max(shared, key=lambda one: one.times, default=SharedPixels((), 1))


def _shared(regions: tuple[str, ...]) -> SharedPixels:
    usual = {name for parts in EXCLUSIVE for name in parts} | set(UNITED)
    pixels = [*itertools.product(*EXCLUSIVE), *((name,) for name in regions if name not in usual)]
    together = [
        [name for name in regions if name == "all" or any(part in pixel for part in UNITED.get(name, (name,)))]
        for pixel in pixels
    ]
    shared = {name for names in together if len(names) > 1 for name in names}
    return SharedPixels(tuple(name for name in regions if name in shared), max(map(len, together)))


def declared_columns(protocol: Protocol) -> tuple[VersionedColumn, ...]:
    """Every column of a protocol, with the versions of its metric and region as they are declared now."""
    return tuple(column.versioned for column in columns_of(protocol.metrics, protocol.regions))


def confidence_columns(declared: Iterable[VersionedColumn]) -> tuple[VersionedColumn, ...]:
    """Those that judge a confidence map."""
    return tuple(column for column in declared if "confidence" in metric_of(column.metric).metric.needs)


def columns_of_scene(
    declared: Iterable[VersionedColumn], scene: Scene, dataset: Dataset
) -> tuple[VersionedColumn, ...]:
    """The columns that this scene can have: a mask that only other scenes ship is a gap here."""
    kept = []
    everywhere = tuple(dict.fromkeys(name for other in dataset for name in other.masks))
    for column in declared:
        if column.region == WHOLE_SCENE:
            kept.append(column)
            continue
        parts = check_region(column.region, everywhere).parts
        if all(part.own_mask is None or part.own_mask in scene.masks for part in parts):
            kept.append(column)
    return tuple(kept)
