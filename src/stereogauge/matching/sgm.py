"""Semi-global matching on census costs, with the aggregated costs open to inspection.

H. Hirschmüller, "Stereo processing by semiglobal matching and mutual information", IEEE TPAMI 30(2), 2008; the census
cost as in R. Haeusler, R. Klette, "Analysis of KITTI data for stereo analysis with stereo confidence measures", ECCV
workshops 2012.

Costs are aggregated along paths: the whole volume when it fits into memory, block by block when it does not. Two
opposite sweeps meet in the middle, so that two threads can share the work: each sweep first goes over its own half of
the rows, then completes the other half, where it finds the winners. With a volume, the first half of a sweep is written
into it. Without, a sweep leaves its state behind at every block boundary, and the block is recomputed from there when
the other sweep arrives. Both ways give the same sums, bit for bit.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import cv2
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import MatcherError
from stereogauge.kernels import sgm as kernel
from stereogauge.kernels.cost_summary import CostSummary, RowSummary, Scales
from stereogauge.kernels.library import aligned
from stereogauge.kernels.sgm import Pair, View
from stereogauge.kernels.threads import in_threads
from stereogauge.matching.declaration import Matcher, MatcherParameter, untuned
from stereogauge.matching.result import MatcherOutput, eight_bit

WINDOWS = {"5x5": (5, 5), "7x7": (7, 7), "9x7": (9, 7)}


def window_radii(window: str) -> tuple[int, int]:
    """(vertical, horizontal) radius of a window that is named width x height."""
    width, height = WINDOWS[window]
    return height // 2, width // 2


def window_bits(window: str) -> int:
    """The number of comparisons in a window: its pixels without the centre."""
    width, height = WINDOWS[window]
    return width * height - 1


def code_bytes(window: str) -> int:
    """The number of bytes that hold the comparisons of a window."""
    return -(-window_bits(window) // kernel.BITS_PER_BYTE)


def census(
    image: NDArray[Any],
    window: str = "7x7",
    *,
    mirrored: bool = False,
    margin: int = 0,
    into: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """One bit for each neighbour that is darker than the pixel: the bytes of the codes, (bytes, H, W + margin).

    Beyond the border the image is continued by its edge pixels. With `mirrored`, columns come in reverse order; the
    margin after them holds zeros. `into` is an array of that size for them.
    """
    radius_y, radius_x = window_radii(window)
    height, width = image.shape
    image = np.ascontiguousarray(image[:, ::-1]) if mirrored else image
    padded = cv2.copyMakeBorder(image, radius_y, radius_y, radius_x, radius_x, cv2.BORDER_REPLICATE)
    codes = np.empty((code_bytes(window), height, width + margin), np.uint8) if into is None else into
    codes[:, :, width:] = 0
    stride = padded.shape[1]
    places = _neighbours(window, stride, mirrored=mirrored)
    kernel.census_rows(padded.reshape(-1), stride, radius_y * stride + radius_x, places, codes, width)
    return codes


def _neighbours(window: str, stride: int, *, mirrored: bool) -> NDArray[np.int64]:
    """Where in rows of `stride` pixels the neighbours of a window are, (bytes, 8): row by row, the centre left out.

    A mirrored image gets the codes of the original: each row is taken from its end. The last byte begins with the
    centre as often as neighbours are missing, which is not darker than itself.
    """
    radius_y, radius_x = window_radii(window)
    columns = range(2 * radius_x, -1, -1) if mirrored else range(2 * radius_x + 1)
    centre = radius_y * stride + radius_x
    places = [y * stride + x for y in range(2 * radius_y + 1) for x in columns]
    places.remove(centre)
    missing = -len(places) % kernel.BITS_PER_BYTE
    last = len(places) - len(places) % kernel.BITS_PER_BYTE
    places[last:last] = [centre] * missing
    return np.array(places, np.int64).reshape(-1, kernel.BITS_PER_BYTE)


CACHE_BYTES = 2**20
SWEEPS = {8: (4, 4), 5: (4, 1), 4: (2, 2)}
"""Numbers of paths of the downward and the upward sweep."""

Sums: TypeAlias = NDArray[np.uint16]
Rows: TypeAlias = tuple[int, int]


class Decision(NamedTuple):
    """Where winners go; `right` is None where only the left view is requested.

    `keep` says whether the sums are read again after the winners have been found, `summary` what is to be made of them.
    """

    left: View
    right: View | None
    keep: bool
    summary: CostSummary | None


def padded_disparities(ndisp: int) -> int:
    """The number of disparities in the volume: a multiple of the vector length."""
    return -(-ndisp // kernel.LANES) * kernel.LANES


def new_sums(rows: int, width: int, ndisp: int) -> Sums:
    """Memory for sums (rows, width, padded disparities) with arbitrary content."""
    padded = padded_disparities(ndisp)
    return aligned(rows * width * padded, np.uint16).reshape(rows, width, padded)


class AggregationPlan(Struct, frozen=True):
    """How a pair is aggregated, and the bytes that takes: `block` rows at a time, or the whole height."""

    height: int
    width: int
    ndisp: int
    block: int
    settings: SgmSettings

    @property
    def streaming(self) -> bool:
        """Whether the volume is never held whole."""
        return self.block < self.height

    @property
    def bytes(self) -> int:
        """What the volume or its blocks, the path states and the census codes take together."""
        settings, padded = self.settings, padded_disparities(self.ndisp)
        vertical = max(SWEEPS[settings.paths]) - 1
        state: int = (vertical * self.width + 1) * padded * np.dtype(settings.path_type).itemsize
        codes = code_bytes(settings.window) * self.height * (2 * self.width + padded)
        row = 2 * self.width * padded
        if not self.streaming:
            return self.height * row + 2 * (state + row) + codes
        buffers = min(settings.thread_count, 2) * self.block * row
        return buffers + 2 * row + (math.ceil(self.height / self.block) + 3) * state + codes


class Direction:
    """One sweep and the costs of its paths."""

    def __init__(self, pair: Pair, settings: SgmSettings, downward: bool, decision: Decision) -> None:
        self.pair, self.downward, self.decision = pair, downward, decision
        self.method = REFINEMENTS[settings.subpixel]
        self.paths = kernel.Paths.new(pair, SWEEPS[settings.paths][0 if downward else 1])
        self.row = kernel.Row.new(pair, decision.keep)

    def over(self, sums: Sums, paths: kernel.Paths | None = None, row: kernel.Row | None = None) -> kernel.Sweep:
        """The sweep whose sums go into this memory, with its own paths and row or with others."""
        where = self.decision.left, self.decision.right
        return kernel.Sweep(self.pair, paths or self.paths, row or self.row, sums, self.downward, self.method, *where)

    def in_order(self, pieces: Sequence[Rows]) -> Sequence[Rows]:
        """Pieces of the image in the order in which this sweep meets them."""
        return pieces if self.downward else pieces[::-1]

    def leave_states(self, blocks: Sequence[Rows]) -> list[kernel.Paths]:
        """Sweep over blocks without their sums; the paths before each of them."""
        sweep = self.over(new_sums(0, self.pair.guide.shape[1], self.pair.ndisp))
        saved = []
        for rows in self.in_order(blocks):
            saved.append(self.paths.copy())
            if len(self.paths.others):
                sweep.run(rows, kernel.FORGET)
        return saved


def aggregate(pair: Pair, plan: AggregationPlan, volume: Sums | None, decision: Decision) -> None:
    """Find the winners of a pair; with a `volume`, fill it with the sums.

    The summary reads the sums of every row while they are in the processor's cache.
    """
    height, settings, summary = plan.height, plan.settings, decision.summary
    middle = (height + 1) // 2
    halves = (_pieces((0, middle), plan.block), _pieces((middle, height), plan.block))
    down, up = (Direction(pair, settings, downward, decision) for downward in (True, False))
    scales = Scales.of(settings.p2, settings.p2, settings.paths * settings.p2)
    cached_rows = max(1, CACHE_BYTES // (2 * plan.width * padded_disparities(plan.ndisp)))

    def begin(own: Direction, blocks: Sequence[Rows]) -> list[kernel.Paths]:
        if volume is None:
            return own.leave_states(blocks)
        sweep = own.over(volume)
        for rows in own.in_order(blocks):
            sweep.run(rows, kernel.WRITE)
        return []

    def complete(own: Direction, other: Direction, blocks: Sequence[Rows], saved: list[kernel.Paths]) -> None:
        buffer = new_sums(plan.block, plan.width, plan.ndisp) if volume is None else volume
        row = kernel.Row.new(pair, keep=True)
        sweep, fill = own.over(buffer), None
        if summary is not None:
            winners = decision.left.winners
            fill = RowSummary(buffer.reshape(-1), buffer.shape[2], plan.ndisp, winners, scales, summary).fill
        for rows in own.in_order(blocks):
            first_row = rows[0] if volume is None else 0
            if volume is None:
                other.over(buffer, saved.pop(), row).run(rows, kernel.WRITE, first_row)
            for piece in own.in_order(_pieces(rows, cached_rows if fill else height)):
                sweep.run(piece, kernel.DECIDE if decision.right is None else kernel.DECIDE_BOTH, first_row)
                if fill:
                    fill(*piece, first_row)

    beginnings = (lambda: begin(down, halves[0]), lambda: begin(up, halves[1]))
    left_by_down, left_by_up = in_threads(beginnings, settings.thread_count)
    endings = (
        lambda: complete(up, down, halves[0], left_by_down),
        lambda: complete(down, up, halves[1], left_by_up),
    )
    in_threads(endings, settings.thread_count)


def _pieces(rows: Rows, size: int) -> list[Rows]:
    return [(start, min(rows[1], start + size)) for start in range(*rows, size)]


GIBIBYTE = 2**30
LARGEST_PENALTY = 8000
REFINEMENTS = {"none": kernel.WHOLE, "parabola": kernel.PARABOLA, "v-fit": kernel.V_FIT}


class SgmSettings(Struct, frozen=True):
    """The parameters with their defaults, as one value."""

    window: str = "7x7"
    paths: int = 8
    p1: int = 20
    p2: int = 100
    adapt: bool = False
    subpixel: str = "parabola"
    right_view: str = "second-run"
    keep: str = "auto"
    memory_limit: float = 4.0
    threads: int = 0

    @property
    def path_type(self) -> Any:
        """The smallest type that holds every path cost: at most the census bits plus P2, below the sentinel."""
        return np.uint8 if window_bits(self.window) + self.p2 < np.iinfo(np.uint8).max else np.uint16

    @property
    def thread_count(self) -> int:
        """Threads to use."""
        return self.threads or os.cpu_count() or 1


USUAL = SgmSettings()
PARAMETERS = (
    MatcherParameter("window", "choice", USUAL.window, "census window, width x height", choices=tuple(WINDOWS)),
    MatcherParameter("paths", "choice", USUAL.paths, "number of aggregation paths", choices=tuple(SWEEPS)),
    MatcherParameter(
        "p1", "int", USUAL.p1, "penalty P1 for a disparity step of 1", low=0, high=LARGEST_PENALTY, step=1
    ),
    MatcherParameter(
        "p2",
        "int",
        USUAL.p2,
        "penalty P2 for larger steps",
        low=1,
        high=LARGEST_PENALTY,
        step=1,
        above="p1",
        logarithmic=True,
    ),
    MatcherParameter("adapt", "bool", USUAL.adapt, "divide P2 by the grey-value step along the path, not below P1 + 1"),
    MatcherParameter("subpixel", "choice", USUAL.subpixel, "refinement of the winner", choices=tuple(REFINEMENTS)),
    untuned(
        "right_view",
        "choice",
        USUAL.right_view,
        "right map by a right-referenced run, by a diagonal search in the left costs, or not at all",
        choices=("second-run", "diagonal", "none"),
    ),
    untuned(
        "keep",
        "choice",
        USUAL.keep,
        "what to keep of the costs: all, what confidence measures need of them, nothing; auto: all if they fit",
        choices=("auto", "costs", "summary", "nothing"),
    ),
    untuned(
        "memory_limit",
        "float",
        USUAL.memory_limit,
        "GiB for volume and path states; streams above it",
        low=0.01,
        high=4096,
    ),
    untuned("threads", "int", USUAL.threads, "threads, 0 = as many as there are processors", low=0, high=1024),
)


class Workspace:
    """Memory that successive matches of equal size share, as those of a video; a kept volume is never shared."""

    def __init__(self) -> None:
        self._volume = new_sums(0, 0, 0)
        self._codes: dict[str, NDArray[np.uint8]] = {}

    def volume(self, plan: AggregationPlan) -> Sums:
        """A volume for `plan` with arbitrary content."""
        if self._volume.shape != (plan.height, plan.width, padded_disparities(plan.ndisp)):
            self._volume = new_sums(plan.height, plan.width, plan.ndisp)
        return self._volume

    def codes(self, view: str, *shape: int) -> NDArray[np.uint8]:
        """Room for the census codes of a view with arbitrary content."""
        kept = self._codes.get(view)
        if kept is None or kept.shape != shape:
            kept = self._codes[view] = np.empty(shape, np.uint8)
        return kept


def semi_global_matching(
    left: NDArray[Any], right: NDArray[Any], ndisp: int, *, workspace: Workspace | None = None, **parameters: Any
) -> MatcherOutput:
    """Semi-global matching of census costs: the costs along paths from several directions are added, the least wins.

    A(x, d) = Σ over paths of L_r(x, d), with L_r(p, d) = C(p, d) + min(L_r(p−r, d), L_r(p−r, d±1) + P1, min
    L_r(p−r) + P2) − min L_r(p−r).

    C is the Hamming distance of census codes; a disparity that leaves the right image costs as much as codes that
    differ in every bit. The winner is the smallest A, the smaller disparity among equals; sub-pixel by a parabola (or
    V) through three costs. The map is dense. 5 paths: along the row in both directions and the three from above.
    """
    settings = SgmSettings(**parameters)
    height, width = left.shape
    plan = _plan(height, width, ndisp, settings)
    keep = settings.keep if settings.keep != "auto" else ("summary" if plan.streaming else "costs")
    rooms = workspace if workspace is not None and keep != "costs" else Workspace()
    # Allocated once and used by the second view again.
    volume = None if plan.streaming else rooms.volume(plan)
    view, other = View.empty(height, width), None
    if settings.right_view == "second-run":
        pair = prepare(right[:, ::-1], left[:, ::-1], ndisp, settings, rooms)
        aggregate(pair, plan, volume, Decision(view, None, keep=False, summary=None))
        other, view = view.mirrored(), View.empty(height, width)
    elif settings.right_view == "diagonal":
        other = View.empty(height, width)
    summary = CostSummary.empty(height, width) if keep == "summary" else None
    searched = other if settings.right_view == "diagonal" else None
    pair = prepare(left, right, ndisp, settings, rooms)
    aggregate(pair, plan, volume, Decision(view, searched, keep in ("costs", "summary"), summary))
    return MatcherOutput(
        disparity=view.disparity,
        right_disparity=None if other is None else other.disparity,
        costs=None if keep != "costs" or volume is None else volume[:, :, :ndisp],
        winners=view.winners,
        right_minimum=None if other is None else other.minimum,
        summary=summary,
        sigma=float(settings.p2),
        temperature=float(settings.p2),
        ramp=float(settings.paths * settings.p2),
        window_radius=max(window_radii(settings.window)),
        threads=settings.thread_count,
    )


def prepare(left: NDArray[Any], right: NDArray[Any], ndisp: int, settings: SgmSettings, workspace: Workspace) -> Pair:
    """Census codes and penalties in the form that the sweeps read."""
    height, width = left.shape
    dtype = settings.path_type
    padded = padded_disparities(ndisp)
    penalties = np.full(256, settings.p2, dtype)
    if settings.adapt:
        steps = np.maximum(np.arange(256), 1)
        penalties = np.maximum(settings.p2 // steps, settings.p1 + 1).astype(dtype)
    count = code_bytes(settings.window)
    rooms = workspace.codes("left", count, height, width), workspace.codes("right", count, height, width + padded)
    views = (
        lambda: census(left, settings.window, into=rooms[0]),
        lambda: census(right, settings.window, mirrored=True, margin=padded, into=rooms[1]),
    )
    left_codes, right_codes = in_threads(views, settings.thread_count)
    return Pair(
        left=left_codes,
        right=right_codes,
        outside=np.repeat(np.array([0, window_bits(settings.window)], np.uint8), (width, padded)),
        unused=np.repeat(np.array([0, np.iinfo(dtype).max], dtype), (ndisp, padded - ndisp)),
        ndisp=ndisp,
        guide=np.ascontiguousarray(eight_bit(left)),
        small_penalty=settings.p1,
        large_penalties=penalties,
        adapted=settings.adapt,
    )


def _plan(height: int, width: int, ndisp: int, settings: SgmSettings) -> AggregationPlan:
    # This number of rows makes buffers and saved states together smallest.
    block = min(height, max(4, round(math.sqrt(1.5 * height))))
    whole, streamed = (AggregationPlan(height, width, ndisp, rows, settings) for rows in (height, block))
    limit = settings.memory_limit * GIBIBYTE
    if whole.bytes <= limit:
        return whole
    if settings.keep == "costs":
        raise MatcherError(
            f"sgm: the costs of {width} x {height} pixels with {ndisp} disparities need {whole.bytes / GIBIBYTE:.2f} "
            f"GiB; raise memory_limit={settings.memory_limit:g} or keep only the summary (keep=summary)."
        )
    if streamed.bytes <= limit:
        return streamed
    raise MatcherError(
        f"sgm: {width} x {height} pixels with {ndisp} disparities need at least {streamed.bytes / GIBIBYTE:.2f} GiB; "
        f"raise memory_limit={settings.memory_limit:g} GiB."
    )


SGM = Matcher(
    id="sgm",
    name="Census SGM",
    source="Hirschmüller 2008; census cost and penalties of Haeusler, Klette 2012",
    function=semi_global_matching,
    parameters=PARAMETERS,
    memory=lambda height, width, ndisp, **parameters: _plan(height, width, ndisp, SgmSettings(**parameters)).bytes,
)
