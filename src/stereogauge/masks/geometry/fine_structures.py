"""Fine structures M_s with their components S, and the background M_n beside them with their disparity D_n."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.edges import beside_structures, thin_runs
from stereogauge.masks.connected import components, without_small_parts
from stereogauge.model import DisparityMap, Mask
from stereogauge.protocol.parameters import GeometryParameters


@dataclass(frozen=True)
class FineStructures:
    """`labels` numbers the structures from 1, in an image; `beside` are the flat positions of M_n.

    There `structure` holds D_n and `beside_label` the number of the structure, 0 where that lies outside M₀.
    """

    labels: NDArray[np.int32]
    beside: NDArray[np.int32]
    structure: NDArray[np.float32]
    beside_label: NDArray[np.int32]

    @classmethod
    def none(cls, shape: tuple[int, int]) -> FineStructures:
        """No structure anywhere."""
        nowhere = np.zeros(0, np.int32)
        return cls(np.zeros(shape, np.int32), nowhere, np.zeros(0, np.float32), nowhere)


def fine_structures(
    filled: DisparityMap, known: Mask, base: Mask, resolution: float, parameters: GeometryParameters
) -> FineStructures:
    """Structures of small horizontal extent: a rising and a falling edge meet on a row within the largest width.

    Components smaller than `fine_share` of the image go; what is left is cut to the evaluation mask `base` and
    labelled again, since the cut may divide a structure, and the ground truth itself would count as fragmented.
    """
    scaled = parameters.at(resolution)
    runs = thin_runs(filled, scaled.fine_gradient, scaled.fine_width)
    fine = without_small_parts(runs & known, parameters.fine_share * filled.size)
    labels, _ = components(fine & base)
    beside, columns = beside_structures(filled, fine, scaled.fine_surround, scaled.fine_gradient)
    positions = np.flatnonzero(beside & base).astype(np.int32)
    width = np.int32(filled.shape[1])
    sources = positions - positions % width + columns.ravel()[positions]
    return FineStructures(labels, positions, filled.ravel()[sources], labels.ravel()[sources])
