"""The regions of one scene under one protocol: computed once, shared by all algorithms."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.display import NamedMaps
from stereogauge.errors import NotApplicable, ProtocolError, SizeError, StereogaugeError, check_one_size
from stereogauge.kernels.threads import at_once, fixed_blocks
from stereogauge.kernels.views import bidirectional_visible, middlebury_v2_visible, z_buffer_visible
from stereogauge.masks.declaration import declared_regions
from stereogauge.masks.expression import Combination, Expression, check_region
from stereogauge.masks.geometry.objects import ObjectKind, ObjectLabels, object_labels
from stereogauge.masks.geometry.planes import drawn_planes
from stereogauge.masks.geometry.sets import GeometrySets, cached_geometry_sets
from stereogauge.masks.labels import RegionLabels, pack_regions, whole_image
from stereogauge.model import DisparityMap, Mask, Scene, SceneRange
from stereogauge.protocol import Protocol, RegionParameters, Rule, load_protocol
from stereogauge.stages import GEOMETRY, OCCLUSIONS, Stage, unseen

FINE = "fine"
"""The mask of a scene that replaces the search for fine structures."""
ROWS_AT_ONCE = 64
MOST_KEPT = 64
"""Masks of one scene; a site's visitors may request any number of combinations."""


def range_in_front(truth: DisparityMap, offset: float) -> tuple[float, float]:
    """The largest and the smallest D + offset above 0, which belong to the nearest and the farthest point; else 1."""
    blocks = fixed_blocks(truth.shape[0], truth.size)
    found = at_once([functools.partial(_extremes, truth[rows], offset) for rows in blocks], truth.size)
    near, far = max(near for near, _ in found), min(far for _, far in found)
    return (near, far) if near > 0.0 else (1.0, 1.0)


def _extremes(truth: DisparityMap, offset: float) -> tuple[float, float]:
    near, far = -math.inf, math.inf
    for start in range(0, truth.shape[0], ROWS_AT_ONCE):
        rows = truth[start : start + ROWS_AT_ONCE]
        highest, lowest = (float(most.reduce(rows, axis=None)) + offset for most in (np.fmax, np.fmin))
        if lowest <= 0.0:
            shifted = rows.astype(np.float64) + offset
            lowest = float(shifted[shifted > 0.0].min(initial=math.inf))
        near, far = float(np.fmax(near, highest)), float(np.fmin(far, lowest))
    return near, far


class SceneRegions:
    """Masks of a scene, made when first needed and kept, with everything that the function of a region may read.

    A name is that of a declared region or of a mask that comes with the scene, or an expression of such names. Every
    mask is part of `known`: pixels with known ground truth, inside the border and the dataset's mask of all pixels, and
    not beyond the protocol's largest disparity. `stage` is called with the name of what takes long.
    """

    def __init__(self, scene: Scene, protocol: Protocol, stage: Stage = unseen) -> None:
        self.scene = scene
        self.protocol = protocol
        self.stage = stage
        self.parameters: RegionParameters = protocol.region_rules
        self._in_front: dict[float, tuple[float, float]] = {}
        self._masks: dict[Expression, Mask] = {}
        self._labels: dict[tuple[str, ...], list[RegionLabels]] = {}

    @functools.cached_property
    def rule(self) -> Rule:
        """The occlusion rule of the protocol; "auto" is resolved to the best one that this scene allows."""
        rule = self.parameters.rule
        if rule == "dataset" and "nonocc" not in self.scene.masks:
            raise ProtocolError(
                f"Rule 'dataset' needs the dataset's own occlusion mask, and scene {self.scene.id!r} has none; "
                "use rule 'bidirectional', 'z-buffer' or 'auto'."
            )
        if rule == "bidirectional" and not self.scene.has("gt_right"):
            raise ProtocolError(
                f"Rule 'bidirectional' needs both views' ground truth, and scene {self.scene.id!r} has only the left "
                "one's; use rule 'z-buffer' or 'auto'."
            )
        if rule != "auto":
            return rule
        if "nonocc" in self.scene.masks:
            return "dataset"
        return "bidirectional" if self.scene.has("gt_right") else "z-buffer"

    @property
    def border(self) -> int:
        """Width in px of the image margin that belongs to no region."""
        wanted = self.protocol.border
        if wanted == "dataset":
            return self.scene.border
        if wanted == "hci":
            wanted = self.protocol.geometry.border_width(self.scene.shape[1], self.scene.resolution)
        return max(wanted, self.scene.border) if self.parameters.rule == "middlebury-v2" else wanted

    @functools.cached_property
    def extent(self) -> Mask:
        """The dataset's mask of all pixels to evaluate; every pixel where there is none or the rule ignores it."""
        return self.own_mask("all") if self._has_extent else np.ones(self.scene.shape, np.bool_)

    @property
    def _has_extent(self) -> bool:
        return "all" in self.scene.masks and self.parameters.rule in ("auto", "dataset")

    @functools.cached_property
    def four_truths(self) -> tuple[DisparityMap, ...] | None:
        """The four true disparities of every pixel; None where the protocol or the scene has only one."""
        if not (self.protocol.nearest_of_four and self.scene.has("gt_fine")):
            return None
        fine = self.scene.gt_fine
        height, width = self.scene.shape
        if fine.shape != (2 * height, 2 * width):
            raise SizeError(
                f"The fine ground truth of scene {self.scene.id!r} is {fine.shape[1]}×{fine.shape[0]}; twice the size "
                f"of its image is {2 * width}×{2 * height}."
            )
        return fine[::2, ::2], fine[1::2, ::2], fine[::2, 1::2], fine[1::2, 1::2]

    @functools.cached_property
    def known(self) -> Mask:
        """Pixels that may belong to a region; without ground truth, all inside the border."""
        known: Mask = np.isfinite(self.scene.gt) if self.scene.has("gt") else np.ones(self.scene.shape, np.bool_)
        for limit in self._limits():
            known &= limit
        return known & self._is_enough(known) if self._needs_enough else known

    @functools.cached_property
    def is_unlimited(self) -> bool:
        """Whether `all` is every pixel with a true disparity, since neither scene nor protocol leaves any out."""
        return self.scene.has("gt") and not self._needs_enough and next(self._limits(), None) is None

    def _limits(self) -> Iterator[Mask]:
        """The masks outside which no pixel belongs to a region, apart from unknown ground truth."""
        if self.scene.has("gt"):
            truth, limits, depths = self.scene.gt, self.protocol.pixels, self.protocol.depth
            yield from (np.isfinite(one) for one in self.four_truths or ())
            if self.protocol.max_disparity is not None:
                yield truth <= self.protocol.max_disparity
            if limits.above is not None:
                yield truth > limits.above
            if limits.below is not None:
                yield truth < limits.below
            if (depths.least or depths.most) and self.scene.calibration.metric:
                depth = self.scene.calibration.depth(truth)
                yield (depth > depths.least) & (depth < (depths.most or math.inf))
        if self._has_extent:
            yield self.extent
        if self.border > 0:
            yield self._within_margin(self.border)
        if self.protocol.pixels.window:
            height, width = self.scene.shape
            top, bottom, left, right = self.protocol.pixels.window
            yield self._box(int(top * height), int(bottom * height), int(left * width), int(right * width))

    def _within_margin(self, margin: int) -> Mask:
        height, width = self.scene.shape
        return self._box(margin, height - margin, margin, width - margin)

    def _box(self, top: int, bottom: int, left: int, right: int) -> Mask:
        inside = np.zeros(self.scene.shape, np.bool_)
        inside[top:bottom, left:right] = True
        return inside

    @property
    def _needs_enough(self) -> bool:
        limits = self.protocol.pixels
        return bool(limits.least_known or limits.least_kept) and self.scene.has("gt")

    def _is_enough(self, kept: Mask) -> bool:
        """Whether ground truth is known, and kept, on the share of the pixels that the protocol requires."""
        limits = self.protocol.pixels
        known = np.count_nonzero(np.isfinite(self.scene.gt))
        return bool(known >= limits.least_known * kept.size and kept.sum() >= limits.least_kept * known)

    @functools.cached_property
    def visible(self) -> Mask:
        """Pixels that both cameras see, by the rule; defined in the border and for unknown ground truth, too."""
        with self.stage(OCCLUSIONS):
            truth = self.scene.gt
            if self.rule == "dataset":
                return self.own_mask("nonocc")
            if self.rule == "middlebury-v2":
                return middlebury_v2_visible(np.nan_to_num(truth, nan=0.0))
            if self.rule == "bidirectional":
                self.check_size(self.scene.gt_right, "right ground truth")
                return bidirectional_visible(truth, self.scene.gt_right, self.parameters.consistency)
            return z_buffer_visible(truth, self.parameters.consistency)

    @functools.cached_property
    def range(self) -> SceneRange:
        """The size of the scene, and the range of its ground truth."""
        return self.scene.range

    def in_front(self, offset: float) -> tuple[float, float]:
        """The largest and the smallest D + offset in front of the cameras; see `range_in_front`."""
        if offset not in self._in_front:
            self._in_front[offset] = range_in_front(self.scene.gt, offset)
        return self._in_front[offset]

    def check_size(self, array: NDArray[Any], what: str) -> None:
        """Raise unless an image, map or mask of the scene has the size of its ground truth."""
        owner = f"The {what} of scene {self.scene.id!r}"
        check_one_size(owner, array.shape[:2], "its ground truth", self.scene.shape)

    def own_mask(self, name: str) -> Mask:
        """A mask that comes with the scene, unchanged."""
        mask = self.scene.mask(name)
        self.check_size(mask, f"mask {name!r}")
        return mask

    @property
    def geometry_base(self) -> Mask:
        """M₀, the pixels of the geometry sets: known, seen by both cameras, inside the geometry parameters' margin."""
        margin = self.protocol.geometry.border_width(self.scene.shape[1], self.scene.resolution)
        inside = self._within_margin(margin)
        return inside & self.known & self.visible if self.scene.has("gt") else inside

    @functools.cached_property
    def geometry(self) -> GeometrySets:
        """The pixel sets of the geometry-aware metrics, from the disk cache if they were computed before."""
        scene = self.scene
        truth = scene.gt if scene.has("gt") else None
        parameters = self.protocol.geometry
        base = self.geometry_base
        drawn = drawn_planes(scene), self.own_mask(FINE) if FINE in scene.masks else None
        with self.stage(GEOMETRY):
            return cached_geometry_sets(truth, base, scene.resolution, parameters, *drawn, stage=self.stage)

    @functools.cached_property
    def objects(self) -> dict[ObjectKind, ObjectLabels]:
        """The single planes, fine structures and foreground objects of the geometry sets."""
        return object_labels(self.geometry)

    def _check_needs(self, name: str) -> None:
        needs, scene = declared_regions()[name].needs, self.scene
        if name != "all" and not scene.has("gt") and "gt" in needs:
            raise NotApplicable(
                f"Region {name!r} needs ground truth, and scene {scene.id!r} has none; use 'all' or a mask of the "
                "scene."
            )
        for part, what in (("left", "left image"), ("right", "right image"), ("gt_right", "right ground truth")):
            if part in needs and not scene.has(part):
                raise NotApplicable(f"Region {name!r} needs the {what}, and scene {scene.id!r} has none.")
        if "calibration" in needs and not scene.calibration.metric:
            raise NotApplicable(
                f"Region {name!r} needs a calibration with focal length and baseline, and scene {scene.id!r} has none."
            )

    def mask(self, name: str) -> Mask:
        """The region called `name`, which may be put together from several: see `stereogauge.masks.expression`."""
        return self._mask(check_region(name, self.scene.masks))

    def _mask(self, expression: Expression) -> Mask:
        if expression not in self._masks:
            if len(self._masks) >= MOST_KEPT:
                self._masks.clear()
            mask = self._computed(expression)
            mask.flags.writeable = False
            self._masks[expression] = mask
        return self._masks[expression]

    def _computed(self, expression: Expression) -> Mask:
        if isinstance(expression, Combination):
            first, second = self._mask(expression.first), self._mask(expression.second)
            if expression.operator == "|":
                return first | second
            return first & (second if expression.operator == "&" else ~second)
        own = expression.own_mask
        if own is not None:
            return self.own_mask(own) & self.known
        self._check_needs(expression.name)
        raw = declared_regions()[expression.name].compute(self, *expression.arguments)
        if not isinstance(raw, np.ndarray) or raw.dtype != bool:
            found = raw.dtype if isinstance(raw, np.ndarray) else type(raw).__name__
            raise StereogaugeError(f"The region {expression.name!r} must be an array of truth values; found {found}.")
        self.check_size(raw, f"region {expression.name!r}")
        return raw & self.known

    def labels(self, names: Iterable[str]) -> list[RegionLabels]:
        """The regions packed for one pass over the pixels."""
        key = tuple(names)
        if key not in self._labels:
            # The pass ignores unknown ground truth by itself, so that one region of all the rest needs no labels.
            whole = key == ("all",) and self.is_unlimited
            self._labels[key] = (
                [whole_image("all", self.scene.shape)]
                if whole
                else pack_regions({name: self.mask(name) for name in key})
            )
        return self._labels[key]


def regions(
    scene: Scene,
    names: Iterable[str] | str = ("all", "nonocc", "disc"),
    *,
    rule: Rule | None = None,
    protocol: Protocol | str | None = None,
) -> NamedMaps[Mask]:
    """Boolean masks of the named regions, by name; `rule` replaces the protocol's rule for occlusions.

    >>> import numpy as np, stereogauge as sg
    >>> truth = np.full((5, 20), 2.0, np.float32)
    >>> truth[:, 12:15] = 6  # a pole; the right camera does not see what lies left of it
    >>> masks = sg.regions(sg.Scene("pole", gt=truth), ["all", "nonocc", "occluded"])
    >>> {name: int(mask.sum()) for name, mask in masks.items()}
    {'all': 100, 'nonocc': 75, 'occluded': 25}
    """
    chosen = load_protocol(protocol)
    if rule is not None:
        chosen = chosen.replace(**{"region_rules.rule": rule})
    scene_regions = SceneRegions(scene, chosen)
    wanted = [names] if isinstance(names, str) else names
    return NamedMaps({name: scene_regions.mask(name) for name in wanted})
