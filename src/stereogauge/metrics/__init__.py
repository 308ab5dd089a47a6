"""Metrics of disparity maps, each a pure function and a declaration."""
