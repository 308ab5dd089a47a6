"""Sparsification by any error: how large the errors of the most confident pixels are.

AUSE and AURG on error magnitudes as in E. Ilg et al., "Uncertainty estimates and multi-hypotheses networks for optical
flow", ECCV 2018, and M. Poggi et al., "On the uncertainty of self-supervised monocular depth estimation", CVPR 2020.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from stereogauge.confidence_measures.sparsification import (
    ErrorKind,
    SparsificationCurve,
    cumulated,
    curve_of,
    domain_values,
    mean_area,
    parse_error,
)
from stereogauge.errors import NotApplicable
from stereogauge.model import Calibration, Mask

STEPS = 2000

AnyCurve: TypeAlias = "SparsificationCurve | ErrorCurve"


@dataclass(frozen=True, eq=False)
class ErrorCurve:
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
    rule: Literal["bad", "excluded"] = "excluded" if kind.magnitude else missing
    values, estimate, truth, domain = domain_values(confidence, disparity, gt, mask, rule, higher_is_better)
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
