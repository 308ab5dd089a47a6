"""Rendered scenes with exact ground truth."""

from stereogauge.datasets.synthetic.scene import load_synthetic, save_middlebury_layout

__all__ = ["load_synthetic", "save_middlebury_layout"]
