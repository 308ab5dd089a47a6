"""Which scenes are of one place, so that they are one observation in every statistic."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap
from stereogauge.tags import Tags

PLACE_TAGS = ("place", "location", "site", "sequence")
"""Scenes with the same value of one of these tags are of one place; a sequence is one of its dataset."""
MIDDLEBURY = "middlebury"
REPEATED = ("Art", "Australia", "Classroom2", "Crusade", "Djembe", "Motorcycle", "Piano", "Playtable")
VARIANT = re.compile(rf"^(?P<base>.+?)-(?:im)?perfect$|^(?P<name>{'|'.join(REPEATED)})[ELP]{{1,2}}$")
"""Middlebury's names of one scene with another exposure (E), lighting (L) or rectification (P, perfect, imperfect)."""


def place_of(scene: str) -> str:
    """The scene of which this one is a variant by its name; itself where none is known.

    >>> [place_of(name) for name in ("MotorcycleE", "PianoL", "Classroom2E", "Vintage", "Adirondack-imperfect")]
    ['Motorcycle', 'Piano', 'Classroom2', 'Vintage', 'Adirondack']
    """
    found = VARIANT.match(scene)
    return scene if found is None else found["base"] or found["name"]


def _named(dataset: str, scene: str) -> tuple[str, ...]:
    """What the name of a scene says of its place.

    The same scene is in several of Middlebury's sets, and in several sizes or passes of one set.
    """
    family = dataset.partition(":")[0]
    if family.startswith(MIDDLEBURY):
        return "name", MIDDLEBURY, place_of(scene).lower()
    return "name", family, place_of(scene)


def truth_hash(truth: DisparityMap) -> str:
    """A hash of the values of a ground truth, in which every NaN is the same and so is every 0."""
    values = np.where(np.isnan(truth), np.float32(np.nan), truth + np.float32(0))
    return hashlib.blake2b(np.ascontiguousarray(values).data, digest_size=8).hexdigest()


def independent_units(
    scenes: Sequence[str], truths: Sequence[str], tags: Sequence[Tags], datasets: Sequence[str] = ()
) -> NDArray[np.intp]:
    """The number of the independent unit of each scene, counted from 0 in order of appearance.

    Scenes with the same ground truth (`truths` are hashes of it, "" where it is unknown), of one place by their tags,
    or known as variants of one scene by name are one unit: in tests and intervals, in folds of a tuning, and in folds
    that learn a confidence. Middlebury's PianoL is Piano under other light: what was seen of one was seen of the other.

    >>> independent_units(["Piano", "PianoL", "Pipes"], [], [])
    array([0, 0, 1])
    >>> independent_units(["Teddy", "teddy"], [], [], ["middlebury-v3:Q", "middlebury-v2"])
    array([0, 0])
    """
    keys: list[set[tuple[str, ...]]] = []
    owners = datasets or ("",) * len(scenes)
    for place, (scene, owner) in enumerate(zip(scenes, owners, strict=True)):
        own: set[tuple[str, ...]] = {_named(owner, scene)}
        if truths and truths[place]:
            own.add(("truth", truths[place]))
        for tag in PLACE_TAGS if tags else ():
            where = owner.partition(":")[0] if tag == "sequence" else ""
            own |= {(tag, where, value) for value in tags[place].get(tag, ())}
        keys.append(own)
    return _joined(keys)


def _joined(keys: Iterable[set[tuple[str, ...]]]) -> NDArray[np.intp]:
    """Numbers of the classes that sharing a key makes."""
    unit_of: list[int] = []
    owner: dict[tuple[str, ...], int] = {}
    for own in keys:
        found = {owner[key] for key in own if key in owner}
        unit = min(found, default=len(unit_of))
        unit_of = [unit if number in found else number for number in unit_of] + [unit]
        owner = {key: unit if number in found else number for key, number in owner.items()} | dict.fromkeys(own, unit)
    return np.unique(np.array(unit_of, np.intp), return_inverse=True)[1]
