"""OpenCV, imported when one of its names is first used: reading declarations or scores need not wait for it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cv2 as cv2
else:

    class _Later:
        """Has the names of a module that is imported for the first of them."""

        def __getattr__(self, name: str) -> Any:
            return getattr(importlib.import_module("cv2"), name)

    cv2 = _Later()
