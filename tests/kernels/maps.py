"""Disparity maps on which kernels are compared with plain references: random, adversarial and degenerate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

SHAPES = ((1, 1), (1, 13), (11, 1), (2, 2), (9, 19), (14, 12))
WILD = np.float32([np.nan, np.inf, -np.inf, 1e30, -1e30, 3e38, 0.5, -0.5, 0.49999997, -0.0])
KINDS = ("surfaces", "noise", "whole numbers", "equal", "gaps", "nothing known", "wild")


def disparity_map(kind: str, shape: tuple[int, int], random: np.random.Generator) -> Floats:
    """A map of one of the kinds."""
    rows, columns = np.indices(shape)
    surfaces = 3 + 0.25 * rows + 0.125 * columns + np.where(columns > shape[1] // 2, 6.0, 0.0)
    surfaces[random.random(shape) < 0.1] += 9
    noise = random.normal(4, 5, shape)
    found = {
        "surfaces": surfaces,
        "noise": noise,
        "whole numbers": np.round(noise),
        "equal": np.full(shape, 2.5),
        "gaps": np.where(random.random(shape) < 0.3, np.nan, noise),
        "nothing known": np.full(shape, np.nan),
        "wild": np.where(random.random(shape) < 0.3, random.choice(WILD, shape), surfaces),
    }[kind]
    return found.astype(np.float32)


def all_maps(seed: int = 0) -> list[tuple[Floats, np.random.Generator]]:
    """Every kind in every shape, with a generator for what else a test needs."""
    random = np.random.default_rng(seed)
    return [(disparity_map(kind, shape, random), random) for shape in SHAPES for kind in KINDS]
