"""Ray casting of synthetic worlds: nearest surface, its depth and its colour, for every pixel of a rectified camera.

A surface is one row of a float64 table whose columns `ROW` names; `stereogauge.datasets.synthetic.world` builds
it. The camera is at (offset, 0, 0) and looks along +Z.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stereogauge.kernels.library import INTEGER, REAL, Reads, Writes, native

Table = NDArray[np.float64]

PATCH, DISC, SPHERE, CYLINDER = 0, 1, 2, 3

ROW = np.dtype(
    [
        ("kind", np.float64),
        *((name, np.float64, 3) for name in ("origin", "axis_u", "axis_v", "normal")),
        *((name, np.float64) for name in ("half_u", "half_v", "radius", "cos_limit", "lattice_period", "lattice_bar")),
        *((name, np.float64, 3) for name in ("dark", "light")),
        *((name, np.float64) for name in ("noise_cell", "stripe_period", "stripe_share", "reflectivity", "seed")),
    ]
)
"""What the table holds of a surface; its colours vary between `dark` and `light`."""
COLUMNS = ROW.itemsize // 8

SURFACES = Reads(np.float64, "surfaces", COLUMNS)
BOUNDS = Reads(np.float64, "surfaces", 4)
SHAPE = ("height", "width")

_render_rows = native(
    "render_rows",
    surfaces=SURFACES,
    bounds=BOUNDS,
    offset=REAL,
    focal=REAL,
    centre_x=REAL,
    centre_y=REAL,
    first=INTEGER,
    last=INTEGER,
    indices=Writes(np.int64, "surfaces"),
    depth=Writes(np.float64, *SHAPE),
    labels=Writes(np.int32, *SHAPE),
    colours=Writes(np.float32, *SHAPE, 3),
)
_visible_rows = native(
    "visible_rows",
    surfaces=SURFACES,
    bounds=BOUNDS,
    offset=REAL,
    other=REAL,
    focal=REAL,
    centre_x=REAL,
    centre_y=REAL,
    first=INTEGER,
    last=INTEGER,
    indices=Writes(np.int64, "surfaces"),
    depth=Reads(np.float64, *SHAPE),
    visible=Writes(np.bool_, *SHAPE),
)


def render_rows(
    surfaces: Table,
    bounds: Table,
    offset: float,
    camera: tuple[float, float, float],
    rows: tuple[int, int],
    depth: NDArray[np.float64],
    labels: NDArray[np.int32],
    colours: NDArray[np.float32],
) -> None:
    """Fill the rows from rows[0] to before rows[1] of what the camera at `offset` sees.

    `bounds` are limits (x from, x to, y from, y to) in pixels of what it may see of each surface, `camera` is (focal
    length, centre x, centre y) in pixels. depth is inf and the label, otherwise the row of the table, −1 where a ray
    hits nothing.
    """
    _render_rows(surfaces, bounds, offset, *camera, *rows, np.empty(len(surfaces), np.int64), depth, labels, colours)


def visible_rows(
    surfaces: Table,
    bounds: Table,
    offset: float,
    other: float,
    camera: tuple[float, float, float],
    rows: tuple[int, int],
    depth: NDArray[np.float64],
    visible: NDArray[np.bool_],
) -> None:
    """The same rows of `visible`: the point seen from `offset` projects into the image of the camera at `other`,
    unhidden; `bounds` are those of the camera at `other`.
    """
    room = np.empty(len(surfaces), np.int64)
    _visible_rows(surfaces, bounds, offset, other, *camera, *rows, room, depth, visible)
