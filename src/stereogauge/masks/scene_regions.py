"""The regions of one scene under one protocol: computed once, shared by all algorithms."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from stereogauge.display import NamedMaps
from stereogauge.errors import NotApplicable, StereogaugeError
from stereogauge.masks.declaration import declared_regions
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.masks.expression import Combination, Expression, check_region
from stereogauge.masks.labels import RegionLabels, pack_regions
from stereogauge.model import Mask, Scene
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.protocol.parameters import Rule
from stereogauge.stages import Stage, unseen

MOST_KEPT = 64
"""Masks of one scene; a site's visitors may ask for any number of combinations."""


class SceneRegions(EvaluatedScene):
    """Masks of a scene, made when first asked for and kept.

    A name is that of a declared region or of a mask that comes with the scene, or an expression of such names. Every
    mask is part of `known`: pixels with known ground truth, inside the border and the dataset's mask of all pixels, and
    not beyond the protocol's largest disparity.
    """

    def __init__(self, scene: Scene, protocol: Protocol, stage: Stage = unseen) -> None:
        super().__init__(scene, protocol, stage)
        self._named: dict[str, Mask] = {}
        self._masks: dict[Expression, Mask] = {}
        self._labels: dict[tuple[str, ...], list[RegionLabels]] = {}

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
        if name not in self._named:
            self._named[name] = self._mask(check_region(name, self.scene.masks))
        return self._named[name]

    def _mask(self, expression: Expression) -> Mask:
        if expression not in self._masks:
            if len(self._masks) >= MOST_KEPT:
                self._masks.clear()
                self._named.clear()
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
            self._labels[key] = pack_regions({name: self.mask(name) for name in key})
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
