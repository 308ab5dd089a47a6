"""Reading and writing disparity maps, images and masks.

The names are imported when first used, so that this package costs nothing to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stereogauge.io.disparity import read_disparity, write_disparity
    from stereogauge.io.encodings import ENCODINGS, Encoding
    from stereogauge.io.files import (
        DisparityFile,
        ImageFile,
        MaskFile,
        content_hash,
        load_disparity,
        load_image,
        load_mask,
    )
    from stereogauge.io.images import read_image
    from stereogauge.io.inspection import FileReport, inspect_disparity

_HOMES = {
    "read_disparity": "disparity",
    "write_disparity": "disparity",
    "ENCODINGS": "encodings",
    "Encoding": "encodings",
    "DisparityFile": "files",
    "ImageFile": "files",
    "MaskFile": "files",
    "content_hash": "files",
    "load_disparity": "files",
    "load_image": "files",
    "load_mask": "files",
    "read_image": "images",
    "FileReport": "inspection",
    "inspect_disparity": "inspection",
}

__all__ = [
    "ENCODINGS",
    "DisparityFile",
    "Encoding",
    "FileReport",
    "ImageFile",
    "MaskFile",
    "content_hash",
    "inspect_disparity",
    "load_disparity",
    "load_image",
    "load_mask",
    "read_disparity",
    "read_image",
    "write_disparity",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
