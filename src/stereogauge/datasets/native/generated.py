"""Scenes that are rendered instead of read; the generator itself is imported when one is asked for."""

from stereogauge.datasets.synthetic.dataset import SYNTHETIC

__all__ = ["SYNTHETIC"]
