"""Visibility and moved images are what plain Python finds row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.kernels.maps import Floats, all_maps

from stereogauge.kernels import views

pytestmark = [pytest.mark.usefixtures("processor_level"), pytest.mark.filterwarnings("ignore::RuntimeWarning")]
UNSEEN = np.float32(-9999)


def half_away(value: np.float32) -> float:
    """The nearest whole number, halves away from zero."""
    return float(np.copysign(np.floor(np.abs(value) + np.float32(0.5)), value))


def draw(target: Floats, start: np.float32, first: np.float32, end: np.float32, second: np.float32) -> None:
    """Write a line into a row."""
    if end < start:
        return
    length = end - start if end > start else np.float32(1)
    for i in range(target.size):
        if half_away(start) <= i <= half_away(end):
            target[i] = first + (np.float32(i) - start) / length * (second - first)


def visible_row(d: Floats) -> np.ndarray:
    """Middlebury's row: warped to the right view and back."""
    width = d.size
    warped, back = np.full(width, UNSEEN), np.zeros(width, np.float32)
    for x in range(width):
        if x + 1 < width and abs(d[x] - d[x + 1]) < 2:
            draw(warped, np.float32(x) - d[x], d[x], np.float32(x + 1) - d[x + 1], d[x + 1])
        elif 0 <= x - half_away(d[x]) < width:
            warped[int(x - half_away(d[x]))] = d[x]
    written = np.where(warped == UNSEEN, np.float32(0), np.float32(255))
    for x in range(width - 1, -1, -1):
        if x > 0 and abs(warped[x] - warped[x - 1]) < 2:
            start, end = np.float32(x - 1) + warped[x], np.float32(x) + warped[x - 1]
            draw(back, start, written[x - 1], end, written[x])
        elif 0 <= x + half_away(warped[x]) < width:
            back[int(x + half_away(warped[x]))] = written[x]
    return np.asarray(back >= 254)


def test_middleburys_rule_warps_there_and_back() -> None:
    seen = 0
    for values, _ in all_maps():
        disparity = np.nan_to_num(values)
        found = views.middlebury_v2_visible(disparity)
        assert np.array_equal(found, np.array([visible_row(row) for row in disparity]))
        seen += found.sum()
    assert seen > 100


@pytest.mark.parametrize("sign", [1, -1])
def test_both_views_agree_where_a_pixel_is_visible(sign: int) -> None:
    seen = 0
    for disparity, random in all_maps():
        other = np.ascontiguousarray(random.permutation(disparity, axis=1))
        expected = np.zeros(disparity.shape, np.bool_)
        for y, x in np.ndindex(disparity.shape):
            target = x - sign * half_away(disparity[y, x])
            if 0 <= target < disparity.shape[1]:
                expected[y, x] = abs(disparity[y, x] - other[y, int(target)]) <= 1
        assert np.array_equal(views.bidirectional_visible(disparity, other, 1.0, sign), expected)
        seen += expected.sum()
    assert seen > 20


def test_the_nearest_of_the_pixels_on_a_target_is_visible() -> None:
    for disparity, _ in all_maps():
        expected = np.zeros(disparity.shape, np.bool_)
        for y, row in enumerate(disparity):
            targets = np.array([x - half_away(d) for x, d in enumerate(row)])
            for x in np.flatnonzero((targets >= 0) & (targets < row.size)):
                expected[y, x] = max(row[targets == targets[x]].max(), UNSEEN) - row[x] <= 1
        assert np.array_equal(views.z_buffer_visible(disparity, 1.0), expected)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_warped_view_is_linear_between_two_pixels(channels: int) -> None:
    for disparity, random in all_maps():
        source = random.uniform(0, 255, (*disparity.shape, channels)).astype(np.float32)
        rendered, hole = views.warp_backward(source, disparity)
        for y, x in np.ndindex(disparity.shape):
            column = x - float(disparity[y, x])
            assert hole[y, x] == (not 0 <= column <= disparity.shape[1] - 1)
            if hole[y, x]:
                assert np.isnan(rendered[y, x]).all()
                continue
            low = math.floor(column)
            high = min(low + 1, disparity.shape[1] - 1)
            expected = (1 - (column - low)) * source[y, low].astype(np.float64) + (column - low) * source[y, high]
            assert rendered[y, x] == pytest.approx(expected, rel=1e-6)


def splatted_row(source: Floats, d: Floats, position: float, member: np.ndarray) -> list[tuple[object, bool, bool]]:
    """Colour, share of members, and whether a lost pixel may have fallen there, per column."""
    width = d.size
    known = [x for x in range(width) if math.isfinite(d[x])]
    landing = {x: x - position * float(d[x]) for x in known}
    pieces: list[list[tuple[float, int]]] = [[] for _ in range(width)]
    for x in known:
        for target in range(width):
            if abs(landing[x] - target) < 1 and 1.0 - abs(landing[x] - target) > 0:
                pieces[target].append((1.0 - abs(landing[x] - target), x))
    fronts = [max((float(d[x]) for _, x in piece), default=-math.inf) for piece in pieces]
    lost = np.zeros(width, np.bool_)
    runs = [(a, b) for a, b in zip([-1, *known], [*known, width], strict=True) if b - a > 1]
    for before, after in runs:
        run = after - before - 1
        for target in range(width):
            for x, low, high in ((before, 0, run + 1), (after, -run - 1, 0)):
                if x in landing and landing[x] + low < target < landing[x] + high:
                    lost[target] |= fronts[target] <= float(d[x]) + 1
    found: list[tuple[object, bool, bool]] = []
    for target, piece in enumerate(pieces):
        kept = [(share, x) for share, x in piece if float(d[x]) >= fronts[target] - 1]
        weight = sum(share for share, _ in kept)
        hole = bool(lost[target]) or weight < 0.25
        colour = None if hole else sum(share * source[x].astype(np.float64) for share, x in kept) / weight
        found.append((colour, 2 * sum(share for share, x in kept if member[x]) > weight, bool(lost[target])))
    return found


@pytest.mark.parametrize("position", [-1.0, 0.0, 0.25, 1.0, 2.0])
def test_a_splatted_view_blends_what_falls_on_the_front_surface(position: float) -> None:
    seen = 0
    for disparity, random in all_maps():
        source = random.uniform(0, 255, (*disparity.shape, 3)).astype(np.float32)
        member = random.random(disparity.shape) < 0.5
        rendered, hole, inside, lost = views.splat_forward(source, disparity, position, member)
        for y, row in enumerate(disparity):
            for x, (colour, belongs, gone) in enumerate(splatted_row(source[y], row, position, member[y])):
                assert (hole[y, x], inside[y, x], lost[y, x]) == (colour is None, belongs, gone)
                if colour is None:
                    assert np.isnan(rendered[y, x]).all()
                    continue
                assert rendered[y, x] == pytest.approx(colour, rel=1e-6)
                seen += 1
    assert seen > 100
