"""The bound s(φ): bad pixels that every single measure would keep at density φ.

R. Haeusler, R. Klette, ECCV workshops 2012, eq. 8. A combination that removed a pixel as soon as one measure does
would leave s(φ) bad pixels, and keep fewer pixels than φ: its own density is part of the answer, and at that density a
single measure may leave fewer bad pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable


@dataclass(frozen=True, eq=False)
class CombinationBound:
    """For each number k of pixels that each measure keeps: how many of them all keep, and how many of those are bad."""

    entries: NDArray[np.int64]
    bad_entries: NDArray[np.int64]
    pixels: int

    def at(self, density: float) -> float:
        """s(φ): bad pixels with Γᵢ ≤ γᵢ(φ) for every i, γᵢ(φ) the value of Γᵢ that keeps a share φ of all pixels."""
        return float(np.searchsorted(self.bad_entries, self._count(density), side="right"))

    def density_at(self, density: float) -> float:
        """The share of pixels that all measures keep at φ."""
        return float(np.searchsorted(self.entries, self._count(density), side="right")) / self.pixels

    def counts(self, densities: NDArray[np.float64]) -> NDArray[np.float64]:
        """s at several densities."""
        return np.array([self.at(float(density)) for density in densities])

    def densities(self, densities: NDArray[np.float64]) -> NDArray[np.float64]:
        """The bound's own density at several φ."""
        return np.array([self.density_at(float(density)) for density in densities])

    def _count(self, density: float) -> int:
        return int(np.ceil(density * self.pixels - 1e-9))


def combination_bound(
    maps: Mapping[str, NDArray[Any]], bad: NDArray[np.bool_], domain: NDArray[np.bool_]
) -> CombinationBound:
    """The bound for these measures on the pixels of `domain`.

    A measure keeps pixel p at φ when fewer than φ·N pixels are strictly more confident; the pixel enters when the
    last measure admits it.
    """
    pixels = int(domain.sum())
    if pixels == 0 or not maps:
        raise NotApplicable("The bound needs at least one measure and one pixel with ground truth.")
    entries = np.zeros(pixels, np.int64)
    for values in maps.values():
        inside = np.nan_to_num(np.asarray(values)[domain].astype(np.float64), nan=np.inf)
        ordered = np.sort(inside)
        entries = np.maximum(entries, np.searchsorted(ordered, inside, side="left") + 1)
    return CombinationBound(np.sort(entries), np.sort(entries[bad[domain]]), pixels)
