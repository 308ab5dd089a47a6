"""What sparsification adds up: bad pixels by one of several rules, or the size of the errors themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable, StereogaugeError, unknown_name
from stereogauge.model import Calibration, DisparityMap

GUARD = np.float32(1e-6)
"""px by which float32 may miss an error that equals the threshold; the same as in the bad-pixel metrics."""
LOWER_LIMIT = 0.5
"""px: an estimate this close is never a bad depth, however far away the point."""
D1_PIXELS, D1_SHARE = 3.0, 0.05

Rule: TypeAlias = Literal["bad", "d1", "bad-z", "mae", "rms"]
RULES: dict[Rule, str] = {
    "bad": "bad@DELTA: error above DELTA px",
    "d1": "d1: error above 3 px and above 5 % of the true disparity",
    "bad-z": "bad-z@METRES,LIMIT: depth off by more than METRES, and the disparity by more than LIMIT px (0.5)",
    "mae": "mae: mean error, px",
    "rms": "rms: root of the mean squared error, px",
}
MAGNITUDES = ("mae", "rms")


@dataclass(frozen=True)
class ErrorKind:
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
        return {
            "bad": f"bad = error above {self.tolerance:g} px",
            "d1": "bad = error above 3 px and 5 %",
            "bad-z": f"bad = depth off by more than {self.tolerance:g} m and disparity by more than {self.limit:g} px",
            "mae": "mean error of what remains, px",
            "rms": "root mean squared error of what remains, px",
        }[self.rule]

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
    wanted = {"bad": (1, 1), "bad-z": (1, 2)}.get(rule, (0, 0))
    if not wanted[0] <= len(numbers) <= wanted[1] or any(not 0 <= number < np.inf for number in numbers):
        raise StereogaugeError(f"The error {text!r} is not written as it should be; {RULES[rule]}.")
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
    """Estimates with |Z_E − Z_D| > max(tolerance, Z(D − limit) − Z(D)): a distance in metres, and a limit in px.

    A point behind the cameras is bad; a missing estimate is not.
    """
    truth, estimate = calibration.depth(gt), calibration.depth(disparity)
    nearer = gt.astype(np.float64) + calibration.doffs - limit
    with np.errstate(divide="ignore", invalid="ignore"):
        slack = np.where(nearer > 0, (calibration.focal_baseline or np.nan) / nearer - truth, np.inf)
        wrong = np.abs(estimate - truth) > np.maximum(tolerance, slack) * (1 + 1e-9)
    return np.asarray(wrong | (np.isfinite(disparity) & np.isnan(estimate)), np.bool_)
