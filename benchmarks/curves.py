"""A curve of cost over the size of the work, and how fast it grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.timing import interleave


@dataclass(frozen=True)
class Curve:
    """Seconds of `name` (fastest of several rounds) at each size; `over` is what the sizes count."""

    over: str
    name: str
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The exponent p of seconds ∝ sizeᵖ between the larger half of the sizes, where fixed costs matter least.

        The least-squares line through logarithms; 1 is linear growth.
        """
        start = min(len(self.sizes) // 2, len(self.sizes) - 2)
        return float(np.polyfit(np.log(self.sizes[start:]), np.log(self.seconds[start:]), 1)[0])

    def to_dict(self) -> dict[str, Any]:
        return {
            "over": self.over,
            "name": self.name,
            "sizes": list(self.sizes),
            "seconds": list(self.seconds),
            "slope": self.slope,
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Curve:
        return cls(plain["over"], plain["name"], tuple(plain["sizes"]), tuple(plain["seconds"]))


def measure_curve(
    over: str, name: str, sizes: Sequence[float], work: Callable[[Any], Callable[[], Any]], rounds: int = 3
) -> Curve:
    """Time `work(size)`, all sizes in turn; what it prepares does not count."""
    times = interleave({str(size): work(size) for size in sizes}, rounds=rounds)
    return Curve(over, name, tuple(float(size) for size in sizes), tuple(t.fastest for t in times.values()))
