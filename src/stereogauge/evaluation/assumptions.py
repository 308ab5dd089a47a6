"""What scores of a scene rest on beside the protocol: a hash of all inputs, and what was assumed rather than stated."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.fingerprints import ContentHashes, scene_contents
from stereogauge.hashing import values_hash
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import DisparityMap, Scene
from stereogauge.protocol import Protocol

RULES = {
    "dataset": "from the dataset's mask",
    "bidirectional": "from the ground truths of both views",
    "z-buffer": "from the ground truth by z-buffer",
    "middlebury-v2": "from the ground truth as Middlebury v2 does",
}


def inputs_hash(scenes: Sequence[Scene], common: Sequence[str] = ()) -> str:
    """Twelve digits that change with the ground truth, images, masks, calibration, resolution or border of a scene.

    `common` are hashes by `estimated_hash` of the maps, scene by scene, where only pixels that all estimate are
    measured.

    >>> truth = np.full((4, 8), 2.0)
    >>> inputs_hash([sg.Scene("a", gt=truth)]) == inputs_hash([sg.Scene("a", gt=truth, resolution=0.25)])
    False
    """
    contents = scene_contents(scenes, ContentHashes(None))
    known = {name: answer for name, answer in contents.items() if isinstance(answer, str)}
    return contents_hash({**known, **{f"common {place}": digits for place, digits in enumerate(common)}})


def estimated_hash(maps: Iterable[DisparityMap]) -> str:
    """Digits that change with the pixels that each of these maps estimates."""
    digest = hashlib.sha256()
    for one in maps:
        digest.update(np.packbits(np.isfinite(one)).tobytes())
    return digest.hexdigest()


def contents_hash(contents: Mapping[str, str]) -> str:
    """The same, of hashes by scene that are known already."""
    return values_hash(dict(contents))[:12]


def assumptions(scenes: Iterable[Scene], protocol: Protocol) -> str:
    """One line of what was assumed; "" where everything was stated.

    >>> assumptions([sg.Scene("a", gt=np.full((4, 3000), 2.0))], sg.load_protocol("default"))
    'nonocc from the ground truth by z-buffer; resolution 1'
    """
    rules: dict[str, None] = {}
    sizes: dict[str, None] = {}
    for scene in scenes:
        try:
            if protocol.region_rules.rule == "auto" and set(protocol.regions) - {"all"} and scene.has("gt"):
                rules[RULES[SceneRegions(scene, protocol).rule]] = None
            if scene.stated_resolution is None:
                sizes[f"{scene.resolution:.3g}"] = None
        except StereogaugeError:
            continue  # what cannot be read is said elsewhere
    parts = [f"nonocc {' or '.join(rules)}"] if rules else []
    parts += [f"resolution {', '.join(sizes)}"] if sizes else []
    return "; ".join(parts)
