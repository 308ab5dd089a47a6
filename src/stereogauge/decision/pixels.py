"""Maps compared pixel by pixel: two algorithms against each other, and all algorithms together."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.decision.explain import Explanation, MapOrigins
from stereogauge.errors import StereogaugeError
from stereogauge.io.files import load_disparity
from stereogauge.masks.scene_content import grey
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture, clip_limit
from stereogauge.metrics.registry import parse_column
from stereogauge.model import DisparityMap, Mask, Scene, as_disparity
from stereogauge.protocol import Protocol, load_protocol
from stereogauge.scores.cube import ScoreCube, Values

BOTH_RIGHT, ONLY_FIRST, ONLY_SECOND, BOTH_WRONG, NOT_COUNTED = 0, 1, 2, 3, 255
COLOURS = {BOTH_RIGHT: "#e8e8e8", ONLY_FIRST: "#0072b2", ONLY_SECOND: "#e69f00", BOTH_WRONG: "#f0e442"}
"""Yellow is the colour of Okabe and Ito that no algorithm has."""
MOST_PICTURED = 3
CROP_SHARE, SMALLEST_CROP = 7, 32  # crops are a seventh of the image wide, and at least 32 px
UNSEEN_SHIFT, UNSEEN_SHARE = 1.0, 0.02  # px, and share of the disparity range: shifts up to the larger one do not show


class DifferingCrop(NamedTuple):
    """A square part of a scene: where it lies, and the shares of its counted pixels where each of the two is wrong.

    `gain` is what it adds to the difference of the whole scene in percentage points: positive where the first is right
    more often.
    """

    top: int
    left: int
    side: int
    first_wrong: float
    second_wrong: float
    gain: float

    @property
    def window(self) -> tuple[slice, slice]:
        """The crop as an index."""
        return slice(self.top, self.top + self.side), slice(self.left, self.left + self.side)


class ProfileLine(NamedTuple):
    """Disparities along a part of one row, from the column `left` on: of the truth and of both maps."""

    row: int
    left: int
    truth: NDArray[np.float32]
    first: NDArray[np.float32]
    second: NDArray[np.float32]


class Contrast(Struct, frozen=True, eq=False):
    """Two maps of a scene under one column: `verdict` has four colours, `gain` is |e_first| − |e_second| in px.

    `shares` are those of the counted pixels: both right, only the first, only the second, both wrong. Crops are in
    the order of their contribution; those in which the maps differ by a small shift only are left out, since both look
    the same. `shift` is the shift in px where that is all of the scene's difference, else 0; `line` shows it. Pixels
    that the column does not count are greyed.
    """

    scene: Scene
    first: str
    second: str
    column: str
    estimates: tuple[DisparityMap, DisparityMap]
    counted: Mask
    verdict: Picture
    gain: Picture
    shares: tuple[float, ...]
    crops: tuple[DifferingCrop, ...]
    shift: float

    @property
    def line(self) -> ProfileLine | None:
        """Where a shift is visible that no crop shows; None where there is no such shift, or no such place."""
        return profile_line(self.scene.gt, self.estimates, self.counted) if self.shift else None

    @property
    def shares_text(self) -> str:
        """The four shares in words."""
        right, one, two, wrong = (100 * share for share in self.shares)
        text = (
            f"both right at {right:.1f} % of the pixels, only {self.first} at {one:.1f} %, only {self.second} at "
            f"{two:.1f} %, both wrong at {wrong:.1f} %"
        )
        if not self.shift:
            return text
        return f"{text}; {self.second} differs by a shift of {self.shift:+.2f} px, which no crop shows"

    @property
    def text(self) -> str:
        """The scene, the column and the four shares."""
        return f"{self.scene.id}, {self.column}: {self.shares_text}"


def wrong_pixels(measurement: Measurement, column: str) -> tuple[Mask, Mask]:
    """Where the estimate is wrong by a metric with two classes, missing estimates included; and the counted pixels."""
    metric, region = parse_column(column)
    if not metric.metric.wrong:
        raise StereogaugeError(f"{column} does not call single pixels right or wrong; take one such as bad@1:nonocc.")
    where = region or metric.metric.region or "all"
    counted = measurement.mask(where)
    costs = metric.costs(measurement, where)
    return (costs > 0) | (counted & np.isnan(measurement.estimate)), counted


def contrast(
    scene: Scene,
    maps: Mapping[str, Any],
    column: str,
    protocol: Protocol | str | None = None,
    *,
    crops: int = 3,
    colours: Mapping[str, str] | None = None,
) -> Contrast:
    """Hold two maps, by the names of their algorithms, against the scene's ground truth and each other.

    `colours` are those of the algorithms where they have some, so that a map shows who is right in the same ones.
    """
    if len(maps) != 2:
        raise StereogaugeError(f"A contrast takes the maps of two algorithms; found {len(maps)}.")
    regions = SceneRegions(scene, load_protocol(protocol))
    first, second = maps
    measured = [Measurement(load_disparity(source), regions) for source in maps.values()]
    found = [wrong_pixels(measurement, column) for measurement in measured]
    counted = found[0][1]
    wrong = [mask & counted for mask, _ in found]
    verdict = np.full(scene.shape, NOT_COUNTED, np.uint8)
    verdict[counted] = (2 * wrong[0] + wrong[1])[counted]
    size = max(1, int(counted.sum()))
    shares = np.bincount(verdict[counted], minlength=4)[:4] / size
    own = colours or {}
    legend = {
        BOTH_RIGHT: ("both right", COLOURS[BOTH_RIGHT]),
        ONLY_FIRST: (f"only {first} right", own.get(first, COLOURS[ONLY_FIRST])),
        ONLY_SECOND: (f"only {second} right", own.get(second, COLOURS[ONLY_SECOND])),
        BOTH_WRONG: ("both wrong", COLOURS[BOTH_WRONG]),
    }
    behind = backdrop(scene)
    limits = scene.gt[counted & np.isfinite(scene.gt)]
    unseen = max(UNSEEN_SHIFT, UNSEEN_SHARE * float(np.ptp(limits))) if limits.size else UNSEEN_SHIFT
    estimates = measured[0].estimate, measured[1].estimate
    lacking = np.isnan(estimates[0]).astype(np.int8) - np.isnan(estimates[1])
    # Second − first in px: 0 where both are missing, infinite where one is.
    apart = np.where(lacking == 0, np.nan_to_num(estimates[1] - estimates[0]), np.float32(np.inf))
    # Both errors are clipped; a missing estimate is as wrong as the clip.
    limit = clip_limit(measured[0])
    clipped = [np.minimum(np.nan_to_num(np.abs(m.error), nan=limit), limit) for m in measured]
    gain = np.where(counted, clipped[0] - clipped[1], np.nan).astype(np.float32)
    title = f"|error of {first}| − |error of {second}|: blue where {first} is nearer the truth"
    return Contrast(
        scene=scene,
        first=first,
        second=second,
        column=column,
        estimates=estimates,
        counted=counted,
        verdict=Picture(f"{scene.id}: who is right, {column}", verdict, "labels", legend=legend, backdrop=behind),
        gain=Picture(title, gain, "diverging", "px", (-limit, limit), backdrop=behind),
        shares=tuple(shares.tolist()),
        crops=ranked_crops(
            wrong[0], wrong[1], counted, crops, lambda window: not small_shift(apart[window][counted[window]], unseen)
        ),
        shift=small_shift(apart[counted], unseen),
    )


def two_class_column(cube: ScoreCube, order: Sequence[str] = ()) -> str:
    """A column that calls single pixels right or wrong: of the terms in `order`, else the first that the cube has."""
    stored = [
        column for column in cube.columns if column.declared.metric.region is None and column.declared.metric.wrong
    ]
    chosen = [column for term in order for column in stored if term in (column.metric, str(column))]
    return str((chosen or stored)[0]) if stored else "bad@1:all"


def pair_contrasts(
    why: Explanation, cube: ScoreCube, origins: MapOrigins, column: str = ""
) -> tuple[list[Contrast], list[str]]:
    """Both maps of an explanation on the scenes that decide most, and reasons for those that are not available."""
    terms = [reason.term for reason in sorted(why.terms, key=lambda reason: -abs(reason.amount))]
    judged = column or two_class_column(cube, terms)
    made, reasons = [], []
    for piece in sorted(why.scenes, key=lambda piece: -abs(piece.amount))[:MOST_PICTURED]:
        try:
            sources = {name: origins.source(name, piece.name) for name in (why.first, why.second)}
            for name, where in sources.items():
                if where is None:
                    raise StereogaugeError(f"the map of {name} is not available")
            made.append(contrast(origins.scene(piece.name), sources, judged, origins.protocol))
        except (StereogaugeError, OSError) as reason:
            reasons.append(f"Pictures of {piece.name}: {reason}")
    return made, reasons


def backdrop(scene: Scene) -> NDArray[np.uint8] | None:
    """The left image, to be shown faintly where pixels do not count."""
    return np.clip(grey(scene.left), 0, 255).astype(np.uint8) if scene.has("left") else None


def small_shift(apart: NDArray[np.float32], unseen: float) -> float:
    """The shift between two maps where it makes most of their difference and is at most `unseen` px, else 0.

    It is the median m of the differences d, if Σ|d − m| < Σ|d| / 2.

    >>> small_shift(np.array([0.6, 0.5, 0.7, 0.6], np.float32), 1.0).__round__(3)
    0.6
    >>> small_shift(np.array([0.0, 0.0, 0.0, 9.0], np.float32), 1.0)
    0.0
    """
    if not apart.size or not np.isfinite(apart).all():
        return 0.0
    shift = float(np.median(apart))
    mostly = np.abs(apart - shift).sum(dtype=np.float64) < 0.5 * np.abs(apart).sum(dtype=np.float64)
    return shift if mostly and abs(shift) <= unseen else 0.0


def profile_line(
    truth: DisparityMap, estimates: tuple[DisparityMap, DisparityMap], counted: Mask
) -> ProfileLine | None:
    """The part of a row, as wide as a crop, on which the truth varies least; all three have values there.

    >>> truth = np.tile(np.float32(range(64)), (3, 1))
    >>> truth[1, 20:60] = 7
    >>> line = profile_line(truth, (truth, truth + 1), np.ones((3, 64), bool))
    >>> line.row, line.left, len(line.truth), float(np.ptp(line.truth))
    (1, 20, 32, 0.0)
    """
    width = truth.shape[1]
    side = min(width, max(SMALLEST_CROP, width // CROP_SHARE))
    known = counted & np.isfinite(truth) & np.isfinite(estimates[0]) & np.isfinite(estimates[1])
    lacking = _row_windows(~known, side)
    steps = np.abs(np.diff(np.where(known, truth, 0), axis=1))
    span = np.where(lacking == 0, _row_windows(steps, side - 1), np.inf)
    row, left = (int(place) for place in np.unravel_index(int(np.argmin(span)), span.shape))
    if not np.isfinite(span[row, left]):
        return None
    part = (row, slice(left, left + side))
    return ProfileLine(row, left, truth[part], estimates[0][part], estimates[1][part])


def _row_windows(values: NDArray[Any], length: int) -> NDArray[np.float64]:
    """The sum over every part of a row of this length."""
    sums = np.cumsum(values, axis=1, dtype=np.float64)
    sums = np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)
    return np.asarray(np.round(sums[:, length:] - sums[:, :-length], 6))


def ranked_crops(
    first_wrong: Mask,
    second_wrong: Mask,
    counted: Mask,
    most: int,
    shows: Callable[[tuple[slice, slice]], bool] = lambda window: True,
) -> tuple[DifferingCrop, ...]:
    """Squares without overlap in which the numbers of wrong pixels differ most, the largest difference first.

    Those for which `shows` is not true are left out.

    >>> wrong = np.zeros((64, 96), bool)
    >>> wrong[10:20, 40:60] = True
    >>> crop = ranked_crops(np.zeros_like(wrong), wrong, np.ones_like(wrong), 3)[0]
    >>> crop.side, round(crop.second_wrong, 3), round(crop.gain, 2)
    (32, 0.195, 3.26)
    """
    height, width = counted.shape
    side = min(height, width, max(SMALLEST_CROP, width // CROP_SHARE))
    lead = second_wrong.astype(np.float32) - first_wrong.astype(np.float32)
    import cv2

    table = cv2.integral(lead, sdepth=cv2.CV_64F)
    sums = table[side:, side:] - table[:-side, side:] - table[side:, :-side] + table[:-side, :-side]
    total = max(1, int(counted.sum()))
    found: list[DifferingCrop] = []
    while len(found) < most:
        top, left = np.unravel_index(int(np.argmax(np.abs(sums))), sums.shape)
        if abs(sums[top, left]) < 1:
            break
        window = (slice(int(top), int(top) + side), slice(int(left), int(left) + side))
        if shows(window):
            pixels = max(1, int(counted[window].sum()))
            shares = (float(first_wrong[window].sum() / pixels), float(second_wrong[window].sum() / pixels))
            found.append(DifferingCrop(int(top), int(left), side, *shares, 100 * float(sums[top, left]) / total))
        sums[max(0, top - side + 1) : top + side, max(0, left - side + 1) : left + side] = 0.0
    return tuple(found)


THRESHOLDS = np.geomspace(0.125, 16.0, 57)


class ComplementaryPair(NamedTuple):
    """Two algorithms and the shares of pixels where one or the other is right, and where the better one alone is."""

    first: str
    second: str
    covers: float
    better_alone: float

    @property
    def added(self) -> float:
        """What the second brings to the better of the two."""
        return self.covers - self.better_alone


class PixelAgreement(Struct, frozen=True, eq=False):
    """All algorithms by one column, over one or more scenes.

    `pictures` show per scene the share of algorithms that are wrong at each pixel. `right` (algorithms, algorithms) is
    the share of pixels where one of the two is right, mean over the scenes; the diagonal holds each alone. `curves`
    (algorithms, thresholds) are shares of pixels with an error above δ, missing estimates included.
    """

    algorithms: tuple[str, ...]
    scenes: tuple[str, ...]
    column: str
    pictures: Mapping[str, Picture]
    right: Values
    none_right: float
    all_right: float
    thresholds: Values
    curves: Values

    @property
    def pairs(self) -> tuple[ComplementaryPair, ...]:
        """Every pair, the one that covers most first."""
        names, right = self.algorithms, self.right.tolist()
        pairs = itertools.combinations(range(len(names)), 2)
        found = (ComplementaryPair(names[i], names[j], right[i][j], max(right[i][i], right[j][j])) for i, j in pairs)
        return tuple(sorted(found, key=lambda pair: -pair.covers))

    @property
    def text(self) -> str:
        """How hard the scenes are, and which pair covers most."""
        best = int(np.argmax(np.diag(self.right)))
        lines = [
            f"By {self.column}, all {len(self.algorithms)} algorithms are right at {100 * self.all_right:.1f} % of the "
            f"pixels and none is at {100 * self.none_right:.1f} %: choosing the best one at every pixel would be wrong "
            f"there only. {self.algorithms[best]} alone is wrong at {100 * (1 - self.right[best, best]):.1f} %."
        ]
        if self.pairs:
            pair = self.pairs[0]
            lines.append(
                f"{pair.first} and {pair.second} complement each other best: one of them is right at "
                f"{100 * pair.covers:.1f} %, {100 * pair.added:.1f} points more than the better one alone."
            )
        return " ".join(lines)


def pixel_agreement(
    origins: MapOrigins,
    algorithms: Sequence[str],
    scenes: Iterable[str],
    column: str,
    progress: Callable[[str], None] | None = None,
) -> PixelAgreement:
    """Hold the maps of all algorithms against each other on the scenes; each must have a map of every scene."""
    protocol = load_protocol(origins.protocol)
    names, count = tuple(scenes), len(algorithms)
    pictures, right, curves, shares = {}, np.zeros((count, count)), np.zeros((count, len(THRESHOLDS))), np.zeros(2)
    for name in names:
        if progress is not None:
            progress(name)
        scene = origins.scene(name)
        maps = []
        for algorithm in algorithms:
            source = origins.source(algorithm, name)
            if source is None:
                raise StereogaugeError(f"The map of {algorithm} on {name} is not available; leave one of them out.")
            maps.append(as_disparity(load_disparity(source), algorithm))
        pictures[name], *found = _on_scene(scene, maps, column, protocol)
        for total, part in zip((right, curves, shares), found, strict=True):
            total += part / len(names)
        scene.release()
    return PixelAgreement(
        tuple(algorithms), names, column, pictures, right, float(shares[0]), float(shares[1]), THRESHOLDS, curves
    )


def _on_scene(
    scene: Scene, maps: Sequence[DisparityMap], column: str, protocol: Protocol
) -> tuple[Picture, Values, Values, Values]:
    """The picture of a scene; who is right for every pair, error curves, and the shares of none and of all right."""
    regions = SceneRegions(scene, protocol)
    wrong, curves = [], []
    for disparity in maps:
        measurement = Measurement(disparity, regions)
        mask, counted = wrong_pixels(measurement, column)
        wrong.append(mask[counted])
        curves.append(error_curve(np.abs(measurement.error)[counted], THRESHOLDS))
    table = np.stack(wrong)
    share = np.full(scene.shape, np.nan, np.float32)
    share[counted] = 100 * table.mean(axis=0, dtype=np.float32)
    title = f"{scene.id}: share of {len(maps)} algorithms that are wrong, {column}"
    picture = Picture(title, share, "sequential", "%", (0.0, 100.0), unknown=~regions.known, backdrop=backdrop(scene))
    pixels = max(1, table.shape[1])
    # float32 holds every count of a scene's pixels up to 2^24; sums of larger ones stay good to seven digits
    both = (table.astype(np.float32) @ table.astype(np.float32).T).astype(np.float64)
    none_and_all = np.array([table.all(axis=0).mean(), (~table).all(axis=0).mean()])
    return picture, 1 - both / pixels, np.stack(curves), none_and_all


def error_curve(errors: NDArray[np.float32], thresholds: Values) -> Values:
    """Share of pixels whose error is above each threshold; a missing estimate (NaN) is above all of them.

    >>> error_curve(np.array([0.5, 1.5, np.nan, 3.0], np.float32), np.array([0.1, 1.0, 2.0, 4.0])).tolist()
    [1.0, 0.75, 0.5, 0.25]
    """
    known = np.sort(errors[np.isfinite(errors)])
    return np.asarray(1 - np.searchsorted(known, thresholds, side="right") / max(1, errors.size), np.float64)
