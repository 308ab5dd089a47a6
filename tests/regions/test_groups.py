"""Groups of eight neighbours by slot hold every pixel once, whatever the width and the number of slots."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stereogauge.masks.labels import LANES, SlotGroups, group_slots, pack_regions


def read_back(groups: SlotGroups, width: int) -> NDArray[np.int64]:
    """The image of slots that the groups stand for; a pixel that no group or more than one has fails."""
    image = np.full((groups.rows.size - 1, width), -1)
    for y in range(image.shape[0]):
        for segment in range(groups.rows[y], groups.rows[y + 1]):
            for group in groups.groups[groups.firsts[segment] : groups.firsts[segment + 1]].tolist():
                for lane in range(LANES):
                    if group >> lane & 1:
                        x = (group >> 8) * LANES + lane
                        assert image[y, x] == -1
                        image[y, x] = groups.segments[segment] >> 1
    return image


@pytest.mark.parametrize("width", [1, 7, 8, 9, 15, 16, 33])
@pytest.mark.parametrize(("slots", "kind"), [(1, np.uint8), (3, np.uint8), (256, np.uint8), (3000, np.uint16)])
def test_every_pixel_is_in_one_group_of_its_slot(width: int, slots: int, kind: type[np.generic]) -> None:
    image = np.random.default_rng(width).integers(0, slots, (70, width)).astype(kind)
    image[:40] = np.sort(image[:40], axis=1)  # runs of one slot
    assert np.array_equal(read_back(group_slots(image), width), image)


def test_uniform_neighbours_are_one_group_and_mixed_ones_one_per_slot() -> None:
    image = np.array([[4] * 8 + [4, 4, 2, 2, 2, 4, 0, 2] + [1] * 3], np.uint8)
    found = group_slots(image)
    assert found.rows.tolist() == [0, 5]
    whole, mixed = (4 * 2,), (0 * 2 + 1, 1 * 2 + 1, 2 * 2 + 1, 4 * 2 + 1)
    assert found.segments.tolist() == sorted((*whole, *mixed))
    pieces = np.split(found.groups, found.firsts[1:-1])
    assert [sorted(piece.tolist()) for piece in pieces] == [
        *([(1 << 8) + 0b01000000], [(2 << 8) + 0b111], [(1 << 8) + 0b10011100]),
        *([0b11111111], [(1 << 8) + 0b00100011]),
    ]


def test_large_images_are_grouped_the_same_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    image = random.integers(0, 5, (520, 50)).repeat(8, axis=1).astype(np.uint8)
    image = np.roll(image, 3, axis=1)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("stereogauge.kernels.threads.thread_count", lambda count=threads: count)
        found.append(group_slots(image))
    for name in ("rows", "segments", "firsts", "groups"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name))
    assert np.array_equal(read_back(found[0], 400), image)


def test_labels_group_their_slots_once() -> None:
    (labels,) = pack_regions({"left": np.arange(20).reshape(1, 20) < 5, "all": np.ones((1, 20), np.bool_)})
    assert labels.groups is labels.groups
    assert np.array_equal(read_back(labels.groups, 20), labels.slots)
