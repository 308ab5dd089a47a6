"""Single planes, fine structures and foreground objects as regions: `plane@3`, `structure@2`, `object@5`."""

from __future__ import annotations

from collections.abc import Callable

from stereogauge.errors import NotApplicable
from stereogauge.masks.declaration import region
from stereogauge.masks.evaluated_scene import EvaluatedScene
from stereogauge.masks.geometric import HCI
from stereogauge.masks.geometry.objects import KINDS, ObjectKind
from stereogauge.model import Mask
from stereogauge.registry import Parameter

AFTER = f"after {HCI}"
NUMBER = (Parameter("number", description="which one, from 1", low=1.0, high=1e6),)


def _mask(evaluated: EvaluatedScene, kind: ObjectKind, number: float) -> Mask:
    labels = evaluated.objects[kind].area
    most = int(labels.max(initial=0))
    if number != int(number) or number > most:
        refusal = evaluated.geometry.refusal
        raise NotApplicable(
            refusal or f"Scene {evaluated.scene.id!r} has {most} {KINDS[kind]}s; found the number {number:g}."
        )
    mask: Mask = labels == int(number)
    return mask


def _compute(kind: ObjectKind, text: str) -> Callable[[EvaluatedScene, float], Mask]:
    def compute(evaluated: EvaluatedScene, number: float) -> Mask:
        return _mask(evaluated, kind, number)

    compute.__doc__ = text
    return compute


plane = region(id="plane", name="One plane", definition=r"M_{p_i}", source=AFTER, parameters=NUMBER)(
    _compute("plane", "The pixels of one of the scene's planes.")
)
structure = region(id="structure", name="One fine structure", definition=r"s \in S", source=AFTER, parameters=NUMBER)(
    _compute("structure", "The pixels of one fine structure, and of the background that lies beside it.")
)
foreground_object = region(
    id="object", name="One foreground object", definition=r"o \subseteq M_e", source=AFTER, parameters=NUMBER
)(
    _compute(
        "object",
        "The surroundings of depth discontinuities that belong to one connected foreground: its own band, the "
        "discontinuity, and the background on the other side.",
    )
)
