"""Datasets in their native layouts, results of algorithms on them, and checks of both before computing starts."""

from __future__ import annotations

from stereogauge.datasets.declaration import Archive, DatasetFamily, families, family_of, load_dataset, open_dataset

__all__ = ["Archive", "DatasetFamily", "families", "family_of", "load_dataset", "open_dataset"]
