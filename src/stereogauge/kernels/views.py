"""From one view to the other: which pixels it sees too, and images moved there."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import INTEGER, REAL, SINGLE, Reads, Writes, native

Floats = NDArray[np.float32]
Flags = NDArray[np.bool_]

SHAPE = ("height", "width")
IMAGE = (*SHAPE, "channels")

_middlebury_v2_visible = native(
    "middlebury_v2_visible",
    disparity=Reads(np.float32, *SHAPE),
    visible=Writes(np.bool_, *SHAPE),
    room=Writes(np.float32, 3, "width"),
)
_bidirectional_visible = native(
    "bidirectional_visible",
    disparity=Reads(np.float32, *SHAPE),
    other=Reads(np.float32, *SHAPE),
    tolerance=SINGLE,
    sign=INTEGER,
    visible=Writes(np.bool_, *SHAPE),
)
_z_buffer_visible = native(
    "z_buffer_visible",
    disparity=Reads(np.float32, *SHAPE),
    tolerance=SINGLE,
    nearest=Writes(np.float32, "width"),
    visible=Writes(np.bool_, *SHAPE),
)
_warp_backward = native(
    "warp_backward",
    source=Reads(np.float32, *IMAGE),
    disparity=Reads(np.float32, *SHAPE),
    rendered=Writes(np.float32, *IMAGE),
    hole=Writes(np.bool_, *SHAPE),
)
_splat_forward = native(
    "splat_forward",
    source=Reads(np.float32, *IMAGE),
    disparity=Reads(np.float32, *SHAPE),
    position=REAL,
    member=Reads(np.bool_, *SHAPE),
    room=Writes(np.float64, "3 + channels", "width"),
    rendered=Writes(np.float32, *IMAGE),
    hole=Writes(np.bool_, *SHAPE),
    inside=Writes(np.bool_, *SHAPE),
    lost=Writes(np.bool_, *SHAPE),
)


def middlebury_v2_visible(disparity: Floats) -> Flags:
    """Visibility as in Middlebury's official v2 masks, from the left map alone, in which unknown is 0."""
    visible = np.empty(disparity.shape, np.bool_)
    _middlebury_v2_visible(disparity, visible, np.empty((3, disparity.shape[1]), np.float32))
    return visible


def bidirectional_visible(disparity: Floats, other: Floats, tolerance: float, sign: int = 1) -> Flags:
    """|D(x) − D′(x − sign·round D(x))| ≤ tolerance with the target inside the image; sign 1 from left to right.

    An unknown value of the other view hides. Halves are rounded away from zero.
    """
    visible = np.empty(disparity.shape, np.bool_)
    _bidirectional_visible(disparity, other, tolerance, sign, visible)
    return visible


def z_buffer_visible(disparity: Floats, tolerance: float) -> Flags:
    """Visible where no pixel nearer by more than `tolerance` px lands on the same target inside the image."""
    visible = np.empty(disparity.shape, np.bool_)
    _z_buffer_visible(disparity, tolerance, np.empty(disparity.shape[1], np.float32), visible)
    return visible


def warp_backward(source: Floats, disparity: Floats) -> tuple[Floats, Flags]:
    """source(x − d(x)) of an image (H, W, channels), linear between two pixels; and its holes.

    A pixel without a disparity, or whose source lies outside the image, is a hole and NaN.
    """
    rendered, hole = np.empty(source.shape, np.float32), np.empty(disparity.shape, np.bool_)
    _warp_backward(source, disparity, rendered, hole)
    return rendered, hole


def splat_forward(
    source: Floats, disparity: Floats, position: float, member: Flags
) -> tuple[Floats, Flags, Flags, Flags]:
    """The view at `position` (in baselines; the source is at 0): pixel x lands at x − position·d(x).

    Returns the view, its holes (NaN there), which of its pixels stem for the larger part from `member`, and on which a
    pixel without a disparity may have fallen. Each pixel is shared linearly between the two columns that it falls on;
    the nearest surface wins.
    """
    rendered = np.empty(source.shape, np.float32)
    hole, inside, lost = (np.empty(disparity.shape, np.bool_) for _ in range(3))
    room = np.empty((3 + source.shape[2], source.shape[1]))
    _splat_forward(source, disparity, float(position), member, room, rendered, hole, inside, lost)
    return rendered, hole, inside, lost
