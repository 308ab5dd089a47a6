"""Synthetic worlds with exact ground truth in both views."""
