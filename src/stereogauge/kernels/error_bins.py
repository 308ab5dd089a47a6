"""The errors in some bins of the histogram, which order statistics are read from, found by the keys of all pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import helper, kernel
from stereogauge.kernels.pixelwise import GUARD, Flags, Floats, Keys, Places, Slots, Words, fetch, position_among_bins

PARTS = 64  # of a bin
PART_SHIFT = np.uint32(17 - 6)


@helper
def _find(row: Keys, wanted: Flags, columns: Places) -> int:
    """The columns of pixels whose key is wanted; returns how many. Few are: four are asked about at once."""
    found = 0
    for four in range(row.size // 4):
        x = four * 4
        if wanted[row[x]] | wanted[row[x + 1]] | wanted[row[x + 2]] | wanted[row[x + 3]]:
            for near in range(x, x + 4):
                columns[found] = near
                found += wanted[row[near]]
    for x in range(row.size - row.size % 4, row.size):
        columns[found] = x
        found += wanted[row[x]]
    return found


@kernel
def collect_errors(
    estimate: Floats,
    truth: Floats,
    slots: Slots,
    keys: Keys,
    members: Flags,
    wanted: Flags,
    numbers: Places,
    columns: Places,
    next_place: Places,
    errors: Floats,
    parts: NDArray[np.uint8],
    owners: Slots,
    counts: Words,
) -> None:
    """|e|, the part of its bin and the slot of all pixels in some bins, those of one bin one after the other.

    `wanted` tells which keys are those of the bins, and `numbers` has the number of its bin for each of these keys.
    `next_place` tells where the next pixel of each bin goes. `counts` (bin, part, region) are numbers of pixels, and
    `members` (slot, region) tells who belongs to a region. `columns` are two scratch rows with room for one pixel more:
    what belongs to the pixels of a row is fetched from memory while the next row is searched.
    """
    height, width = keys.shape
    found = 0
    for y in range(height + 1):
        before, found = found, 0
        if y < height:
            found = _find(keys[y], wanted, columns[y & 1])
            for i in range(found):
                pixel = y * width + columns[y & 1, i]
                fetch(estimate, pixel)
                fetch(truth, pixel)
                fetch(slots, pixel)
        for i in range(before):
            x = columns[(y - 1) & 1, i]
            number = numbers[keys[y - 1, x]]
            slot = slots[y - 1, x]
            error = abs(estimate[y - 1, x] - truth[y - 1, x])
            part = (position_among_bins(error - GUARD) >> PART_SHIFT) & np.uint32(PARTS - 1)
            place = next_place[number]
            next_place[number] = place + 1
            errors[place] = error
            parts[place] = part
            owners[place] = slot
            for region in range(members.shape[1]):
                counts[number, part, region] += members[slot, region]
