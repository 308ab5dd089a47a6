"""OpenCV, imported when one of its names is first used: reading declarations or scores need not wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import cv2 as cv2
else:

    class _AtFirstUse:
        """Stands for the module."""

        def __getattr__(self, name: str) -> Any:
            import cv2

            return getattr(cv2, name)

    cv2 = _AtFirstUse()
