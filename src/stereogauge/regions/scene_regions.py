"""The regions of one scene under one protocol: computed once, shared by all algorithms."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable, ProtocolError, SizeError, unknown_name
from stereogauge.model import Mask, Scene
from stereogauge.protocol import Protocol
from stereogauge.protocol.regions import RegionParameters, Rule
from stereogauge.regions.declaration import declared_regions, region_declaration
from stereogauge.regions.labels import RegionLabels, pack_regions

if TYPE_CHECKING:
    from stereogauge.regions.geometric import GeometrySets


class SceneRegions:
    """Masks of a scene, made when first asked for and kept.

    A name is a declared region or one of the scene's own masks. Every mask is part of `known`: ground truth known,
    inside the border and the dataset's own mask of all pixels, and not beyond the protocol's largest disparity.
    """

    def __init__(self, scene: Scene, protocol: Protocol) -> None:
        self.scene = scene
        self.protocol = protocol
        self.parameters: RegionParameters = protocol.region_rules
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
                f"Rule 'bidirectional' needs both views' ground truth, and scene {self.scene.id!r} has only the "
                f"left one's; "
                "use rule 'z-buffer' or 'auto'."
            )
        if rule != "auto":
            return rule
        if "nonocc" in self.scene.masks:
            return "dataset"
        return "bidirectional" if self.scene.has("gt_right") else "z-buffer"

    @property
    def border(self) -> int:
        """The margin in px that no region enters; at least the scene's own under Middlebury's v2 rule."""
        wanted = self.protocol.border
        if wanted == "dataset":
            return self.scene.border
        if wanted == "hci":
            wanted = self.protocol.geometry.border_width(self.scene.shape[1], self.scene.resolution)
        return max(wanted, self.scene.border) if self.parameters.rule == "middlebury-v2" else wanted

    @functools.cached_property
    def extent(self) -> Mask:
        """The dataset's own mask of all pixels to evaluate; every pixel where it ships none or the rule ignores it."""
        if "all" in self.scene.masks and self.parameters.rule in ("auto", "dataset"):
            return self.own_mask("all")
        return np.ones(self.scene.shape, np.bool_)

    @functools.cached_property
    def known(self) -> Mask:
        """Pixels that any region may hold; without ground truth, all inside the border."""
        known: Mask = np.ones(self.scene.shape, np.bool_)
        if self.scene.has("gt"):
            known &= np.isfinite(self.scene.gt)
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
        """Pixels that both cameras see, by the rule; also where the ground truth is unknown or in the border."""
        from stereogauge.regions import occlusion

        truth = self.scene.gt
        if self.rule == "dataset":
            return self.own_mask("nonocc")
        if self.rule == "middlebury-v2":
            return occlusion.middlebury_v2_visible(truth)
        if self.rule == "bidirectional":
            self.check_size(self.scene.gt_right, "right ground truth")
            return occlusion.bidirectional_visible(truth, self.scene.gt_right, self.parameters.consistency)
        return occlusion.z_buffer_visible(truth, self.parameters.consistency)

    def check_size(self, array: NDArray[Any], what: str) -> None:
        """Refuse an image, map or mask of the scene that its ground truth does not fit."""
        if array.shape[:2] != self.scene.shape:
            raise SizeError(
                f"The {what} of scene {self.scene.id!r} is {array.shape[1]}×{array.shape[0]}, its ground truth "
                f"{self.scene.shape[1]}×{self.scene.shape[0]}; both must have one size."
            )

    def own_mask(self, name: str) -> Mask:
        """One of the scene's own masks, as it was given."""
        mask = self.scene.mask(name)
        self.check_size(mask, f"mask {name!r}")
        return mask

    def _check_needs(self, name: str) -> None:
        needs = region_declaration(name).needs
        if name != "all" and not self.scene.has("gt") and "gt" in needs:
            raise NotApplicable(
                f"Region {name!r} needs ground truth, and scene {self.scene.id!r} has none; use 'all' or a "
                f"mask of the scene."
            )
        for part, what in (("left", "left image"), ("right", "right image"), ("gt_right", "right ground truth")):
            if part in needs and not self.scene.has(part):
                raise NotApplicable(f"Region {name!r} needs the {what}, and scene {self.scene.id!r} has none.")

    def mask(self, name: str) -> Mask:
        """The region called `name`."""
        if name not in self._masks:
            declared = declared_regions()
            if name in declared:
                self._check_needs(name)
                raw = declared[name].compute(self)
                self.check_size(raw, f"region {name!r}")
            elif name in self.scene.masks:
                raw = self.own_mask(name)
            else:
                raise unknown_name("region", name, {*declared, *self.scene.masks})
            mask = raw & self.known
            mask.flags.writeable = False
            self._masks[name] = mask
        return self._masks[name]

    def labels(self, names: Iterable[str]) -> list[RegionLabels]:
        """The regions packed for one pass over the pixels."""
        key = tuple(names)
        if key not in self._labels:
            self._labels[key] = pack_regions({name: self.mask(name) for name in key})
        return self._labels[key]

    @functools.cached_property
    def geometry(self) -> GeometrySets:
        """The pixel sets of the geometry-aware metrics, from the disk cache where they are there."""
        from stereogauge.regions.geometric import load_geometry_sets

        return load_geometry_sets(self)


def regions(
    scene: Scene,
    names: Iterable[str] | str = ("all", "nonocc", "disc"),
    *,
    rule: Rule | None = None,
    protocol: Protocol | str | None = None,
) -> dict[str, Mask]:
    """Boolean masks of the named regions; `rule` overrides the protocol's."""
    from stereogauge.protocol import load_protocol

    chosen = load_protocol(protocol)
    if rule is not None:
        chosen = chosen.replace(**{"region_rules.rule": rule})
    scene_regions = SceneRegions(scene, chosen)
    return {name: scene_regions.mask(name) for name in ([names] if isinstance(names, str) else names)}
