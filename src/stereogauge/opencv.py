"""OpenCV, imported when one of its names is first used: reading declarations or scores need not wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cv2 import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        import cv2

        return getattr(cv2, name)
