"""Disparity maps compared as images: PSNR, SSIM and R-SSIM."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable
from stereogauge.metrics.costs import Costs, PixelCosts, emptiness, mean
from stereogauge.metrics.declaration import Statistic, map_metric, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Mask

WINDOW = 7  # px, as in scikit-image
K1, K2 = 0.01, 0.03
WANG = "Wang, Bovik, Sheikh & Simoncelli, TIP 2004"
NO_WINDOW = "no window of region {region!r} has enough known pixels"


def signal_peak(m: Measurement) -> float:
    """The range of disparities: the protocol's peak, or the scene's ndisp."""
    peak = m.protocol.peak if m.protocol.peak is not None else m.scene.calibration.ndisp
    if peak is None:
        raise NotApplicable(
            f"Image quality needs the range of disparities; scene {m.scene.id!r} has no ndisp, "
            "so set the protocol's peak, for example peak=255."
        )
    return float(peak)


def _squared_error(m: Measurement, region: str) -> Costs:
    return m.error.astype(np.float64) ** 2


@map_metric(
    id="psnr",
    name="Peak signal-to-noise ratio",
    formula=r"10 \log_{10} \frac{\mathrm{peak}^2}{\mathrm{MSE}}",
    unit="dB",
    direction="higher",
    range=(-math.inf, math.inf),
    source=WANG,
    missing="left out",
    costs=_squared_error,
)
def psnr(m: Measurement, region: str) -> Statistic:
    """Peak signal-to-noise ratio of the map; the peak is ndisp unless the protocol gives one.

    A perfect map is infinite.
    """
    pixels = m.pixels(region)
    if pixels.valid == 0:
        return Statistic.empty(emptiness(region, pixels.size), pixels.missing)
    error = pixels.squared / pixels.valid
    value = 10 * math.log10(signal_peak(m) ** 2 / error) if error > 0 else math.inf
    return Statistic.of_value(value, pixels.valid, pixels.missing)


def _window_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    import cv2

    total = cv2.boxFilter(values, cv2.CV_64F, (WINDOW, WINDOW), normalize=False, borderType=cv2.BORDER_CONSTANT)
    return np.asarray(total, np.float64)


def _windows(known: Mask, *, complete: bool) -> Mask:
    """Known pixels, not within 3 px of the image's edge, whose 7×7 window has two known pixels, or only known ones."""
    margin = WINDOW // 2
    enough = np.zeros(known.shape, np.bool_)
    inner = (slice(margin, known.shape[0] - margin), slice(margin, known.shape[1] - margin))
    count = np.rint(_window_sum(known.astype(np.float64)))
    enough[inner] = (known & (count >= (WINDOW * WINDOW if complete else 2)))[inner]
    return enough


def range_ssim(
    first: NDArray[np.float32], second: NDArray[np.float32], peak: float, *, complete: bool = False
) -> NDArray[np.float64]:
    """SSIM per pixel from 7×7 windows, counting only the pixels that both maps know.

    NaN where the centre is unknown in either map, where fewer than two pixels of the window are shared, and within 3 px
    of the image's edge; with `complete`, where any pixel of the window is unknown. Without gaps it equals
    scikit-image's `structural_similarity`.
    """
    both = np.isfinite(first) & np.isfinite(second)
    a = np.where(both, first, 0.0).astype(np.float64)
    b = np.where(both, second, 0.0).astype(np.float64)
    count = np.rint(_window_sum(both.astype(np.float64)))
    n = np.where(_windows(both, complete=complete), count, np.nan)
    mean_a, mean_b = _window_sum(a) / n, _window_sum(b) / n
    unbiased = n / (n - 1)
    variance_a = unbiased * (_window_sum(a * a) / n - mean_a**2)
    variance_b = unbiased * (_window_sum(b * b) / n - mean_b**2)
    covariance = unbiased * (_window_sum(a * b) / n - mean_a * mean_b)
    c1, c2 = (K1 * peak) ** 2, (K2 * peak) ** 2
    similarity = ((2 * mean_a * mean_b + c1) * (2 * covariance + c2)) / (
        (mean_a**2 + mean_b**2 + c1) * (variance_a + variance_b + c2)
    )
    return np.asarray(similarity, np.float64)


def _similarity(m: Measurement, *, complete: bool) -> PixelCosts:
    similarity = range_ssim(m.estimate, m.gt, signal_peak(m), complete=complete)
    return PixelCosts(similarity, defined=_windows(np.isfinite(m.gt), complete=complete), empty=NO_WINDOW)


@metric(
    id="ssim",
    name="Structural similarity",
    formula=r"\overline{\mathrm{SSIM}(E, D)}",
    unit="",
    direction="higher",
    range=(-1.0, 1.0),
    source=WANG,
    missing="left out",
    reduce=mean,
    version=2,
)
def ssim(m: Measurement) -> PixelCosts:
    """Mean SSIM of estimate and ground truth over 7×7 windows in which both maps are complete.

    A window of known ground truth that lacks an estimate counts as a missing pixel.
    """
    return _similarity(m, complete=True)


@metric(
    id="r-ssim",
    name="Range structural similarity",
    formula=r"\overline{\mathrm{SSIM}(E, D)} \text{ over shared pixels of each window}",
    unit="",
    direction="higher",
    range=(-1.0, 1.0),
    source="Malpica & Bovik, ICIP 2009",
    missing="left out",
    reduce=mean,
    version=2,
)
def r_ssim(m: Measurement) -> PixelCosts:
    """Mean SSIM that leaves out, window by window, pixels missing on either side.

    A pixel without an estimate, or alone in its window, counts as missing.
    """
    return _similarity(m, complete=False)
