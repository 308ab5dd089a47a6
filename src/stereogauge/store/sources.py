"""Sources of maps, images and masks as text from which the same source is made again; an array has no such text."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

from stereogauge.errors import StereogaugeError, StoreError
from stereogauge.io.content import is_remote
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Scene

KINDS: dict[str, type[Any]] = {"disparity": DisparityFile, "image": ImageFile, "mask": MaskFile}
_KIND_OF = {file: kind for kind, file in KINDS.items()}
_DEFAULTS = {
    kind: [(field.name, field.default) for field in dataclasses.fields(file) if field.name != "path"]
    for kind, file in KINDS.items()
}
PARTS = ("gt", "gt_right", "left", "right")


def source_values(source: Any) -> dict[str, Any] | str | None:
    """A source as plain values; None for an array or for nothing."""
    if isinstance(source, str | os.PathLike):
        return _absolute(source)
    kind = _KIND_OF.get(type(source))
    if kind is None:
        return None
    kept = {name: value for name, default in _DEFAULTS[kind] if (value := getattr(source, name)) != default}
    if "masks" in kept:
        kept["masks"] = [_absolute(mask) for mask in kept["masks"]]
    if "calibration" in kept:
        kept["calibration"] = dataclasses.asdict(kept["calibration"])
    return {"kind": kind, "path": _absolute(source.path), **kept}


def source_of_values(values: dict[str, Any] | str | None) -> Any:
    """The source that `source_values` described."""
    if not isinstance(values, dict):
        return values
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    kind = str(fields.pop("kind"))
    if "calibration" in fields:
        fields["calibration"] = Calibration(**fields["calibration"])
    return KINDS[kind](**fields)


def source_text(source: Any) -> str:
    """A source as text, "" where it came from no file."""
    values = source_values(source)
    return "" if values is None else json.dumps(values, sort_keys=True)


def source_of_text(text: str) -> Any:
    """The source that `source_text` described; None where there is none."""
    return source_of_values(json.loads(text)) if text else None


def paths_of(source: Any) -> tuple[str | os.PathLike[str], ...]:
    """The files that reading a source reads."""
    if isinstance(source, str | os.PathLike):
        return (source,)
    path = getattr(source, "path", None)
    return () if path is None else (path, *getattr(source, "masks", ()))


def scene_text(scene: Scene) -> str:
    """Everything that a scene is made of, as text."""
    described = {
        **{part: source_values(scene.source(part)) for part in PARTS},
        "masks": {name: source_values(scene.mask_source(name)) for name in scene.masks},
        "views": {str(position): source_values(scene.view_source(position)) for position in scene.views},
        "calibration": dataclasses.asdict(scene.calibration),
        "resolution": scene.stated_resolution,
        "size": _size(scene),
        "border": scene.border,
        "metadata": dict(scene.metadata),
    }
    return json.dumps(described, sort_keys=True, default=str)


def _size(scene: Scene) -> float | None:
    """The scene's size; None where neither it is stated nor an image can be read."""
    try:
        return scene.size
    except StereogaugeError:
        return None


def scene_of_text(text: str, name: str, dataset: str) -> Scene:
    """The scene that `scene_text` described; parts that came from no file are absent."""
    described = json.loads(text)
    if "calibration" not in described:
        raise StoreError(f"The store does not know where scene {name!r} of {dataset} came from; evaluate it again.")
    masks = {key: source_of_values(value) for key, value in described["masks"].items()}
    views = {float(key): source_of_values(value) for key, value in described["views"].items()}
    gt, gt_right, left, right = (source_of_values(described[part]) for part in PARTS)
    return Scene(
        name,
        gt,
        left,
        right,
        gt_right=gt_right,
        calibration=Calibration(**described["calibration"]),
        masks={key: value for key, value in masks.items() if value is not None},
        views={key: value for key, value in views.items() if value is not None},
        dataset=dataset,
        resolution=described["resolution"],
        border=described["border"],
        metadata=described["metadata"],
    )


def _absolute(path: str | os.PathLike[str]) -> str:
    return str(path) if is_remote(path) else os.path.abspath(path)
