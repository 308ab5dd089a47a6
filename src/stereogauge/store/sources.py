"""Sources of maps, images and masks as text from which the same source is made again; an array has no such text."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict, fields

from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.errors import StereogaugeError
from stereogauge.io.files import MASK_KINDS, DisparityFile, ImageFile
from stereogauge.io.remote import is_remote
from stereogauge.model import Calibration, Scene
from stereogauge.tags import Tags

KINDS: dict[str, type[Any]] = {"disparity": DisparityFile, "image": ImageFile, **MASK_KINDS}
_KIND_OF = {file: kind for kind, file in KINDS.items()}
_DEFAULTS = {kind: {field.name: field.default for field in fields(file)} for kind, file in KINDS.items()}
_IN_ORDER = json.JSONEncoder(sort_keys=True)  # one for all: json.dumps makes a new one per call
PARTS = ("gt", "gt_right", "left", "right")
FINE = "gt_fine"


def source_values(source: Any) -> dict[str, Any] | str | None:
    """A source as plain values; None for an array or for nothing."""
    kind = _KIND_OF.get(type(source))
    if kind is None:
        return _absolute(source) if isinstance(source, str | os.PathLike) else None
    usual = _DEFAULTS[kind]
    stated = asdict(source)
    if {**stated, "path": usual["path"]} == usual:
        return {"kind": kind, "path": _absolute(source.path)}
    kept = {name: value for name, value in stated.items() if value is not usual[name] and value != usual[name]}
    if "masks" in kept:
        kept["masks"] = [_absolute(mask) for mask in kept["masks"]]
    if "calibration" in kept:
        kept["calibration"] = asdict(kept["calibration"])
    return {**kept, "kind": kind, "path": _absolute(source.path)}


def source_of_values(values: dict[str, Any] | str | None) -> Any:
    """The source that `source_values` described."""
    if not isinstance(values, dict):
        return values
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    kind = str(given.pop("kind"))
    if kind not in KINDS:
        raise StereogaugeError(
            f"{given.get('path')}: files of the kind {kind!r} are no longer read; convert them and evaluate again."
        )
    if "calibration" in given:
        given["calibration"] = Calibration(**given["calibration"])
    return KINDS[kind](**given)


def source_text(source: Any) -> str:
    """A source as text, "" where it came from no file."""
    values = source_values(source)
    if isinstance(values, dict) and len(values) == 2:  # most have a path only
        return f'{{"kind": "{values["kind"]}", "path": {_IN_ORDER.encode(values["path"])}}}'
    return "" if values is None else _IN_ORDER.encode(values)


def source_of_text(text: str) -> Any:
    """The source that `source_text` described; None where there is none."""
    return source_of_values(json.loads(text)) if text else None


def tags_text(tags: Tags) -> str:
    """Tags as text."""
    return json.dumps({name: list(values) for name, values in tags.items()}, sort_keys=True, ensure_ascii=False)


def tags_of_text(text: str) -> dict[str, tuple[str, ...]]:
    """The tags that `tags_text` described."""
    return {name: tuple(values) for name, values in json.loads(text or "{}").items()}


def confidence_text(confidence: ConfidenceSource | None) -> str:
    """Where a confidence map lies and which of its values are better, "" where it came from no file."""
    values = None if confidence is None else source_values(confidence.source)
    if confidence is None or values is None:
        return ""
    return json.dumps({"source": values, "better": confidence.better}, sort_keys=True)


def confidence_of_text(text: str) -> ConfidenceSource | None:
    """The confidence map that `confidence_text` described."""
    described = json.loads(text) if text else None
    return None if described is None else ConfidenceSource(source_of_values(described["source"]), described["better"])


def paths_of(source: Any) -> tuple[str | os.PathLike[str], ...]:
    """The files that reading a source reads."""
    if type(source) in _KIND_OF:
        path, masks = source.path, getattr(source, "masks", ())
    elif isinstance(source, str | os.PathLike):
        return (source,)
    else:
        path, image, masks = (getattr(source, name, None) for name in ("path", "image", "masks"))
        masks = (*(() if image is None else (image,)), *(masks or ()))
    return () if path is None else (path, *masks)


def scene_text(scene: Scene, facts: Mapping[str, Any] | None = None) -> str:
    """Everything that a scene is made of, and what is known of it, as text."""
    described = {
        **{part: source_values(scene.source(part)) for part in (*PARTS, FINE)},
        "masks": {name: source_values(scene.mask_source(name)) for name in scene.masks},
        "views": {str(position): source_values(scene.view_source(position)) for position in scene.views},
        "calibration": asdict(scene.calibration),
        "resolution": scene.stated_resolution,
        "facts": dict(facts or {}),
        "border": scene.border,
        "metadata": dict(scene.metadata),
    }
    return json.dumps(described, sort_keys=True, default=str)


def scene_of_text(text: str, name: str, dataset: str) -> Scene:
    """The scene that `scene_text` described; parts that came from no file are absent."""
    described = json.loads(text)
    if "calibration" not in described:
        raise StereogaugeError(
            f"The store holds scores of scene {name!r} of {dataset} but not where its files lie, so it cannot be "
            "shown; scores that were imported have no files: evaluate the scene into this store."
        )
    masks = {key: source_of_values(value) for key, value in described["masks"].items()}
    views = {float(key): source_of_values(value) for key, value in described["views"].items()}
    gt, gt_right, left, right = (source_of_values(described[part]) for part in PARTS)
    return Scene(
        name,
        gt,
        left,
        right,
        gt_right=gt_right,
        gt_fine=source_of_values(described.get(FINE)),
        calibration=Calibration(**described["calibration"]),
        masks={key: value for key, value in masks.items() if value is not None},
        views={key: value for key, value in views.items() if value is not None},
        dataset=dataset,
        resolution=described["resolution"],
        border=described["border"],
        metadata=described["metadata"],
    )


def _absolute(path: str | os.PathLike[str]) -> str:
    if is_remote(path):
        return str(path)
    if isinstance(path, str) and path.startswith(os.sep):
        folder, _, name = path.rpartition(os.sep)
        usual = _usual(folder or os.sep)
        if name not in ("", ".", "..") and not usual.endswith(os.sep):
            return f"{usual}{os.sep}{name}"
    return os.path.abspath(path)


@functools.lru_cache(256)
def _usual(folder: str) -> str:
    """An absolute path in its usual form; many files lie in one folder."""
    return os.path.abspath(folder)
