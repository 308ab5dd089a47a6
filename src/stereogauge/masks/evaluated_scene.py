"""A scene under a protocol: which of its pixels are known, seen by both cameras, and part of the geometry sets."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import ProtocolError, SizeError
from stereogauge.masks import occlusion
from stereogauge.masks.depth_range import range_in_front
from stereogauge.masks.drawn_planes import drawn_planes
from stereogauge.masks.geometry.cache import cached_geometry_sets
from stereogauge.masks.geometry.objects import ObjectKind, ObjectLabels, object_labels
from stereogauge.masks.geometry.sets import GeometrySets
from stereogauge.model import DisparityMap, Mask, Scene
from stereogauge.protocol import Protocol
from stereogauge.protocol.parameters import RegionParameters, Rule
from stereogauge.stages import GEOMETRY, OCCLUSIONS, Stage, unseen


class EvaluatedScene(ABC):
    """What the function of a region may ask for. Everything is computed when first asked for, and kept.

    `stage` is told what takes long.
    """

    def __init__(self, scene: Scene, protocol: Protocol, stage: Stage = unseen) -> None:
        self.scene = scene
        self.stage = stage
        self.protocol = protocol
        self.parameters: RegionParameters = protocol.region_rules
        self._in_front: dict[float, tuple[float, float]] = {}

    @abstractmethod
    def mask(self, name: str) -> Mask:
        """The region called `name`."""

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
        if "all" in self.scene.masks and self.parameters.rule in ("auto", "dataset"):
            return self.own_mask("all")
        return np.ones(self.scene.shape, np.bool_)

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
        known: Mask = np.ones(self.scene.shape, np.bool_)
        if self.scene.has("gt"):
            known &= np.isfinite(self.scene.gt)
            for truth in self.four_truths or ():
                known &= np.isfinite(truth)
            if self.protocol.max_disparity is not None:
                known &= self.scene.gt <= self.protocol.max_disparity
        known &= self.extent
        border = self.border
        if border > 0:
            inside = np.zeros(known.shape, np.bool_)
            inside[border : known.shape[0] - border, border : known.shape[1] - border] = True
            known &= inside
        return known

    @functools.cached_property
    def visible(self) -> Mask:
        """Pixels that both cameras see, by the rule; defined in the border and for unknown ground truth, too."""
        with self.stage(OCCLUSIONS):
            return self._visible()

    def _visible(self) -> Mask:
        truth = self.scene.gt
        if self.rule == "dataset":
            return self.own_mask("nonocc")
        if self.rule == "middlebury-v2":
            return occlusion.middlebury_v2_visible(truth)
        if self.rule == "bidirectional":
            self.check_size(self.scene.gt_right, "right ground truth")
            return occlusion.bidirectional_visible(truth, self.scene.gt_right, self.parameters.consistency)
        return occlusion.z_buffer_visible(truth, self.parameters.consistency)

    def in_front(self, offset: float) -> tuple[float, float]:
        """The largest and the smallest D + offset in front of the cameras; see `range_in_front`."""
        if offset not in self._in_front:
            self._in_front[offset] = range_in_front(self.scene.gt, offset)
        return self._in_front[offset]

    def check_size(self, array: NDArray[Any], what: str) -> None:
        """Raise unless an image, map or mask of the scene has the size of its ground truth."""
        if array.shape[:2] != self.scene.shape:
            raise SizeError(
                f"The {what} of scene {self.scene.id!r} is {array.shape[1]}×{array.shape[0]}, its ground truth "
                f"{self.scene.shape[1]}×{self.scene.shape[0]}; both must have one size."
            )

    def own_mask(self, name: str) -> Mask:
        """A mask that comes with the scene, unchanged."""
        mask = self.scene.mask(name)
        self.check_size(mask, f"mask {name!r}")
        return mask

    @property
    def geometry_base(self) -> Mask:
        """M₀, the pixels of the geometry sets: known, seen by both cameras, inside the geometry parameters' margin."""
        height, width = self.scene.shape
        margin = self.protocol.geometry.border_width(width, self.scene.resolution)
        inside = np.zeros((height, width), np.bool_)
        inside[margin : height - margin, margin : width - margin] = True
        return inside & self.known & self.visible if self.scene.has("gt") else inside

    @functools.cached_property
    def geometry(self) -> GeometrySets:
        """The pixel sets of the geometry-aware metrics, from the disk cache if they were computed before."""
        scene = self.scene
        truth = scene.gt if scene.has("gt") else None
        parameters = self.protocol.geometry
        base, drawn = self.geometry_base, drawn_planes(scene)
        with self.stage(GEOMETRY):
            return cached_geometry_sets(truth, base, scene.resolution, parameters, drawn, stage=self.stage)

    @functools.cached_property
    def objects(self) -> dict[ObjectKind, ObjectLabels]:
        """The single planes, fine structures and foreground objects of the geometry sets."""
        return object_labels(self.geometry)
