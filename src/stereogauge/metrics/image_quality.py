"""Disparity maps compared as images: PSNR, SSIM and R-SSIM."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import NotApplicable
from stereogauge.metrics.costs import Costs, PixelCosts, emptiness, mean
from stereogauge.metrics.declaration import Statistic, map_metric, metric
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Mask

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
    keeps_charged=True,
    costs=_squared_error,
)
def psnr(m: Measurement, region: str) -> Statistic:
    """Peak signal-to-noise ratio of the map; the peak is ndisp unless the protocol gives one.

    A perfect map is infinite.
    """
    pixels = m.pixels(region)
    if pixels.valid == 0:
        return Statistic.empty(emptiness(region, pixels.size), pixels.missing)
    most = pixels.missing * m.regions.range.span**2 if pixels.missing else 0.0
    value, charged = (
        10 * math.log10(signal_peak(m) ** 2 / error) if error > 0 else math.inf
        for error in (pixels.squared / pixels.valid, (pixels.squared + most) / pixels.size)
    )
    return Statistic(value, pixels.valid, pixels.missing, charged=charged)


class Window(Struct, frozen=True):
    """The window of SSIM: side × side px, of equal weight or, with `sigma`, of Gaussian weights that add up to 1.

    Moments are unbiased under equal weights, as in scikit-image, and weighted means under Gaussian ones, as Wang et al.
    define them.
    """

    side: int
    sigma: float | None = None

    @property
    def margin(self) -> int:
        """How far a window reaches from its centre, px."""
        return self.side // 2

    def counts(self, known: Mask) -> NDArray[np.float64]:
        """How many pixels of the window around each pixel are known."""
        return np.rint(self._box(known.astype(np.float64)))

    def weights(self, known: Mask) -> NDArray[np.float64]:
        """The sum of the weights of known pixels in the window around each pixel."""
        return self.counts(known) if self.sigma is None else self.sums(known.astype(np.float64))

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weighted sum of the values in the window around each pixel."""
        if self.sigma is None:
            return self._box(values)
        from scipy.ndimage import gaussian_filter

        return np.asarray(gaussian_filter(values, self.sigma, mode="constant", radius=self.margin), np.float64)

    def _box(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        import cv2

        side = (self.side, self.side)
        total = cv2.boxFilter(values, cv2.CV_64F, side, normalize=False, borderType=cv2.BORDER_CONSTANT)
        return np.asarray(total, np.float64)

    def usable(self, known: Mask, *, complete: bool) -> Mask:
        """Known pixels, with their window inside the image, in which two pixels are known, or with `complete` all."""
        enough = np.zeros(known.shape, np.bool_)
        inner = self.inner(known.shape)
        enough[inner] = (known & (self.counts(known) >= (self.side**2 if complete else 2)))[inner]
        return enough

    def inner(self, shape: tuple[int, ...]) -> tuple[slice, ...]:
        """The pixels of an image around which the window lies inside it."""
        return tuple(slice(self.margin, side - self.margin) for side in shape)


UNIFORM = Window(7)
GAUSSIAN = Window(11, 1.5)


def range_ssim(
    first: NDArray[np.float32],
    second: NDArray[np.float32],
    peak: float,
    *,
    complete: bool = False,
    window: Window = UNIFORM,
) -> NDArray[np.float64]:
    """SSIM per pixel from windows of which only the pixels count that both maps know.

    NaN where the centre is unknown in either map, where fewer than two pixels of the window are shared, and where the
    window leaves the image; with `complete`, where any pixel of the window is unknown. Without gaps it equals
    scikit-image's `structural_similarity`; with the window `GAUSSIAN`, the same with `gaussian_weights=True, sigma=1.5,
    use_sample_covariance=False`.
    """
    both = np.isfinite(first) & np.isfinite(second)
    a = np.where(both, first, 0.0).astype(np.float64)
    b = np.where(both, second, 0.0).astype(np.float64)
    n = np.where(window.usable(both, complete=complete), window.weights(both), np.nan)
    mean_a, mean_b = window.sums(a) / n, window.sums(b) / n
    unbiased = n / (n - 1) if window.sigma is None else 1.0
    variance_a = unbiased * (window.sums(a * a) / n - mean_a**2)
    variance_b = unbiased * (window.sums(b * b) / n - mean_b**2)
    covariance = unbiased * (window.sums(a * b) / n - mean_a * mean_b)
    c1, c2 = (K1 * peak) ** 2, (K2 * peak) ** 2
    similarity = ((2 * mean_a * mean_b + c1) * (2 * covariance + c2)) / (
        (mean_a**2 + mean_b**2 + c1) * (variance_a + variance_b + c2)
    )
    return np.asarray(similarity, np.float64)


def _similarity(m: Measurement, *, complete: bool) -> PixelCosts:
    similarity = range_ssim(m.estimate, m.gt, signal_peak(m), complete=complete)
    return PixelCosts(similarity, defined=UNIFORM.usable(np.isfinite(m.gt), complete=complete), empty=NO_WINDOW)


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
