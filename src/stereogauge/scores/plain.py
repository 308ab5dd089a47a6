"""Values as JSON can hold them: one rule for every document that the program writes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def json_value(value: Any) -> Any:
    """Null for NaN, the texts "inf" and "-inf" for infinities, plain numbers instead of NumPy's; lists entry by entry.

    >>> json_value([1.5, float("nan"), float("inf"), np.int64(3), "words"])
    [1.5, None, 'inf', 3, 'words']
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_value(entry) for entry in value]
    if isinstance(value, dict):
        return {key: json_value(entry) for key, entry in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
