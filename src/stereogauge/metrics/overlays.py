"""What the geometry metrics share: scores from per-pixel values of a set, and pictures of sets over the grey image.

Colours are told apart without red against green: they differ in lightness, and what is wrong is the darkest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.set_scores import sum_and_count
from stereogauge.masks.geometry.sets import Positions
from stereogauge.metrics.declaration import Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.picture import Picture
from stereogauge.model import Mask, Scene

HCI = "Honauer, Maier-Hein & Kondermann, ICCV 2015"
VARIANT = f"after {HCI}"
JUMP, NEAR, FAR, WRONG = "#5e3c99", "#56b4e9", "#f5c77e", "#a50026"
GUARD = 1e-6


def emptiness(m: Measurement, size: int, what: str, estimated: str, looked_for: str) -> str:
    """Why nothing was measured.

    The ground truth is too sparse, the scene has no such pixel, or the estimate has none there. Where the scene has
    none, `looked_for` names the threshold that nothing passed, and the note the scene's size s that scales it.
    """
    if size:
        return f"no estimate {estimated}"
    return m.regions.geometry.refusal or f"no {what} found: {looked_for} (s = {m.scene.resolution:.3g})"


def mean_of(values: NDArray[np.float32], empty: str, note: str = "") -> Statistic:
    """The sum and number of the values that are not NaN; the others are missing estimates and left out.

    Of verdicts 0 and 1 it is a share of the pixels that have an estimate: a hole is neither right nor wrong.
    """
    total, count = sum_and_count(values)
    missing = values.size - count
    return Statistic(total, count, missing, note) if count else Statistic.empty(empty, missing)


def share_above(values: NDArray[np.float32], threshold: float, empty: str, note: str = "") -> Statistic:
    """Percentage of the measured pixels whose magnitude exceeds the threshold.

    Equality is good in spite of rounding.
    """
    _, count = sum_and_count(values)
    missing = values.size - count
    if not count:
        return Statistic.empty(empty, missing)
    return Statistic(float(np.count_nonzero(np.abs(values) > np.float64(threshold + GUARD))), count, missing, note)


def is_above(values: NDArray[np.float32], threshold: float) -> NDArray[np.float64]:
    """1 where the magnitude exceeds the threshold, 0 where not, NaN where it was not measured."""
    return np.where(np.isnan(values), np.nan, (np.abs(values) > threshold + GUARD).astype(np.float64))


def grey_image(scene: Scene) -> NDArray[np.uint8] | None:
    """The left image in grey, 8 bit; None where the scene has none or one of another size."""
    if not scene.has("left") or scene.left.shape[:2] != scene.shape:
        return None
    image = scene.left
    brightest = 65535 if image.dtype == np.uint16 else 255
    grey = image.mean(axis=2) if image.ndim == 3 else image
    return np.asarray(np.clip(grey * (255 / brightest), 0, 255), dtype=np.uint8)


def _missing(m: Measurement, positions: Positions) -> Mask:
    return m.regions.geometry.mask(positions) & np.isnan(m.estimate)


def label_overlay(
    m: Measurement,
    title: str,
    layers: list[tuple[Positions, str, str]],
    measured: Positions,
) -> Picture:
    """Named layers (positions, text, colour) over the image, later ones on top."""
    sets = m.regions.geometry
    values = np.full(sets.height * sets.width, np.nan, np.float32)
    legend: Mapping[int, tuple[str, str]] = {i: (text, colour) for i, (_, text, colour) in enumerate(layers, 1)}
    for label, (positions, _, _) in enumerate(layers, 1):
        values[positions] = label
    return Picture(
        title=title,
        values=values.reshape(sets.height, sets.width),
        kind="labels",
        legend=legend,
        missing=_missing(m, measured),
        backdrop=grey_image(m.scene),
    )


def heat_overlay(
    m: Measurement,
    title: str,
    positions: Positions,
    values: NDArray[Any],
    unit: str,
    limit: float,
    *,
    signed: bool = False,
) -> Picture:
    """Values of a set as heat over the image, from 0 (or −limit) to limit."""
    return Picture(
        title=title,
        values=m.regions.geometry.spread(positions, values),
        kind="diverging" if signed else "sequential",
        unit=unit,
        limits=(-limit if signed else 0.0, limit),
        missing=_missing(m, positions),
        backdrop=grey_image(m.scene),
    )
