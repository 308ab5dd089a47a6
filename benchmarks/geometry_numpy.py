"""The geometry sets and metrics in plain NumPy and SciPy: the peer of the benchmarks and the reference of the tests.

Written from the definitions (docs/geometry.md), whole-array operation by whole-array operation, sharing nothing with
the package but the parameters. Planes are searched as the package searches them, on the same number of points, so that
times compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Array = NDArray[Any]
EIGHT = np.ones((3, 3))


@dataclass
class Sets:
    """Dense maps of every set; see `stereogauge.masks.geometry.sets.GeometrySets`."""

    discontinuity: Array
    foreground: Array
    background: Array
    extrapolated_background: Array
    extrapolated_foreground: Array
    edge: Array
    gradient: Array
    to_discontinuity: Array
    to_outside: Array
    plane_labels: Array
    planes: Array
    structures: Array
    surround: Array
    surround_label: Array
    surround_column: Array
    extrapolated_structure: Array


def fill_rows(disparity: Array) -> Array:
    """Gaps take the smaller of their two known row neighbours.

    Rows without any copy the nearest row above, else below.
    """
    known = np.isfinite(disparity)
    columns = np.arange(disparity.shape[1])
    left = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    right = np.minimum.accumulate(np.where(known, columns, columns.size)[:, ::-1], axis=1)[:, ::-1]
    from_left = np.where(left >= 0, np.take_along_axis(disparity, np.maximum(left, 0), axis=1), np.inf)
    last = columns.size - 1
    from_right = np.where(right <= last, np.take_along_axis(disparity, np.minimum(right, last), axis=1), np.inf)
    filled = np.minimum(from_left, from_right)
    rows = np.flatnonzero(known.any(axis=1))
    source = np.searchsorted(rows, np.arange(len(filled)), side="right") - 1
    return filled[rows[np.maximum(source, 0)]].astype(np.float32)


def gradient(values: Array) -> tuple[Array, Array]:
    """Central differences along x and y; 0 along a side of one pixel."""
    parts = [np.gradient(values, axis=axis) if values.shape[axis] > 1 else np.zeros_like(values) for axis in (1, 0)]
    return parts[0], parts[1]


def _walk(
    y: Array, x: Array, step_y: Array, step_x: Array, steps: Array, shape: tuple[int, int]
) -> tuple[Array, Array, Array]:
    row = np.floor(y + steps * step_y + 0.5).astype(int)
    column = np.floor(x + steps * step_x + 0.5).astype(int)
    inside = (row >= 0) & (row < shape[0]) & (column >= 0) & (column < shape[1])
    return np.clip(row, 0, shape[0] - 1), np.clip(column, 0, shape[1] - 1), inside


def bands(filled: Array, scaled: Any, median: int) -> tuple[Array, Array, Array, Array]:
    """M_d, M_f, M_b and the disparities from beyond the edge."""
    shape = filled.shape
    along_x, along_y = gradient(filled)
    magnitude = np.sqrt(along_x**2 + along_y**2)
    jump = magnitude > scaled.discontinuity_gradient
    y, x = np.nonzero(jump)
    step_x, step_y = along_x[jump].astype(float), along_y[jump].astype(float)
    length = np.sqrt(step_x * step_x + step_y * step_y)
    step_x, step_y = step_x / length, step_y / length
    first = {}
    for sign in (1, -1):
        steps = np.full(y.size, -1)
        alive, last = np.ones(y.size, bool), filled[y, x]
        for k in range(1, scaled.band_length + 1):
            row, column, inside = _walk(y, x, sign * step_y, sign * step_x, np.full(y.size, k), shape)
            alive &= inside
            here = filled[row, column]
            turns = sign * (last - here) >= scaled.discontinuity_gradient
            searched = alive & (steps < 0)
            steps[searched & turns] = k - 1
            steps[searched & ~turns & ~jump[row, column]] = k
            last = here
        row, column, _ = _walk(y, x, sign * step_y, sign * step_x, steps, shape)
        first[sign] = steps, np.where(steps >= 0, filled[row, column], np.nan), jump[row, column]
    with np.errstate(invalid="ignore"):
        separates = first[1][1] - first[-1][1] >= scaled.discontinuity_gradient
    rank = {sign: np.full(shape, np.inf) for sign in (1, -1)}
    beyond = {sign: np.full(shape, np.nan, np.float32) for sign in (1, -1)}
    for sign in (1, -1):
        steps, other = first[sign][0], first[-sign][1]
        alive = separates & ~first[sign][2]
        for away in range(scaled.band_length):
            row, column, inside = _walk(y, x, sign * step_y, sign * step_x, steps + away, shape)
            alive &= inside
            free = alive & ~jump[row, column] & np.isinf(rank[sign][row, column])
            # Reversed copies (NumPy flips views): of equally near edge pixels the first in reading order stays.
            rows, columns, values = (part[free][::-1].copy() for part in (row, column, other))
            rank[sign][rows, columns] = away
            beyond[sign][rows, columns] = values
    own = {1: rank[1] < rank[-1], -1: rank[-1] < rank[1]}
    labels = own[1].astype(np.int8) - own[-1].astype(np.int8)
    smoothed = np.where(jump, 0, ndimage.median_filter(labels, size=median, mode="nearest"))
    for sign in (1, -1):
        _adopt(own[sign], beyond[sign], (smoothed == sign) & ~own[sign], median // 2)
    values = filled[jump]
    near = first[1][1] - values < values - first[-1][1]
    for sign in (1, -1):
        rim = np.zeros(shape, bool)
        rim[jump] = separates & (near == (sign == 1))
        beyond[sign][jump] = first[-sign][1]
        smoothed[rim] = sign
    foreground, background = smoothed == 1, smoothed == -1
    return jump, foreground, background, np.where(background, beyond[-1], beyond[1])


def _adopt(band: Array, beyond: Array, added: Array, radius: int) -> None:
    offsets = [(dy, dx) for dy in range(-radius, radius + 1) for dx in range(-radius, radius + 1)]
    y, x = np.nonzero(added)
    nearest = np.full(y.size, np.inf)
    values = np.full(y.size, np.nan, np.float32)
    for dy, dx in offsets:
        row, column = np.clip(y + dy, 0, band.shape[0] - 1), np.clip(x + dx, 0, band.shape[1] - 1)
        better = band[row, column] & (row == y + dy) & (column == x + dx) & (dy * dy + dx * dx < nearest)
        values[better] = beyond[row, column][better]
        nearest[better] = dy * dy + dx * dx
    beyond[added] = values


def thin_runs(filled: Array, rise: float, widest: int) -> Array:
    """Pixels of runs between a rising and a falling edge, standing out from both sides."""
    width = filled.shape[1]
    fine = np.zeros(filled.shape, bool)
    step = np.diff(filled, axis=1)
    y, x = np.nonzero(step > rise)
    x = x + 1
    left, lowest, alive = filled[y, x - 1], filled[y, x].copy(), np.ones(y.size, bool)
    for length in range(1, widest + 1):
        end = np.minimum(x + length, width - 1)
        alive &= x + length < width
        value = filled[y, end]
        closes = alive & (filled[y, end - 1] - value > rise) & (lowest > value + rise / 2)
        for position in range(length):
            fine[y[closes], x[closes] + position] = True
        lowest = np.where(alive, np.minimum(lowest, value), lowest)
        alive &= lowest > left + rise / 2
    return fine


def thin_structures(filled: Array, known: Array, scaled: Any, parameters: Any) -> Array:
    """Thin runs, and wider ones of structures that are thin on most of their rows."""
    widths = scaled.fine_width, round(parameters.fine_widening * scaled.fine_width)
    thin, wide = (thin_runs(filled, scaled.fine_gradient, width) & known for width in widths)
    labels, number = ndimage.label(wide, EIGHT)
    rows = [
        np.bincount(labels[mask & ~np.pad(mask, ((0, 0), (1, 0)))[:, :-1]], minlength=number + 1)
        for mask in (thin, wide)
    ]
    mostly = rows[0] >= parameters.fine_thin_share * rows[1]
    return _large_parts(thin | (wide & mostly[labels]), parameters.fine_share * filled.size)


def beside(filled: Array, fine: Array, reach: int, least_gap: float) -> tuple[Array, Array]:
    """Background pixels left and right of structures, and the column of the nearer structure."""
    mask = np.zeros(fine.shape, bool)
    column = np.zeros(fine.shape, int)
    structure = np.where(fine, np.arange(fine.shape[1]), np.nan)
    for distance in range(1, min(reach, fine.shape[1] - 1) + 1):
        for towards_left in (True, False):
            shifted = np.full(fine.shape, np.nan)
            if towards_left:
                shifted[:, distance:] = structure[:, :-distance]
            else:
                shifted[:, :-distance] = structure[:, distance:]
            new = np.isfinite(shifted) & ~mask & ~fine
            column[new] = shifted[new]
            mask |= new
    value = np.take_along_axis(filled, column, axis=1)
    return mask & (value - filled > least_gap), column


def _large_parts(mask: Array, least: float) -> Array:
    labels, _ = ndimage.label(mask, EIGHT)
    keep = np.bincount(labels.ravel()) >= least
    keep[0] = False
    return keep[labels]


def value_step(truth: Array) -> float:
    """The step of a quantised ground truth, 0 where it is none."""
    values = np.unique(truth[np.isfinite(truth)]).astype(float)
    if values.size < 5:
        return 0.0
    steps = np.diff(values)
    step = steps.min()
    whole = steps / step
    return float(step) if 1 / 64 <= step <= 1 and np.abs(whole - whole.round()).max() < 0.01 else 0.0


def _fit(filled: Array, mask: Array) -> tuple[Array, float, float]:
    """The least-squares plane of a mask, its residual, and the part of that which a quadratic explains."""
    y, x = (part.astype(float) for part in np.nonzero(mask))
    d = filled[mask].astype(float)
    u, v = (x - x.mean()) / max(mask.shape), (y - y.mean()) / max(mask.shape)
    flat = np.column_stack([np.ones(u.size), u, v])
    terms = np.column_stack([flat, u * u, u * v, v * v])
    plane = np.linalg.lstsq(flat, d, rcond=None)[0]
    curved = np.linalg.lstsq(terms, d, rcond=None)[0]
    variance, rest = np.mean((d - flat @ plane) ** 2), np.mean((d - terms @ curved) ** 2)
    a, b = plane[1] / max(mask.shape), plane[2] / max(mask.shape)
    found = np.array([a, b, plane[0] - a * x.mean() - b * y.mean()])
    return found, float(np.sqrt(variance)), float(np.sqrt(max(variance - rest, 0.0)))


def _planar(filled: Array, mask: Array, tolerance: float, least: float, flat: Array) -> Array | None:
    if mask.sum() < least:
        return None
    plane, residual, quadratic = _fit(filled, mask)
    rest = np.sqrt(max(residual**2 - quadratic**2, 0.0))
    structured = quadratic > max(0.4 * tolerance, rest) or quadratic > max(0.1 * tolerance, 3 * rest)
    shaped = residual <= 0.75 * tolerance and not structured
    if not shaped and residual > 0.5 * tolerance:
        return None
    rim = ndimage.binary_dilation(mask, np.ones((7, 7), bool)) & ~ndimage.binary_dilation(mask, np.ones((5, 5), bool))
    gradual = (_off(filled, plane)[rim] <= 3 * tolerance) & flat[rim]
    return plane if not rim.any() or gradual.mean() < (0.4 if shaped else 0.2) else None


def _off(filled: Array, plane: Array) -> Array:
    y, x = np.indices(filled.shape)
    return np.abs(filled - plane[0] * x - plane[1] * y - plane[2])


def _parts(filled: Array, core: Array, plane: Array, flat: Array, tolerance: float, least_part: float) -> Array:
    off = _off(filled, plane)
    labels, number = ndimage.label((off <= 2 * tolerance) & flat, EIGHT)
    index = np.arange(number + 1)
    pixels, squares, inliers = (ndimage.sum_labels(part, labels, index) for part in (np.ones_like(off), off**2, core))
    residual = np.sqrt(squares / np.maximum(pixels, 1))
    chosen = (pixels >= least_part / 10) & (pixels < least_part) & (residual <= 0.3 * tolerance)
    for part in np.flatnonzero(
        (pixels >= least_part) & ((inliers >= least_part / 4) | (residual <= 0.6 * tolerance)) & (index > 0)
    ):
        chosen[part] = _planar(filled, labels == part, tolerance, 3, flat) is not None
    chosen[0] = False
    return chosen[labels]


def _steady(filled: Array, flat: Array, sigma: float, limit: float) -> Array:
    along_x, along_y = gradient(filled)
    whole = np.maximum(ndimage.gaussian_filter(flat.astype(np.float32), sigma, mode="nearest"), 1e-3)
    smooth = [ndimage.gaussian_filter(part * flat, sigma, mode="nearest") / whole for part in (along_x, along_y)]
    angle = np.arctan2(smooth[1], smooth[0])
    turn = [np.abs(np.diff(angle, axis=axis, append=np.take(angle, [-1], axis=axis))) for axis in (0, 1)]
    turn = [np.minimum(t, 2 * np.pi - t) for t in turn]
    steps = [np.diff(s, axis=k, append=np.take(s, [-1], axis=k)) for s in smooth for k in (0, 1)]
    return ((np.hypot(*turn) < limit) | (np.sqrt(sum(s**2 for s in steps)) < 0.05 * limit)) & flat


def _large(labels: Array, least: float) -> list[int]:
    sizes = np.bincount(labels.ravel())
    corners = {k + 1: (box[0].start, box[1].start) for k, box in enumerate(ndimage.find_objects(labels)) if box}
    return sorted((k for k in corners if sizes[k] >= least), key=lambda k: (corners[k], sizes[k]))


def planes(filled: Array, known: Array, resolution: float, step: float, parameters: Any) -> tuple[Array, Array]:
    """Plane labels and coefficients: sequential RANSAC at a reduced size, growth, tests of flatness, merging."""
    reduced = max(1, round(filled.shape[1] / 750))
    small, seen = filled[::reduced, ::reduced] / np.float32(reduced), known[::reduced, ::reduced]
    scaled = parameters.at(resolution / reduced)
    tolerance = scaled.plane_tolerance + step / reduced / 2
    least, least_part = max(3.0, parameters.plane_share * small.size), parameters.plane_part_share * small.size
    random = np.random.default_rng(parameters.plane_seed)
    along_x, along_y = gradient(small)
    steepest = max(min(1.0, scaled.discontinuity_gradient), step / reduced)
    flat = (np.sqrt(along_x**2 + along_y**2) <= steepest) & seen
    labels = np.zeros(small.shape, np.int16)
    found: list[Array] = []
    for region in _regions(
        _steady(small, flat, scaled.plane_smoothing, parameters.plane_direction_change), least, scaled
    ):
        remaining = region & (labels == 0)
        for _ in range(60):
            y, x = np.nonzero(remaining)
            d = small[y, x].astype(float)
            plane = _ransac(x, y, d, tolerance / 2, parameters.plane_iterations, random, least) if y.size > 2 else None
            if plane is None or (_off(small, plane)[remaining] <= tolerance / 2).sum() < least / 2:
                break
            core = remaining & (_off(small, plane) <= tolerance / 2)
            again = remaining & (_off(small, plane) <= tolerance / 4)
            for _ in range(2):
                mask = _parts(small, core, plane, flat, tolerance, least_part)
                plane = _planar(small, mask, tolerance, least, flat)
                if plane is None:
                    break
            remaining &= ~(again if plane is None else mask)
            if plane is None:
                continue
            for other in np.unique(labels[mask & (labels > 0)]):
                both, number = ndimage.label(mask & (labels == other), EIGHT)
                index = np.arange(number + 1)
                mine, theirs = (ndimage.sum_labels(_off(small, p) ** 2, both, index) for p in (plane, found[other - 1]))
                lost = mine >= theirs
                lost[0] = False
                mask = mask & ~lost[both]
            plane = _planar(small, mask, tolerance, least, flat)
            if plane is not None:
                found.append(plane)
                labels[mask] = len(found)
    masks = [labels == k for k in range(1, len(found) + 1)]
    pairs = [(p, m) for m in masks if (p := _planar(small, m, tolerance, least, flat)) is not None]
    pairs = _merge(small, pairs, tolerance)
    labels[:] = 0
    for k, (_, mask) in enumerate(pairs, 1):
        labels[mask] = k
    coefficients = np.array([p for p, _ in pairs]).reshape(-1, 3) * [1, 1, reduced]
    return _assigned(filled, known, labels, coefficients, reduced, tolerance * reduced), coefficients


def _regions(steady: Array, least: float, scaled: Any) -> Any:
    labels, _ = ndimage.label(steady, EIGHT)
    large = _large(labels, least)
    for k in large:
        yield labels == k
    rest = steady & ~np.isin(labels, large)
    side = 2 * (scaled.fine_width // 2) + 1
    square = np.ones((side, side), bool)
    closed = ndimage.binary_erosion(ndimage.binary_dilation(rest, square), square, border_value=1)
    labels, _ = ndimage.label(closed, EIGHT)
    labels[~rest] = 0
    for k in _large(labels, least):
        yield labels == k


def _merge(filled: Array, pairs: list[tuple[Array, Array]], tolerance: float) -> list[tuple[Array, Array]]:
    for i, (first, one) in enumerate(pairs):
        reach = ndimage.binary_dilation(one, np.ones((5, 5), bool))
        for j in range(i + 1, len(pairs)):
            second, other = pairs[j]
            normals = [np.array([-p[0], -p[1], 1.0]) / np.sqrt(1 + p[0] ** 2 + p[1] ** 2) for p in (first, second)]
            if np.degrees(np.arcsin(min(np.linalg.norm(np.cross(*normals)), 1.0))) >= 2 or not (reach & other).any():
                continue
            union = one | other
            plane = _fit(filled, union)[0]
            if np.mean(_off(filled, plane)[union] <= 2 * tolerance) >= 0.95:
                rest = [pair for k, pair in enumerate(pairs) if k not in (i, j)]
                return _merge(filled, [*rest[:i], (plane, union), *rest[i:]], tolerance)
    return pairs


def _assigned(filled: Array, known: Array, labels: Array, coefficients: Array, step: int, tolerance: float) -> Array:
    """Labels of the full map: the nearest of the planes in a pixel's cell or one beside it."""
    height, width = filled.shape
    rows, columns = (np.minimum(np.arange(n) // step, m - 1) for n, m in zip(filled.shape, labels.shape, strict=True))
    result, smallest = np.zeros((height, width), np.int16), np.full((height, width), np.inf)
    for k, plane in enumerate(coefficients, 1):
        own = (labels == k)[np.ix_(rows, columns)]
        beside = ndimage.binary_dilation(labels == k, np.ones((5, 5), bool))[np.ix_(rows, columns)]
        off = _off(filled, plane)
        better = known & (off < smallest) & ((own & (off <= 2 * tolerance)) | (beside & (off <= tolerance)))
        result[better], smallest[better] = k, off[better]
    return result


def _ransac(x: Array, y: Array, d: Array, tolerance: float, iterations: int, random: Any, least: float) -> Array | None:
    stride = max(1, x.size // 50_000)
    sx, sy, sd = x[::stride], y[::stride], d[::stride]
    triples = random.integers(0, sd.size, size=(iterations, 3))
    rows, columns = (
        2 * np.sqrt(least) * 2 ** (-3 * random.random((iterations, 1))) * random.uniform(-1, 1, (2, iterations, 2))
    )
    at_x = np.clip(np.rint(sx[triples[:, :1]] + columns), 0, sx.max())
    wanted = np.rint(sy[triples[:, :1]] + rows) * (sx.max() + 1) + at_x
    triples[:, 1:] = np.minimum(np.searchsorted(sy * (sx.max() + 1) + sx, wanted), sd.size - 1)
    best, most = None, 0
    for triple in triples:
        system = np.column_stack([sx[triple], sy[triple], np.ones(3)])
        if abs(np.linalg.det(system)) < 0.5:
            continue
        plane = np.linalg.solve(system, sd[triple])
        count = int((np.abs(plane[0] * sx + plane[1] * sy + plane[2] - sd) <= tolerance).sum())
        if count > most:
            best, most = plane, count
    for _ in range(3 if best is not None else 0):
        near = np.abs(best[0] * x + best[1] * y + best[2] - d) <= tolerance
        system = np.column_stack([x[near], y[near], np.ones(near.sum())])
        best = np.linalg.lstsq(system, d[near], rcond=None)[0]
    return best


def geometry_sets(truth: Array, base: Array, resolution: float, parameters: Any) -> Sets:
    """Every set of a dense ground truth."""
    scaled = parameters.at(resolution)
    known = np.isfinite(truth)
    base = base & known
    filled = fill_rows(truth)
    jump, foreground, background, beyond = bands(filled, scaled, parameters.band_median)
    edge = jump | foreground | background
    along_x, along_y = gradient(filled)
    fine = thin_structures(filled, known, scaled, parameters)
    left = _large_parts(fine & base, parameters.fine_found_share * parameters.fine_share * truth.size)
    structures = ndimage.label(left, EIGHT)[0]
    surround, rim = beside(filled, fine, scaled.fine_surround, scaled.fine_gradient)
    column = rim.copy()
    for y, x in zip(*np.nonzero(surround & base), strict=True):
        towards = 1 if rim[y, x] > x else -1
        at = rim[y, x]
        while 0 <= at < truth.shape[1] and fine[y, at] and not left[y, at]:
            at += towards
        column[y, x] = at
        surround[y, x] = 0 <= at < truth.shape[1] and left[y, at]
    column = np.clip(column, 0, truth.shape[1] - 1)
    step = value_step(truth)
    plane_labels, coefficients = planes(filled, known, resolution, step, parameters)
    planar = (plane_labels > 0) & base & ~edge
    for k, plane in enumerate(coefficients, 1):
        off = known & (_off(filled, plane) > 2 * (scaled.plane_tolerance + step / 2))
        planar &= (plane_labels != k) | ~ndimage.maximum_filter(off, 5)
    return Sets(
        discontinuity=jump & base,
        foreground=foreground & base,
        background=background & base,
        extrapolated_background=np.where(foreground & base, beyond, np.nan),
        extrapolated_foreground=np.where(background & base, beyond, np.nan),
        edge=edge & base,
        gradient=np.sqrt(along_x**2 + along_y**2),
        to_discontinuity=ndimage.distance_transform_edt(~jump),
        to_outside=ndimage.distance_transform_edt(edge),
        plane_labels=np.where(planar, plane_labels, 0),
        planes=coefficients,
        structures=structures,
        surround=surround & base,
        surround_label=np.take_along_axis(structures, column, axis=1),
        surround_column=column,
        extrapolated_structure=np.take_along_axis(filled, rim, axis=1),
    )


def normals(estimate: Array) -> tuple[Array, Array]:
    """Slopes of 5 × 5 least-squares planes over the known pixels; NaN where fewer than three, or all on one line."""
    known = np.isfinite(estimate)
    value = np.where(known, estimate, 0.0).astype(float)
    step = np.arange(-2.0, 3.0)
    moments = {}
    for name, source in (("n", known.astype(float)), ("d", value)):
        for i, j in ((0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)):
            if name == "d" and i + j > 1:
                continue
            partial = ndimage.correlate1d(source, step**i, axis=1, mode="constant")
            moments[name, i, j] = ndimage.correlate1d(partial, step**j, axis=0, mode="constant")
    n = np.maximum(moments["n", 0, 0], 1)
    mx, my, md = moments["n", 1, 0] / n, moments["n", 0, 1] / n, moments["d", 0, 0] / n
    cxx = moments["n", 2, 0] - n * mx * mx
    cxy = moments["n", 1, 1] - n * mx * my
    cyy = moments["n", 0, 2] - n * my * my
    cxd, cyd = moments["d", 1, 0] - n * mx * md, moments["d", 0, 1] - n * my * md
    determinant = cxx * cyy - cxy * cxy
    determinant = np.where((determinant > 1e-9) & known & (moments["n", 0, 0] >= 3), determinant, np.nan)
    return (cxd * cyy - cyd * cxy) / determinant, (cyd * cxx - cxd * cxy) / determinant


def _angles(values: Array, planar: Array, plane_labels: Array, coefficients: Array) -> Array:
    """Degrees between the 5 × 5 normals of a map and those of its planes, on the planar pixels."""
    a, b, _ = coefficients[plane_labels[planar] - 1].T if planar.any() else np.zeros((3, 0))
    slope_x, slope_y = (slope[planar] for slope in normals(values))
    length = np.sqrt(1 + slope_x**2 + slope_y**2) * np.sqrt(1 + a * a + b * b)
    return np.degrees(np.arccos(np.clip(np.abs(slope_x * a + slope_y * b + 1) / length, 0, 1)))


def laplacian(values: Array) -> Array:
    """The 4-neighbour Laplacian; across the image's rim the second difference is left out."""
    result = np.where(np.isfinite(values), 0.0, np.nan)
    result[:, 1:-1] += np.diff(values, 2, axis=1)
    result[1:-1] += np.diff(values, 2, axis=0)
    return result


def metrics(estimate: Array, truth: Array, sets: Sets, resolution: float, parameters: Any) -> dict[str, float]:
    """The nine metrics, f-missing and f-thin of one estimate."""
    scaled = parameters.at(resolution)
    scores: dict[str, float] = {}
    error = np.abs(estimate - truth)
    found = (sets.structures > 0) & (error <= scaled.fine_tolerance + 1e-6)
    for name, mask, beyond in (
        ("d-fat", sets.background, sets.extrapolated_foreground),
        ("d-thin", sets.foreground, sets.extrapolated_background),
    ):
        estimated = mask & np.isfinite(estimate)
        scores[name] = (error > np.abs(estimate - beyond))[estimated].mean() if estimated.any() else np.nan
    along_x, along_y = gradient(estimate)
    excess = sets.gradient - np.sqrt(along_x**2 + along_y**2)
    fuzziness = np.where(excess < 0, -excess * sets.to_discontinuity, excess * sets.to_outside)
    scores["d-fuz"] = _mean(fuzziness[sets.edge & np.isfinite(estimate)])

    planar = sets.plane_labels > 0
    scores["p-bump"] = _mean(np.abs(laplacian(estimate))[planar])
    y, x = np.nonzero(planar)
    a, b, c = sets.planes[sets.plane_labels[planar] - 1].T if planar.any() else np.zeros((3, 0))
    scale = np.sqrt(1 + a * a + b * b)
    scores["p-off"] = _mean(np.abs(estimate[planar] - a * x - b * y - c) / scale)
    whole = ndimage.minimum_filter(np.isfinite(estimate), 5, mode="nearest")[planar]
    scores["p-mis"] = _mean(np.where(whole, _angles(estimate, planar, sets.plane_labels, sets.planes), np.nan))

    fine = sets.structures > 0
    diagonal = np.hypot(*truth.shape)
    distance = ndimage.distance_transform_edt(~found) if found.any() else np.full(truth.shape, diagonal)
    number = sets.structures.max()
    scores["f-por"] = np.log1p(distance[fine & ~found]).sum() / fine.sum() if number else np.nan
    share = parameters.fine_found_share
    costs, lost_rows = [], np.zeros(truth.shape, bool)
    for structure in range(1, number + 1):
        own = sets.structures == structure
        lost = (found & own).sum() < share * own.sum()
        costs.append(1.0 if lost else 1 - 1 / _parts_found(own, found, share))
        for row in np.flatnonzero(own.any(axis=1)):
            runs, count = ndimage.label(own[row])
            for run in range(1, count + 1):
                if lost or found[row, runs == run].mean() < share:
                    lost_rows[row, runs == run] = True
    scores["f-frag"] = _mean(np.array(costs, float))
    scores["f-missing"] = _mean(np.array(costs, float) == 1.0)
    behind = ~np.isfinite(estimate) | (truth - estimate > scaled.fine_tolerance + 1e-6)
    scores["f-thin"] = _mean(behind[fine])
    beside_lost = (sets.surround_label > 0) & np.take_along_axis(lost_rows, sets.surround_column, axis=1)
    fat = beside_lost | ~np.isfinite(estimate) | (error > np.abs(estimate - sets.extrapolated_structure))
    scores["f-fat"] = _mean(fat[sets.surround])
    return {name: float(value) for name, value in scores.items()}


def _parts_found(own: Array, found: Array, share: float) -> int:
    """Substantial parts of one structure, and those that may be hidden in what is lost."""
    least = share * own.sum() - 1e-6
    labels, _ = ndimage.label(found & own, EIGHT)
    sizes = np.bincount(labels.ravel())
    large = sizes >= least
    large[0] = False
    pieces, _ = ndimage.label(own & ~large[labels], EIGHT)
    hidden = np.bincount(pieces.ravel())[1:] // least
    return max(1, int(large.sum() + hidden.sum()))


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    return float(known.mean()) if known.size else float("nan")
