"""The kernels of census SGM: census codes (native/census.cpp), and sweeps of path costs (native/sgm.cpp)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import FLAG, INTEGER, Reads, Writes, aligned, native

BITS_PER_BYTE = 8
LANES = 32
"""The number of disparities in the volume is a multiple of this: a vector of bytes in every register."""

FORGET, WRITE, DECIDE, DECIDE_BOTH = range(4)
"""What a sweep does with the sums of its paths: omit them (and with them the path along the row), write them, add them
to what was written and find the left winner, or find the right one too.
"""

WHOLE, PARABOLA, V_FIT = range(3)
PATHS = (1, 2, 4)

_census = native(
    "census_rows",
    image=Reads((np.uint8, np.uint16, np.float32), "pixels"),
    neighbours=Reads(np.int64, "bytes", BITS_PER_BYTE),
    codes=Writes(np.uint8, "bytes", "height", "code_width"),
    stride=INTEGER,
    centre=INTEGER,
    width=INTEGER,
)


def census_rows(
    image: NDArray[Any], stride: int, centre: int, neighbours: NDArray[np.int64], codes: NDArray[np.uint8], width: int
) -> None:
    """The first `width` columns of `codes` (bytes, H, ≥ W) from the pixels of a padded image, `stride` to a row.

    `centre` is where the first window's centre is; `neighbours` (bytes, 8) are the places around it in the order of
    their bits.
    """
    first, last = min(centre, int(neighbours.min())), max(centre, int(neighbours.max()))
    if first < 0 or last + (codes.shape[1] - 1) * stride + width > image.size or not 0 <= width <= codes.shape[2]:
        raise ValueError(f"census_rows: {width} columns of {codes.shape} codes do not fit {image.size} pixels.")
    _census(image, neighbours, codes, stride, centre, width)


class Pair(NamedTuple):
    """What a sweep reads.

    `left` (bytes, H, W) and `right` (bytes, H, W + padded disparities) are census codes; the columns of `right` are
    reversed, so that codes over growing disparity are contiguous. `outside` (W + padded) is 0 for columns of the
    reversed right row, and the cost of leaving the image after them; `unused` (padded) is 0 for disparities in the
    range, the largest number of the type after them. `guide` is the left image in 8 bits, `large_penalties[|Δ guide|]`
    is P2; `adapted` says whether that table is more than a constant. Path costs have the type of that table.
    """

    left: NDArray[np.uint8]
    right: NDArray[np.uint8]
    outside: NDArray[np.uint8]
    unused: NDArray[Any]
    ndisp: int
    guide: NDArray[np.uint8]
    small_penalty: int
    large_penalties: NDArray[Any]
    adapted: bool


class Paths(NamedTuple):
    """The costs of a sweep's paths: along the row (padded), of the others (number, W, padded), and their minima."""

    along: NDArray[Any]
    others: NDArray[Any]
    minima: NDArray[Any]

    @classmethod
    def new(cls, pair: Pair, paths: int) -> Paths:
        """Before the first row."""
        width, padded, kind = pair.guide.shape[1], pair.unused.size, pair.unused.dtype
        others = aligned((paths - 1) * width * padded, kind).reshape(paths - 1, width, padded)
        others[:] = pair.unused
        return cls(pair.unused.copy(), others, np.zeros((paths - 1, width), kind))

    def copy(self) -> Paths:
        """The same costs in other memory."""
        others = aligned(self.others.size, self.others.dtype).reshape(self.others.shape)
        others[:] = self.others
        return Paths(self.along.copy(), others, self.minima.copy())


class Row(NamedTuple):
    """Memory for one row of a sweep: P2 (4, W), and the winners found so far.

    `sums` (W, padded) takes sums that are not kept; without it they are written to the volume.
    """

    penalties: NDArray[Any]
    left_keys: NDArray[np.uint32]
    right_found: NDArray[np.uint16]
    sums: NDArray[np.uint16] | None

    @classmethod
    def new(cls, pair: Pair, keep: bool) -> Row:
        """For sweeps that keep the sums or do not."""
        width, padded = pair.guide.shape[1], pair.unused.size
        return cls(
            np.full((4, width), pair.large_penalties[0]),
            np.empty(width, np.uint32),
            np.empty((2, width + padded), np.uint16),
            None if keep else aligned(width * padded, np.uint16).reshape(width, padded),
        )


class View(NamedTuple):
    """The winners of one view (H, W): whole disparity, refined disparity, and the winner's aggregated cost."""

    winners: NDArray[np.uint16]
    disparity: NDArray[np.float32]
    minimum: NDArray[np.uint16]

    @classmethod
    def empty(cls, height: int, width: int) -> View:
        """Maps to be filled."""
        shape = (height, width)
        return cls(np.empty(shape, np.uint16), np.empty(shape, np.float32), np.empty(shape, np.uint16))

    def mirrored(self) -> View:
        """The same maps with columns reversed."""
        return View(
            np.ascontiguousarray(self.winners[:, ::-1]),
            np.ascontiguousarray(self.disparity[:, ::-1]),
            np.ascontiguousarray(self.minimum[:, ::-1]),
        )


_map = ("height", "width")
_sweep = native(
    "sgm_sweep",
    left=Reads(np.uint8, "bytes", *_map),
    right=Reads(np.uint8, "bytes", "height", "width + padded"),
    guide=Reads(np.uint8, *_map),
    large=Reads((np.uint8, np.uint16), 256),
    unused=Reads("large", "padded"),
    outside=Reads(np.uint8, "width + padded"),
    along=Writes("large", "padded"),
    slots=Writes("large", "others", "width", "padded"),
    minima=Writes("large", "others", "width"),
    penalties=Writes("large", 4, "width"),
    keys=Writes(np.uint32, "width"),
    right_found=Writes(np.uint16, 2, "width + padded"),
    row=Writes(np.uint16, "width", "padded", optional=True),
    volume=Writes(np.uint16, "rows", "width", "padded", align=64),
    winners=Writes(np.uint16, *_map),
    disparity=Writes(np.float32, *_map),
    minimum=Writes(np.uint16, *_map),
    right_winners=Writes(np.uint16, *_map, optional=True),
    right_disparity=Writes(np.float32, *_map, optional=True),
    right_minimum=Writes(np.uint16, *_map, optional=True),
    ndisp=INTEGER,
    small=INTEGER,
    adapted=FLAG,
    downward=FLAG,
    mode=INTEGER,
    method=INTEGER,
    first_row=INTEGER,
    start=INTEGER,
    stop=INTEGER,
)


class Sweep:
    """A sweep over image rows, downward or upward: the paths of `paths`, from where they are.

    `volume` (rows, W, padded) takes the sums; `left` and `right` take the winners where they are requested, refined by
    `method`. The arrays are checked once, since a sweep may be called for a few rows at a time.
    """

    def __init__(
        self,
        pair: Pair,
        paths: Paths,
        row: Row,
        volume: NDArray[np.uint16],
        downward: bool,
        method: int,
        left: View,
        right: View | None,
    ) -> None:
        self._height, self._rows = pair.guide.shape[0], len(volume)
        self._downward, self._method, self._both = downward, method, right is not None
        self._numbers = pair.ndisp, int(pair.small_penalty), pair.adapted, downward
        padded, count = pair.unused.size, len(paths.others) + 1
        if not (pair.guide.size and 1 <= pair.ndisp <= padded and padded % LANES == 0 and count in PATHS):
            raise ValueError(f"There is no sweep of {count} paths with {pair.ndisp} of {padded} disparities.")
        self._call = _sweep.bind(
            *(pair.left, pair.right, pair.guide, pair.large_penalties, pair.unused, pair.outside),
            *paths,
            *row,
            volume,
            *left,
            *(right or (None, None, None)),
        )

    def run(self, rows: tuple[int, int], mode: int, first_row: int = 0) -> None:
        """Sweep over the image rows rows[0] … rows[1] − 1; the volume begins with image row `first_row`."""
        first, last = rows
        sound = (
            0 <= first <= last <= self._height
            and (mode == FORGET or first_row <= first <= last <= first_row + self._rows)
            and FORGET <= mode <= DECIDE_BOTH
            and (mode != DECIDE_BOTH or self._both)
        )
        if not sound:
            raise ValueError(
                f"A sweep of mode {mode} over the rows {first} to {last} of {self._height} does not fit a volume of "
                f"{self._rows} rows from {first_row} on."
            )
        start, stop = rows if self._downward else (self._height - last, self._height - first)
        self._call(*self._numbers, mode, self._method, first_row, start, stop)
