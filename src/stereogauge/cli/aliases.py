"""Older and other spellings of options, which stay possible without appearing in the help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

SPELLINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "evaluate": {"--results-manifest": ("--manifest",)},
    "validate": {"--results-manifest": ("--manifest",)},
    "convert": {"--from": ("--encoding",), "--from-scale": ("--scale",)},
    "store": {"--json": ("--format", "json")},
}
JSON = "--json"
FLAGS = ("--resize", "--no-resize", "--dry-run", "--watch", "--help")
"""Options of `evaluate` that take no value."""
POSITIONAL: Mapping[str, tuple[str, ...]] = {"evaluate": ("--dataset", "-d"), "regions": ("--dataset", "-d")}
"""Commands that take the dataset as their first word, and the options that may give it instead."""


def spelled(words: Sequence[str], command: str | None) -> list[str]:
    """The words of a command line in the spelling of the help.

    >>> spelled(["evaluate", "--dataset", "kitti-2015:K", "results", "--results-manifest=r.toml"], "evaluate")
    ['evaluate', 'kitti-2015:K', 'results', '--manifest=r.toml']
    >>> spelled(["rank", "s.sqlite", "--json"], "rank")
    ['rank', 's.sqlite', '--format', 'json']
    """
    if command is None:
        return list(words)
    known = {JSON: ("--format", "json"), **SPELLINGS.get(command, {})}
    place = list(words).index(command)
    made, dataset = list(words[: place + 1]), []
    rest = iter(words[place + 1 :])
    for word in rest:
        name, equals, value = word.partition("=")
        if name in POSITIONAL.get(command, ()):
            dataset = [value] if equals else [next(rest, "")]
        elif word == "--":
            made += [word, *rest]
        elif name in known:
            *before, last = known[name]
            made += [*before, f"{last}={value}" if equals else last]
        else:
            made.append(word)
    return [*made[: place + 1], *dataset, *made[place + 1 :]]


def has_positional(words: Sequence[str], command: str) -> bool:
    """Whether a word follows the command that is neither an option nor the value of one.

    >>> has_positional(["evaluate", "--store", "s.sqlite", "--resize"], "evaluate")
    False
    >>> has_positional(["evaluate", "--resize", "gt", "results"], "evaluate")
    True
    """
    rest = iter(words[list(words).index(command) + 1 :]) if command in words else iter(())
    for word in rest:
        if not word.startswith("-"):
            return True
        if "=" not in word and word not in FLAGS:
            next(rest, "")
    return False
