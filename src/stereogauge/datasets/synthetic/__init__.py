"""Rendered scenes with exact ground truth. The renderer is imported at the first use of `load_synthetic`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stereogauge.datasets.synthetic.dataset import load_synthetic

__all__ = ["load_synthetic"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.dataset"), name)
