"""The criteria of one scene under one protocol: computed once, shared by all algorithms."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from stereogauge.errors import ProtocolError, SizeError, unknown_name
from stereogauge.model import Mask, Scene
from stereogauge.protocol import Protocol
from stereogauge.regions.declaration import declared_regions
from stereogauge.regions.labels import RegionLabels, pack_regions
from stereogauge.regions.parameters import RegionParameters, Rule

if TYPE_CHECKING:
    from stereogauge.regions.geometry_sets import GeometrySets


class Criteria:
    """Masks of a scene, made when first asked for and kept.

    A name is a declared criterion or one of the scene's own masks. Every mask is part of `known`: ground truth known,
    inside the border, and not beyond the protocol's largest disparity.
    """

    def __init__(self, scene: Scene, protocol: Protocol) -> None:
        self.scene = scene
        self.protocol = protocol
        self.parameters: RegionParameters = protocol.criteria
        self._masks: dict[str, Mask] = {}
        self._labels: dict[tuple[str, ...], list[RegionLabels]] = {}

    @functools.cached_property
    def rule(self) -> Rule:
        """The rule in force: what "auto" comes to for this scene."""
        rule = self.parameters.rule
        if rule == "dataset" and "nonocc" not in self.scene.masks:
            raise ProtocolError(
                f"Rule 'dataset' needs the dataset's own occlusion mask, and scene {self.scene.id!r} has none; "
                "use rule 'bidirectional', 'z-buffer' or 'auto'."
            )
        if rule == "bidirectional" and not self.scene.has("gt_right"):
            raise ProtocolError(
                f"Rule 'bidirectional' needs both views' ground truth, and scene {self.scene.id!r} has only the left one's; "
                "use rule 'z-buffer' or 'auto'."
            )
        if rule != "auto":
            return rule
        if "nonocc" in self.scene.masks:
            return "dataset"
        return "bidirectional" if self.scene.has("gt_right") else "z-buffer"

    @functools.cached_property
    def known(self) -> Mask:
        """Pixels that any criterion may hold."""
        truth = self.scene.gt
        known: Mask = np.isfinite(truth)
        if self.protocol.max_disparity is not None:
            known &= truth <= self.protocol.max_disparity
        own_border = self.protocol.border == "dataset" or self.rule == "middlebury-v2"
        border = self.scene.border if own_border else int(self.protocol.border)
        if border > 0:
            inside = np.zeros(truth.shape, np.bool_)
            inside[border : truth.shape[0] - border, border : truth.shape[1] - border] = True
            known &= inside
        return known

    @functools.cached_property
    def visible(self) -> Mask:
        """Pixels that both cameras see, by the rule; also where the ground truth is unknown or in the border."""
        from stereogauge.regions import occlusion

        truth = self.scene.gt
        if self.rule == "dataset":
            return self._own_mask("nonocc")
        if self.rule == "middlebury-v2":
            return occlusion.middlebury_v2_visible(truth)
        if self.rule == "bidirectional":
            return occlusion.bidirectional_visible(truth, self.scene.gt_right, self.parameters.consistency)
        return occlusion.z_buffer_visible(truth, self.parameters.consistency)

    def _own_mask(self, name: str) -> Mask:
        mask = self.scene.mask(name)
        if mask.shape != self.scene.gt.shape:
            raise SizeError(
                f"Mask {name!r} of scene {self.scene.id!r} is {mask.shape[1]}×{mask.shape[0]}, its ground truth "
                f"{self.scene.gt.shape[1]}×{self.scene.gt.shape[0]}; both must have one size."
            )
        return mask

    def mask(self, name: str) -> Mask:
        """The criterion called `name`."""
        if name not in self._masks:
            declared = declared_regions()
            if name in declared:
                raw = declared[name].compute(self)
            elif name in self.scene.masks:
                raw = self._own_mask(name)
            else:
                raise unknown_name("criterion", name, {*declared, *self.scene.masks})
            mask = raw & self.known
            mask.flags.writeable = False
            self._masks[name] = mask
        return self._masks[name]

    def labels(self, names: Iterable[str]) -> list[RegionLabels]:
        """The criteria packed for one pass over the pixels."""
        key = tuple(names)
        if key not in self._labels:
            self._labels[key] = pack_regions({name: self.mask(name) for name in key})
        return self._labels[key]

    @functools.cached_property
    def geometry(self) -> GeometrySets:
        """The pixel sets of the geometry-aware metrics, from the disk cache where they are there."""
        from stereogauge.regions.geometry_sets import load_geometry_sets

        return load_geometry_sets(self)


def regions(
    scene: Scene,
    names: Iterable[str] = ("all", "nonocc", "disc"),
    *,
    rule: Rule | None = None,
    protocol: Protocol | str | None = None,
) -> dict[str, Mask]:
    """Boolean masks of the named criteria; `rule` overrides the protocol's."""
    from stereogauge.protocol import load_protocol

    chosen = load_protocol(protocol)
    if rule is not None:
        chosen = chosen.replace(**{"criteria.rule": rule})
    criteria = Criteria(scene, chosen)
    return {name: criteria.mask(name) for name in names}
