"""Datasets in their native layouts, the results of algorithms on them, and checks of both before anything is
computed.
"""

from __future__ import annotations

from stereogauge.datasets.declaration import Archive, DatasetFamily, families, family_of, load_dataset, open_dataset

__all__ = ["Archive", "DatasetFamily", "families", "family_of", "load_dataset", "open_dataset"]
