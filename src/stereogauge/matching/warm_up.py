"""What comes before the clock starts: kernels are compiled or read from their cache, so that a run time is the time of
matching and of nothing else.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.matching.postprocess import PostProcessing

SMALL = (64, 128)
LARGEST_SMALL_RANGE = 32


def on_a_small_pair(function: Callable[..., Any]) -> Callable[..., None]:
    """A `Matcher.prepare` that runs `function` with the given parameters on a tiny pair of the same pixel type.

    It does so once per process for each pixel type and set of parameters.
    """

    @functools.cache
    def once(pixel: str, ndisp: int, parameters: tuple[tuple[str, Any], ...]) -> None:
        image = np.random.default_rng(0).integers(0, 255, SMALL).astype(pixel)
        function(image, image, ndisp, **dict(parameters))

    def prepare(left: NDArray[Any], right: NDArray[Any], ndisp: int, **parameters: Any) -> None:
        once(left.dtype.str, min(ndisp, LARGEST_SMALL_RANGE), tuple(sorted(parameters.items())))

    return prepare


@functools.cache
def prepare_checks() -> None:
    """Compile what post-processing needs."""
    flat = np.zeros(SMALL, np.float32)
    PostProcessing(lr_check=1.0, fill=True).apply(flat, flat, 4, "warm-up")
