"""What a confidence measure may look at: a matcher's result, and what its costs say about each pixel."""

from __future__ import annotations

import functools
import itertools
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable, StereogaugeError, check_one_size
from stereogauge.kernels.cost_summary import CostSummary, RowSummary, Scales, flat_costs
from stereogauge.kernels.left_right import left_right_differences
from stereogauge.kernels.threads import in_threads
from stereogauge.matching.result import MatchResult
from stereogauge.model import DisparityMap, as_disparity

if TYPE_CHECKING:
    from stereogauge.confidence_measures.declaration import ConfidenceMeasure
    from stereogauge.confidence_measures.learned import Trees

DEFAULT_SCALE = 100.0


class Evidence(Struct, frozen=True, eq=False, dict=True):
    """One run of a matcher with the scales ς, T and ramp of cost differences; ground truth and model where given."""

    result: MatchResult
    sigma: float
    temperature: float
    ramp: float
    gt: DisparityMap | None = None
    model: Trees | None = None

    @classmethod
    def of(
        cls,
        result: MatchResult,
        *,
        sigma: float | None = None,
        temperature: float | None = None,
        gt: NDArray[Any] | None = None,
        model: Trees | None = None,
    ) -> Evidence:
        """Evidence with the matcher's own scales (P2 for SGM) unless others are given."""
        truth = None if gt is None else as_disparity(gt, "ground truth")
        if truth is not None:
            check_one_size("The ground truth", truth.shape, "the disparity map", result.disparity.shape)
        for name, value in (("sigma", sigma), ("temperature", temperature)):
            if value is not None and not 0 < value < np.inf:
                raise StereogaugeError(f"The {name} of costs is a positive number; found {value:g}.")
        return cls(
            result=result,
            sigma=sigma or result.sigma or DEFAULT_SCALE,
            temperature=temperature or result.temperature or DEFAULT_SCALE,
            ramp=result.ramp or 8 * DEFAULT_SCALE,
            gt=truth,
            model=model,
        )

    @property
    def parts(self) -> frozenset[str]:
        """Which needs of a measure are met."""
        result = self.result
        there = {
            "costs": result.costs is not None or result.summary is not None,
            "volume": result.costs is not None,
            "right": result.right_disparity is not None,
            "image": True,
            "gt": self.gt is not None,
            "model": self.model is not None,
        }
        return frozenset(name for name, present in there.items() if present)

    @property
    def disparity(self) -> DisparityMap:
        """The left map before post-processing: what the costs speak of."""
        return self.result.raw

    @functools.cached_property
    def summary(self) -> CostSummary:
        """What the measures need of the aggregated costs, computed once."""
        result = self.result
        made_with = (result.sigma, result.temperature)
        if result.costs is None and result.summary is not None and made_with == (self.sigma, self.temperature):
            return result.summary
        if result.costs is None:
            raise NotApplicable(
                f"{result.matcher} kept no costs (or a summary of them with other scales than ς = {self.sigma:g}, "
                f"T = {self.temperature:g}); match again with keep=costs."
            )
        return summarise(self.costs, self.winners, Scales.of(self.sigma, self.temperature, self.ramp))

    @property
    def costs(self) -> NDArray[np.uint16]:
        """The aggregated volume (H, W, ndisp)."""
        if self.result.costs is None:
            raise NotApplicable(f"{self.result.matcher} kept no costs; match again with keep=costs.")
        return self.result.costs

    @property
    def winners(self) -> NDArray[np.uint16]:
        """The disparity of lowest cost, the smallest among equals."""
        if self.result.winners is not None:
            return self.result.winners
        winners: NDArray[np.uint16] = self.costs.argmin(axis=2).astype(np.uint16)
        return winners

    @property
    def right_disparity(self) -> DisparityMap:
        """The right map before post-processing."""
        if self.result.right_disparity is None:
            raise NotApplicable(f"{self.result.matcher} gave no right map.")
        return self.result.right_disparity if self.result.right_raw is None else self.result.right_raw

    @property
    def trained(self) -> Trees:
        """The trained model."""
        if self.model is None:
            raise NotApplicable("The learned combination needs a trained model: give it as model=….")
        return self.model

    @property
    def error(self) -> NDArray[np.float32]:
        """|D − G| in pixels, NaN where either is unknown."""
        if self.gt is None:
            raise NotApplicable("The error of a disparity map needs ground truth: give it as gt=….")
        error: NDArray[np.float32] = np.abs(self.disparity - self.gt)
        return error

    @functools.cached_property
    def _maps(self) -> dict[str, NDArray[np.float32]]:
        return {}

    def measured(self, measure: ConfidenceMeasure) -> NDArray[np.float32]:
        """The map of a measure, computed once however many others build on it."""
        if measure.id not in self._maps:
            self._maps[measure.id] = measure.compute(self)
        return self._maps[measure.id]

    @functools.cached_property
    def left_right_difference(self) -> NDArray[np.float32]:
        """|D(x) − D_r(x − D(x))| in pixels; ndisp where x − D(x) leaves the image or a value is unknown."""
        return left_right_differences(self.disparity, self.right_disparity, float(self.result.ndisp))


def summarise(costs: NDArray[np.uint16], winners: NDArray[np.uint16], scales: Scales, threads: int = 0) -> CostSummary:
    """One pass over the volume (H, W, ndisp), in threads over blocks of rows."""
    height, width, ndisp = costs.shape
    flat, padded = flat_costs(costs)
    summary = CostSummary.empty(height, width)
    count = min(height, threads or os.cpu_count() or 1)
    bounds = [height * part // count for part in range(count + 1)]
    of = (flat, padded, ndisp, np.ascontiguousarray(winners, np.uint16), scales, summary)
    in_threads([functools.partial(RowSummary(*of).fill, *rows) for rows in itertools.pairwise(bounds)], count)
    return summary
