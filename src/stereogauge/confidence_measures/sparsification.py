"""Sparsification: how many bad pixels are left when the least confident ones are removed.

The idea as in R. Haeusler, R. Klette (ECCV workshops 2012) and X. Hu, P. Mordohai (TPAMI 2012). A pixel is bad where
|D − G| > threshold. Pixels of equal confidence leave together in expectation: within a tied block the bad ones leave
in proportion, so that no curve depends on the order of a sort.

AUSE and AURG on error magnitudes as in E. Ilg et al., "Uncertainty estimates and multi-hypotheses networks for optical
flow", ECCV 2018, and M. Poggi et al., "On the uncertainty of self-supervised monocular depth estimation", CVPR 2020.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.disparity import as_plane
from stereogauge.display import Displayed
from stereogauge.errors import NotApplicable, StereogaugeError, check_one_size, unknown_name
from stereogauge.io.files import load_mask
from stereogauge.model import Calibration, DisparityMap, Mask, as_disparity

GUARD = np.float32(1e-6)
"""px by which float32 may miss an error that equals the threshold; the same as in the bad-pixel metrics."""
LOWER_LIMIT = 0.5
"""px: an estimate this close is never a bad depth, however far away the point."""
D1_PIXELS, D1_SHARE = 3.0, 0.05

Rule: TypeAlias = Literal["bad", "d1", "bad-z", "mae", "rms"]


class RuleFacts(NamedTuple):
    """How a rule is written, with at least and at most so many numbers, and what captions say of it."""

    written: str
    words: str
    least: int = 0
    most: int = 0


RULES: dict[Rule, RuleFacts] = {
    "bad": RuleFacts("bad@DELTA: error above DELTA px", "bad = error above {0:g} px", 1, 1),
    "d1": RuleFacts("d1: error above 3 px and above 5 % of the true disparity", "bad = error above 3 px and 5 %"),
    "bad-z": RuleFacts(
        "bad-z@METRES,LIMIT: depth off by more than METRES, and the disparity by more than LIMIT px (0.5)",
        "bad = depth off by more than {0:g} m and disparity by more than {1:g} px",
        1,
        2,
    ),
    "mae": RuleFacts("mae: mean error, px", "mean error of what remains, px"),
    "rms": RuleFacts("rms: root of the mean squared error, px", "root mean squared error of what remains, px"),
}
MAGNITUDES = ("mae", "rms")


class ErrorKind(Struct, frozen=True):
    """One rule with its numbers; `str` gives the id, such as `bad-z@1,3`."""

    rule: Rule
    tolerance: float = 0.0
    limit: float = LOWER_LIMIT

    def __str__(self) -> str:
        if self.rule == "bad":
            return f"bad@{self.tolerance:g}"
        if self.rule == "bad-z":
            return f"bad-z@{self.tolerance:g}" + (f",{self.limit:g}" if self.limit != LOWER_LIMIT else "")
        return self.rule

    @property
    def magnitude(self) -> bool:
        """Whether the error itself is averaged, instead of counting bad pixels."""
        return self.rule in MAGNITUDES

    @property
    def words(self) -> str:
        """The rule for captions."""
        return RULES[self.rule].words.format(self.tolerance, self.limit)

    def bad(self, disparity: DisparityMap, gt: DisparityMap, calibration: Calibration | None) -> NDArray[np.bool_]:
        """Bad pixels; a missing estimate is bad, and so is a pixel without ground truth."""
        if self.rule == "bad":
            return is_bad(disparity, gt, self.tolerance)
        if self.rule == "d1":
            error = np.abs(disparity - gt)
            good = (error - GUARD <= D1_PIXELS) | (error - GUARD <= D1_SHARE * np.abs(gt))
            return np.asarray(~good, np.bool_)
        if self.rule != "bad-z":
            raise NotApplicable(f"The error {self} counts no bad pixels.")
        if calibration is None or not calibration.metric:
            raise NotApplicable(f"{self} needs a calibration with focal length and baseline, and there is none.")
        return bad_depth(disparity, gt, calibration, self.tolerance, self.limit) | ~np.isfinite(disparity)


def parse_error(text: str) -> ErrorKind:
    """The rule that `bad@3`, `d1`, `bad-z@1`, `bad-z@1,3`, `mae` or `rms` names.

    >>> parse_error("bad-z@1,3").limit
    3.0
    """
    name, at, arguments = text.strip().partition("@")
    rule = next((known for known in RULES if known == name), None)
    if rule is None:
        raise unknown_name("error", name, RULES)
    try:
        numbers = [float(part) for part in arguments.split(",")] if at else []
    except ValueError:
        numbers = [-1.0]
    facts = RULES[rule]
    if not facts.least <= len(numbers) <= facts.most or any(not 0 <= number < np.inf for number in numbers):
        raise StereogaugeError(f"The error {text!r} is not written as it should be; {facts.written}.")
    return ErrorKind(rule, *numbers)


def is_bad(disparity: DisparityMap, gt: DisparityMap, threshold: float) -> NDArray[np.bool_]:
    """|D − G| > threshold, as the bad-pixel metrics count it, or no estimate; true as well without ground truth."""
    if not 0 <= threshold < np.inf:
        raise StereogaugeError(f"The threshold of a bad pixel is a number of px from 0 on; found {threshold:g}.")
    good: NDArray[np.bool_] = np.abs(disparity - gt) - GUARD <= threshold
    return ~good


def bad_depth(
    disparity: DisparityMap, gt: DisparityMap, calibration: Calibration, tolerance: float, limit: float = LOWER_LIMIT
) -> NDArray[np.bool_]:
    """Estimates with |Z_E − Z_D| > tolerance, in metres, and |E − D| > limit, in px.

    A point at infinity or behind the cameras is off by more than any tolerance. A missing estimate is not bad.
    """
    truth, estimate = calibration.depth(gt), calibration.depth(disparity)
    with np.errstate(invalid="ignore"):
        wrong = np.isnan(estimate) | (np.abs(estimate - truth) > tolerance * (1 + 1e-9))
    return np.asarray(wrong & np.isfinite(disparity) & is_bad(disparity, gt, limit), np.bool_)


GOOD_RANGE = (0.70, 0.95)


class SparsificationCurve(Displayed, Struct, frozen=True, eq=False, dict=True):
    """Expected bad pixels among the most confident ones.

    `kept` and `bad` are counts at the corners of a piecewise linear curve from (0, 0) to (all pixels, all bad ones);
    between corners the curve is exact too. An area means little by itself: `oracle` and `random` are its bounds.
    """

    kept: NDArray[np.float64]
    bad: NDArray[np.float64]
    threshold: float

    def __repr__(self) -> str:
        return f"SparsificationCurve({self.pixels} pixels, {self.bad_pixels} off by more than {self.threshold:g} px)"

    @property
    def pixels(self) -> int:
        """The number of pixels in the domain."""
        return int(self.kept[-1])

    @property
    def bad_pixels(self) -> int:
        """The number of bad pixels in the domain."""
        return int(self.bad[-1])

    @property
    def density(self) -> NDArray[np.float64]:
        """Share of pixels kept at each corner, 0 … 1."""
        return self.kept / self.pixels

    @property
    def rate(self) -> NDArray[np.float64]:
        """Share of bad pixels among the kept ones at each corner; at density 0 its limit."""
        rate = np.empty_like(self.bad)
        rate[1:] = self.bad[1:] / self.kept[1:]
        rate[0] = rate[1]
        return rate

    @property
    def good_share(self) -> float:
        """The density at which a perfect order has removed every bad pixel."""
        return 1 - self.bad_pixels / self.pixels

    def at(self, density: float) -> float:
        """Expected number of remaining bad pixels at a density between 0 and 1."""
        return float(self.counts([density])[0])

    def counts(self, densities: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Remaining bad pixels at several densities."""
        wanted = np.asarray(densities, np.float64)
        if ((wanted < 0) | (wanted > 1) | np.isnan(wanted)).any():
            raise StereogaugeError(f"A density lies between 0 and 1; found {wanted.tolist()}.")
        return np.interp(wanted * self.pixels, self.kept, self.bad)

    def rates(self, densities: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of bad pixels among the kept ones at several densities."""
        wanted = np.asarray(densities, np.float64)
        kept = np.where(wanted > 0, wanted * self.pixels, 1)
        return np.where(wanted > 0, self.counts(wanted) / kept, self.rate[0])

    @property
    def at_good_share(self) -> float:
        """Bad pixels left where a perfect order has none; NaN without any good pixel, since none is kept there."""
        return self.at(self.good_share) if self.bad_pixels < self.pixels else float("nan")

    @property
    def auc(self) -> float:
        """∫ rate dφ over all densities: the mean share of bad pixels over all sparsifications."""
        return self.area(0, 1)

    @property
    def range_mean(self) -> float:
        """Mean rate between 70 % and 95 % density, the range of good shares that the paper looks at."""
        low, high = GOOD_RANGE
        return self.area(low, high) / (high - low)

    def area(self, low: float, high: float) -> float:
        """∫ rate dφ from density `low` to `high`, exact for the piecewise linear counts."""
        return mean_area(self.kept, self.bad, low * self.pixels, high * self.pixels)

    @functools.cached_property
    def oracle(self) -> SparsificationCurve:
        """The curve of a perfect order: all bad pixels leave first."""
        good = self.pixels - self.bad_pixels
        kept = np.array([0, good, self.pixels], np.float64)
        return SparsificationCurve(*_corners(kept, np.array([0, 0, self.bad_pixels], np.float64)), self.threshold)

    @functools.cached_property
    def random(self) -> SparsificationCurve:
        """The curve of no order: bad pixels leave in proportion."""
        kept = np.array([0, self.pixels], np.float64)
        return SparsificationCurve(kept, np.array([0, self.bad_pixels], np.float64), self.threshold)

    @property
    def ause(self) -> float:
        """Area between this curve's rate and the oracle's; 0 is perfect."""
        return self.auc - self.oracle.auc

    @property
    def aurg(self) -> float:
        """Area between the random line and this curve's rate; 0 is no better than chance."""
        return self.random.auc - self.auc

    @property
    def roc_auc(self) -> float:
        """Probability that a random bad pixel is less confident than a random good one, ties counting half.

        NaN without one of them.
        """
        good = self.kept - self.bad
        if self.bad[-1] == 0 or good[-1] == 0:
            return float("nan")
        area = np.sum(np.diff(good) * (2 * self.bad[-1] - self.bad[1:] - self.bad[:-1])) / 2
        return float(area / (self.bad[-1] * good[-1]))

    def __add__(self, other: SparsificationCurve) -> SparsificationCurve:
        """Pooling by density: both scenes are sparsified to the same density, each by its own order."""
        return pooled([self, other])


def sparsify(
    confidence: NDArray[Any],
    disparity: NDArray[Any],
    gt: NDArray[Any],
    threshold: float = 1.0,
    mask: Mask | None = None,
    *,
    missing: Literal["bad", "excluded"] = "bad",
    higher_is_better: bool = False,
) -> SparsificationCurve:
    """Remove the least confident pixels first and count the bad ones that stay.

    `confidence` is a map in which lower means more confident (or higher, if so declared); NaN is the least confident
    of all. The domain are the pixels with known ground truth, inside `mask`. A pixel without an estimate is bad, or
    with missing="excluded" outside the domain.

    >>> disparity, truth = np.array([[4, 4, 9, 8]]), np.array([[4, 4, 4, 8]])
    >>> curve = sg.sparsify(np.array([[0.1, 0.2, 0.9, 0.3]]), disparity, truth)
    >>> curve.at(1.0), curve.at(0.75)  # bad pixels left; the only one is the least confident, so it leaves first
    (1.0, 0.0)
    """
    kind = ErrorKind("bad", threshold)
    curve = sparsify_by(kind, confidence, disparity, gt, mask, missing=missing, higher_is_better=higher_is_better)
    assert isinstance(curve, SparsificationCurve)
    return curve


def mean_area(kept: NDArray[np.float64], total: NDArray[np.float64], low: float, high: float) -> float:
    """∫ total/kept dφ from `low` to `high` kept pixels, exact for totals that are linear between their corners.

    With total = a + s·k between corners k₀ and k₁ the integral of total/k is s·(k₁ − k₀) + a·log(k₁/k₀); a = 0 from
    k₀ = 0 on.
    """
    inner = kept[(kept > low) & (kept < high)]
    corners = np.concatenate([[low], inner, [high]])
    sums = np.interp(corners, kept, total)
    width = np.diff(corners)
    slope = np.divide(np.diff(sums), width, out=np.zeros_like(width), where=width > 0)
    offset = sums[:-1] - slope * corners[:-1]
    positive = corners[:-1] > 0
    logarithm = np.zeros_like(width)
    np.log(corners[1:], out=logarithm, where=positive)
    logarithm -= np.log(corners[:-1], out=np.zeros_like(width), where=positive)
    return float(np.sum(slope * width + np.where(positive, offset * logarithm, 0)) / kept[-1])


def curve_of(values: NDArray[np.float64], bad: NDArray[np.bool_], threshold: float) -> SparsificationCurve:
    """The curve of pixels with these confidences (lower = more confident, NaN last), bad where `bad`."""
    if values.size == 0:
        raise NotApplicable("Sparsification has no pixels: no ground truth inside the mask.")
    return SparsificationCurve(*_corners(*cumulated(values, bad)), threshold)


def cumulated(values: NDArray[np.float64], amounts: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numbers of pixels from the most confident one on, and the sums of their amounts; tied pixels come together."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    sums = np.cumsum(amounts[order], dtype=np.int64 if amounts.dtype == np.bool_ else np.float64)
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    undefined = np.searchsorted(ordered, np.nan)
    last = np.append(last[last < undefined], [values.size - 1] if undefined < values.size else [])
    corners = last.astype(np.int64)
    kept = np.concatenate([[0], corners + 1]).astype(np.float64)
    return kept, np.concatenate([[0], sums[corners]]).astype(np.float64)


def pooled(scenes: Iterable[SparsificationCurve]) -> SparsificationCurve:
    """Several scenes together at equal densities, each sparsified by its own order: expected counts add up."""
    curves = list(scenes)
    if not curves:
        raise NotApplicable("There is no curve to pool.")
    densities = np.unique(np.concatenate([curve.density for curve in curves]))
    counts = np.sum([curve.counts(densities) for curve in curves], axis=0)
    pixels = sum(curve.pixels for curve in curves)
    return SparsificationCurve(*_corners(densities * pixels, counts), curves[0].threshold)


def _corners(kept: NDArray[np.float64], bad: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The same curve without points that lie on the line between their neighbours, or on each other."""
    distinct = np.append(True, np.diff(kept) > 0)
    kept, bad = kept[distinct], bad[distinct]
    before, after = np.diff(kept)[:-1], np.diff(kept)[1:]
    bends = np.diff(bad)[:-1] * after != np.diff(bad)[1:] * before
    keep = np.concatenate([[True], bends, [True]])
    return kept[keep], bad[keep]


STEPS = 2000

AnyCurve: TypeAlias = "SparsificationCurve | ErrorCurve"


class ErrorCurve(Struct, frozen=True, eq=False):
    """Errors of the most confident pixels: their mean, or with `root` the root of the mean of their squares.

    `kept` and `total` are numbers of pixels and sums of errors (or squares) at the corners; `best` are the sums of an
    order by the error itself, which no confidence undercuts.
    """

    kept: NDArray[np.float64]
    total: NDArray[np.float64]
    best_kept: NDArray[np.float64]
    best: NDArray[np.float64]
    root: bool

    @property
    def pixels(self) -> int:
        """The number of pixels in the domain."""
        return int(self.kept[-1])

    @property
    def oracle(self) -> ErrorCurve:
        """The curve of a perfect order: the largest errors leave first."""
        return ErrorCurve(self.best_kept, self.best, self.best_kept, self.best, self.root)

    @property
    def full(self) -> float:
        """The error of all pixels, and of a random order at every density."""
        return float(self._value(self.total[-1] / self.kept[-1]))

    def rates(self, densities: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """The error of what remains at several densities, px; at density 0 its limit."""
        wanted = np.asarray(densities, np.float64) * self.pixels
        kept = np.maximum(wanted, min(1.0, self.pixels))
        return np.asarray(self._value(np.interp(kept, self.kept, self.total) / kept))

    @property
    def auc(self) -> float:
        """∫ error dφ over all densities, px; exact for means, by 2000 steps between the corners for roots."""
        if not self.root:
            return mean_area(self.kept, self.total, 0, self.pixels)
        kept = np.unique(np.concatenate([self.kept[1:], np.linspace(0, self.pixels, STEPS + 1)[1:]]))
        values = np.sqrt(np.interp(kept, self.kept, self.total) / kept)
        inner = np.sum((values[1:] + values[:-1]) / 2 * np.diff(kept))
        return float((values[0] * kept[0] + inner) / self.pixels)

    @property
    def ause(self) -> float:
        """Area between this curve and the oracle's, px; 0 is perfect."""
        return self.auc - self.oracle.auc

    @property
    def aurg(self) -> float:
        """Area between the random line and this curve, px; 0 is no better than chance."""
        return self.full - self.auc

    def _value(self, mean: Any) -> Any:
        return np.sqrt(mean) if self.root else mean


def sparsify_by(
    error: ErrorKind | str,
    confidence: NDArray[Any],
    disparity: NDArray[Any],
    gt: NDArray[Any],
    mask: Mask | None = None,
    *,
    calibration: Calibration | None = None,
    missing: Literal["bad", "excluded"] = "bad",
    higher_is_better: bool = False,
) -> AnyCurve:
    """Remove the least confident pixels first and follow an error: `bad@3`, `d1`, `bad-z@1,0.5`, `mae` or `rms`.

    As `sparsify` otherwise. A missing estimate has no magnitude, so `mae` and `rms` are over the estimated pixels.

    >>> disparity, truth = np.array([[4.0, 6.0, 9.0]]), np.array([[4.0, 4.0, 4.0]])
    >>> curve = sparsify_by("mae", np.array([[0.1, 0.2, 0.9]]), disparity, truth)
    >>> curve.rates([2 / 3, 1]).round(2).tolist(), curve.ause
    ([1.0, 2.33], 0.0)
    """
    kind = parse_error(error) if isinstance(error, str) else error
    order = as_plane(confidence, "confidence map")
    estimate, truth = as_disparity(disparity), as_disparity(gt, "ground truth")
    inside = None if mask is None else load_mask(mask)
    for name, array in (("confidence map", order), ("ground truth", truth), ("mask", inside)):
        if array is not None:
            check_one_size(f"The {name}", array.shape, "the disparity map", estimate.shape)
    domain = np.isfinite(truth)
    if inside is not None:
        domain &= inside
    if kind.magnitude or missing == "excluded":
        domain &= np.isfinite(estimate)
    values = order[domain].astype(np.float64)
    values = -values if higher_is_better else values
    if not kind.magnitude:
        return curve_of(values, kind.bad(estimate, truth, calibration)[domain], kind.tolerance)
    if not values.size:
        raise NotApplicable("Sparsification has no pixels: no estimate with ground truth inside the mask.")
    errors = np.abs(estimate[domain].astype(np.float64) - truth[domain])
    size = errors**2 if kind.rule == "rms" else errors
    return ErrorCurve(*cumulated(values, size), *cumulated(size, size), root=kind.rule == "rms")


def areas(
    kinds: Iterable[ErrorKind],
    confidence: NDArray[Any],
    disparity: NDArray[Any],
    gt: NDArray[Any],
    mask: Mask | None = None,
    *,
    calibration: Calibration | None = None,
) -> dict[str, float]:
    """`KIND_ause` and `KIND_aurg` of one map for several errors, over the estimated pixels.

    NaN where an error does not apply, such as a distance without a calibration.
    """
    found: dict[str, float] = {}
    for kind in kinds:
        found |= {f"{kind}_ause": float("nan"), f"{kind}_aurg": float("nan")}
        with contextlib.suppress(NotApplicable):
            curve = sparsify_by(kind, confidence, disparity, gt, mask, calibration=calibration, missing="excluded")
            found |= {f"{kind}_ause": curve.ause, f"{kind}_aurg": curve.aurg}
    return found
