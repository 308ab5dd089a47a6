"""What a matcher is given and what it returns: grey images, maps, and a run of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.disparity import as_array
from stereogauge.display import Displayed
from stereogauge.errors import FileError, SizeError
from stereogauge.model import DisparityMap, Image

if TYPE_CHECKING:
    from stereogauge.kernels.cost_summary import CostSummary


def grey(image: NDArray[Any], name: str) -> NDArray[Any]:
    """One channel: uint8 and uint16 keep their type, everything else becomes float32.

    Colour by 0.299 R + 0.587 G + 0.114 B, alpha is dropped.
    """
    array = as_array(image)
    if array.ndim == 3 and array.shape[2] in (1, 2):
        array = array[:, :, 0]
    if array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (3, 4)):
        raise SizeError(
            f"The {name} image must be (height, width) or (height, width, 3 or 4); found shape {array.shape}."
        )
    if array.size == 0:
        raise SizeError(f"The {name} image is empty: its shape is {array.shape}.")
    if array.dtype not in (np.uint8, np.uint16):
        if array.dtype.kind not in "fiu":
            raise FileError(f"The {name} image must hold numbers; found type {array.dtype}.")
        array = array.astype(np.float32)
        if not np.isfinite(array).all():
            raise FileError(f"The {name} image holds values that are not finite; matchers need a value at every pixel.")
    if array.ndim == 3:
        import cv2

        array = cv2.cvtColor(np.ascontiguousarray(array[:, :, :3]), cv2.COLOR_RGB2GRAY)
    return np.ascontiguousarray(array)


def eight_bit(image: NDArray[Any], lowest: float | None = None, highest: float | None = None) -> NDArray[np.uint8]:
    """A uint8 image unchanged; others scaled so that `lowest`…`highest` (default: of the image) becomes 0…255."""
    if image.dtype == np.uint8:
        return image
    low = float(image.min()) if lowest is None else lowest
    high = float(image.max()) if highest is None else highest
    if high <= low:
        return np.zeros(image.shape, np.uint8)
    return np.clip(np.rint((image.astype(np.float64) - low) * (255.0 / (high - low))), 0, 255).astype(np.uint8)


class MatcherEvidence(Struct, frozen=True, kw_only=True):
    """What a matcher may tell beside its maps.

    `costs` is the aggregated volume (H, W, ndisp), low = good; `winners` the whole disparities that won in it;
    `summary` what confidence measures need of the costs, for matchers that do not keep them, with the ς, T and ramp
    it was made with; `right_minimum` the right winners' costs; `threads` how many threads it used;
    `device` what it ran on where that was not the processor; `weights` the number of its learned parameters.
    `confidence` is the matcher's own confidence map; `confidence_better` says which of its values are better.
    """

    costs: NDArray[np.uint16] | None = None
    winners: NDArray[np.uint16] | None = None
    right_minimum: NDArray[np.uint16] | None = None
    summary: CostSummary | None = None
    sigma: float | None = None
    temperature: float | None = None
    ramp: float | None = None
    window_radius: int = 0
    confidence: NDArray[Any] | None = None
    confidence_better: Literal["higher", "lower"] = "higher"
    peak_memory: int | None = None
    threads: int | None = None
    device: str = ""
    weights: int | None = None


class MatcherOutput(MatcherEvidence, frozen=True):
    """What a matcher returns; only the disparity is required.

    `seconds` and `cpu_seconds` are set by a matcher that runs in another process and measures its own time.
    """

    disparity: NDArray[Any]
    right_disparity: NDArray[Any] | None = None
    cpu_seconds: float | None = None
    seconds: float | None = None


def output_of_maps(maps: Mapping[str, NDArray[Any]]) -> MatcherOutput:
    """What a function returned as maps by name (see `stereogauge.matching.python_worker_main.as_maps`)."""
    return MatcherOutput(
        disparity=maps["disparity"],
        right_disparity=maps.get("right"),
        confidence=maps.get("sigma", maps.get("confidence")),
        confidence_better="lower" if "sigma" in maps else "higher",
    )


class MatchResult(MatcherEvidence, Displayed, frozen=True):
    """One run of a matcher on one pair.

    `disparity` and `right_disparity` are float32 with NaN = unknown, after the requested post-processing;
    `raw` and `right_raw` are the maps before it. `classes` is what `lr_check` found per pixel, None without it: 0
    consistent, 1 occluded, 2 mismatched. `seconds` is wall time of matching and post-processing,
    `cpu_seconds` processor time, `peak_memory` bytes where they were measured; `processor` names the machine's. Loading
    is over before the clock starts.
    """

    matcher: str
    ndisp: int
    parameters: Mapping[str, Any]
    left: Image
    right: Image
    disparity: DisparityMap
    raw: DisparityMap
    seconds: float
    cpu_seconds: float
    right_disparity: DisparityMap | None = None
    right_raw: DisparityMap | None = None
    classes: NDArray[np.uint8] | None = None
    processor: str = ""

    def __repr__(self) -> str:
        height, width = self.disparity.shape
        return f"MatchResult({self.matcher}: {width}×{height}, {self.ndisp} disparities, {self.seconds:.3g} s)"

    @property
    def facts(self) -> dict[str, float | str]:
        """Run time, and what it depends on: image size, number of disparities, threads and device; millions of weights.

        A run on a device of its own states that instead of the processor.
        """
        height, width = self.disparity.shape
        found: dict[str, float | str] = {
            "seconds": self.seconds,
            "width": width,
            "height": height,
            "ndisp": self.ndisp,
            "processor": self.device or self.processor,
        }
        if self.weights is not None:
            found["weights"] = self.weights / 1e6
        if math.isfinite(self.cpu_seconds):
            found["cpu_seconds"] = self.cpu_seconds
        if self.threads is not None:
            found["threads"] = self.threads
        return found
