"""Tags of algorithms and scenes (technique, training data, weather, …), and the selectors that read them.

A tag has a name and one or more values: `technique = "learned"`, `trained-on = ["KITTI", "SceneFlow"]`. Where names of
algorithms or scenes are expected, `tag:technique=learned` means all that have that value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from stereogauge.errors import StereogaugeError, UnknownNameError, unknown_name

PREFIX = "tag:"

Tags = Mapping[str, tuple[str, ...]]
"""The values of each tag by its name."""


class TagBook(Struct, frozen=True):
    """The tags of algorithms by name, and those of scenes by (dataset, scene)."""

    algorithms: Mapping[str, Tags] = field(default_factory=dict)
    scenes: Mapping[tuple[str, str], Tags] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return any(self.algorithms.values()) or any(self.scenes.values())


def as_tags(given: Mapping[str, Any] | None, owner: str) -> dict[str, tuple[str, ...]]:
    """Tags in their usual form; `owner` says whose they are where one is refused.

    >>> as_tags({"technique": "learned", "trained-on": ["KITTI", "SceneFlow"]}, "GA-Net")
    {'technique': ('learned',), 'trained-on': ('KITTI', 'SceneFlow')}
    """
    found = {}
    for name, value in (given or {}).items():
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list | tuple) or not values or not all(isinstance(v, str) and v for v in values):
            raise StereogaugeError(f"{owner}: the tag {name} should be text or a list of texts, found {value!r}.")
        if not name or any(mark in name for mark in "=,:"):
            raise StereogaugeError(f"{owner}: the name of a tag is without = , and :, found {name!r}.")
        found[str(name)] = tuple(dict.fromkeys(values))
    return found


def known_tags(tags: Iterable[Tags]) -> dict[str, tuple[str, ...]]:
    """Every tag that occurs, with all its values in alphabetical order."""
    found: dict[str, set[str]] = {}
    for own in tags:
        for name, values in own.items():
            found.setdefault(name, set()).update(values)
    return {name: tuple(sorted(found[name])) for name in sorted(found)}


def expanded(kind: str, known: Iterable[str], tags: Mapping[str, Tags], wanted: Iterable[str] | str) -> list[str]:
    """The names that `wanted` means, each once: a selector `tag:NAME=VALUE` means all of `known` that have it.

    Names are taken as they are written, also unknown ones. `kind` is what has the tags, for the sentence that says
    which tags there are.

    >>> tags = {"SGM": {"technique": ("global",)}, "GA-Net": {"technique": ("learned",)}}
    >>> expanded("algorithm", tags, tags, ["tag:technique=learned", "SGM"])
    ['GA-Net', 'SGM']
    """
    names = list(known)
    found: dict[str, None] = {}
    for text in [wanted] if isinstance(wanted, str) else wanted:
        if not text.startswith(PREFIX) or text in names:
            found[text] = None
            continue
        tag, value = _parsed(kind, text, known_tags(tags.get(name, {}) for name in names))
        found.update(dict.fromkeys(name for name in names if value in tags.get(name, {}).get(tag, ())))
    return list(found)


def _parsed(kind: str, text: str, there: Tags) -> tuple[str, str]:
    """Name and value of a selector that selects something."""
    tag, equals, value = text.removeprefix(PREFIX).partition("=")
    if not there:
        raise UnknownNameError(f"{text!r}: no {kind} here has tags; they are given in results.toml or the dataset.")
    if not equals:
        raise UnknownNameError(f"{text!r}: a selector by tag is written tag:NAME=VALUE; names are {', '.join(there)}.")
    if tag not in there:
        raise unknown_name(f"tag of the {kind}s", tag, there)
    if value not in there[tag]:
        raise unknown_name(f"value of the tag {tag}", value, there[tag])
    return tag, value
