"""The pixels in some bins of the histogram, which order statistics are read from, found by the keys of all pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.jit import Instruction, helper, kernel
from stereogauge.kernels.pixelwise import PART_BITS, PARTS, Flags, Floats, Keys, Places, Slots, Words, fetch

AT_ONCE = 64
"""Keys that are asked about at once."""

BUCKETS = 8

AHEAD = 16
"""Pixels that are fetched from memory before they are needed."""

among_keys = Instruction("stereogauge.kernels.key_search", "among_keys")
lowest_bit = Instruction("stereogauge.kernels.key_search", "lowest_bit")


def digit_tables(keys: Sequence[int]) -> NDArray[np.uint8]:
    """What `among_keys` finds some keys by, all different and in order: three tables of 16 bytes, each four times.

    Neighbouring keys share one of eight buckets, a bit each. Table k has the buckets of all keys whose k-th hexadecimal
    digit is the index. A key whose three digits have a bucket in common is one of them, or has the digits of several.
    """
    tables = [[0] * 16 for _ in range(3)]
    for number, key in enumerate(keys):
        bucket = 1 << number * BUCKETS // len(keys)
        for place, table in enumerate(tables):
            table[key >> 4 * place & 15] |= bucket
    return np.array([table * (AT_ONCE // 16) for table in tables], np.uint8).ravel()


@helper
def _find(
    keys: Keys,
    slots: Slots,
    y: int,
    tables: NDArray[np.uint8],
    numbers: Places,
    found_bits: NDArray[np.uint64],
    starts: Places,
    columns: Places,
) -> int:
    """The columns of pixels of a row whose key has a number; returns how many.

    Few have: where they may be is found first, without a branch that the processor could not foresee.
    """
    row = keys[y]
    blocks = 0
    whole = row.size - row.size % AT_ONCE
    for start in range(0, whole, AT_ONCE):
        bits = among_keys(row, start, tables, numbers)
        found_bits[blocks] = bits
        starts[blocks] = start
        blocks += bits != 0
        fetch(slots, y * row.size + start)
    found = 0
    for block in range(blocks):
        bits = found_bits[block]
        while bits != 0:
            x = starts[block] + lowest_bit(bits)
            columns[found] = x
            found += numbers[row[x] >> PART_BITS] >= 0
            bits &= bits - np.uint64(1)
    for x in range(whole, row.size):
        columns[found] = x
        found += numbers[row[x] >> PART_BITS] >= 0
    return found


@kernel
def collect_pixels(
    slots: Slots,
    keys: Keys,
    tables: NDArray[np.uint8],
    numbers: Places,
    first: int,
    place: int,
    found_bits: NDArray[np.uint64],
    starts: Places,
    columns: Places,
    pixels: Words,
    codes: NDArray[np.uint16],
    owners: Slots,
    counts: Words,
) -> int:
    """Number, code and slot of all pixels in some bins, from `place` on; returns the place after the last.

    A code is the number of the pixel's bin · `PARTS` + the part of the bin. `keys` are fine keys. `numbers` has the
    number of its bin for each key of these bins, −1 for others, and `tables` are the `digit_tables` of these keys.
    `first` is the number of the first pixel. `counts` (slot, code) are numbers of pixels. `found_bits`, `starts` and
    `columns` are scratch, with room for one more.
    """
    height, width = keys.shape
    for y in range(height):
        for i in range(_find(keys, slots, y, tables, numbers, found_bits, starts, columns)):
            x = columns[i]
            key = np.int64(keys[y, x])
            slot = slots[y, x]
            code = numbers[key >> PART_BITS] * PARTS + key % PARTS
            pixels[place] = first + y * width + x
            codes[place] = code
            owners[place] = slot
            counts[slot, code] += np.uint32(1)
            place += 1
    return place


@helper
def _select(values: Floats, count: int, rank: int) -> np.float32:
    """The value of that rank, from 0 on, among the first `count`, whose order changes: Hoare's algorithm."""
    first, last = 0, count - 1
    while first < last:
        pivot = values[(first + last) >> 1]
        low, high = first, last
        while low <= high:
            while values[low] < pivot:
                low += 1
            while values[high] > pivot:
                high -= 1
            if low <= high:
                values[low], values[high] = values[high], values[low]
                low += 1
                high -= 1
        if rank <= high:
            last = high
        elif rank >= low:
            first = low
        else:
            break
    return np.float32(values[rank])


@helper
def _all_equal(values: Floats, first: int, last: int) -> bool:
    """Whether all values of a range are equal, as they are where disparities are whole numbers."""
    different = False
    for k in range(first + 1, last):
        different |= values[k] != values[first]
    return not different


@kernel
def select_errors(
    estimate: Floats,
    truth: Floats,
    pixels: Words,
    codes: NDArray[np.uint16],
    owners: Slots,
    next_place: Places,
    asked: Places,
    members: Flags,
    chosen: Words,
    owners_chosen: Slots,
    errors: Floats,
    inside: Floats,
    found: Floats,
) -> None:
    """|e| of some ranks, each among the pixels of a region with one code.

    Estimate and truth are flat. Pixels are brought together by code: the next one of a code goes to `next_place[code]`,
    which is −1 for codes that nobody asks for. `asked` (question, 4) are regions, the places of the first pixel of a
    code and after the last, and ranks from 0 on; those of one code, and of one region of it, follow each other.
    `members` (region, slot) tells who belongs to a region. `chosen`, `owners_chosen`, `errors` and `inside` are scratch
    with room for all pixels of these codes.
    """
    for i in range(pixels.size):
        place = next_place[codes[i]]
        if place >= 0:
            next_place[codes[i]] = place + 1
            chosen[place] = pixels[i]
            owners_chosen[place] = owners[i]
    for k in range(chosen.size):
        ahead = np.int64(chosen[min(k + AHEAD, chosen.size - 1)])
        fetch(estimate, ahead)
        fetch(truth, ahead)
        errors[k] = abs(estimate[chosen[k]] - truth[chosen[k]])
    count = np.int64(0)
    for question in range(asked.shape[0]):
        region, first, last, rank = asked[question]
        if question == 0 or first != asked[question - 1, 1]:
            all_equal = _all_equal(errors, first, last)
            count = np.int64(0)
        if all_equal:
            found[question] = errors[first]
            continue
        if count == 0 or region != asked[question - 1, 0]:
            count = np.int64(0)
            for k in range(first, last):
                inside[count] = errors[k]
                count += members[region, owners_chosen[k]]
        found[question] = _select(inside, count, rank)
