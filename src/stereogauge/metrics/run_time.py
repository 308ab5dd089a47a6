"""What it cost to make the map, where that is known."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from stereogauge.metrics.costs import mean
from stereogauge.metrics.declaration import Metric, Statistic
from stereogauge.metrics.measurement import Fact, Measurement


def _conditions(extras: Mapping[str, Fact]) -> str:
    """What a measured run depends on, for example "640×480, 64 disparities, 1 thread, AMD EPYC 7B12"."""
    threads = extras.get("threads")
    parts = [f"{extras['width']}×{extras['height']}", f"{extras['ndisp']} disparities"]
    if threads is not None:
        parts.append(f"{threads} thread" + ("" if threads == 1 else "s"))
    return ", ".join([*parts, str(extras["processor"])])


CONDITIONS = re.compile(r"(\d+)×(\d+), (\d+) disparities(?:, (\d+) threads?)?, (.+)")


def states_conditions(note: str) -> bool:
    """Whether the note of a score says what a run was measured on; others say why there is no value.

    >>> states_conditions("640×480, 64 disparities, AMD EPYC 7B12"), states_conditions("Run time is not known")
    (True, False)
    """
    return CONDITIONS.fullmatch(note) is not None


def image_size(note: str) -> tuple[int, int] | None:
    """(width, height) of the images that a run time was measured on, from its note; None where that is not stated.

    >>> image_size("640×480, 64 disparities, 1 thread, AMD EPYC 7B12")
    (640, 480)
    """
    found = CONDITIONS.fullmatch(note)
    return None if found is None else (int(found[1]), int(found[2]))


def sizes_in_words(sizes: Iterable[tuple[int, int]]) -> str:
    """The smallest and the largest of these image sizes: "9×8 to 99×88 px"."""
    ordered = sorted(sizes, key=math.prod)
    ends = dict.fromkeys((ordered[0], ordered[-1]))
    return " to ".join(f"{width}×{height}" for width, height in ends) + " px"


def conditions_in_words(notes: Mapping[str, Iterable[str]]) -> str:
    """The conditions of the run times of several algorithms, from their notes by name; "" if unknown.

    >>> conditions_in_words({"A": ["9×8, 4 disparities, 1 thread, X1", "99×88, 4 disparities, 1 thread, X1"]})
    'Run times at 9×8 to 99×88 px, 4 disparities, 1 thread, on X1.'
    """
    found = {name: [match for note in own if (match := CONDITIONS.fullmatch(note))] for name, own in notes.items()}
    runs = [match for own in found.values() for match in own]
    if not runs:
        return ""
    sizes = sizes_in_words((int(match[1]), int(match[2])) for match in runs)
    parts = [sizes, _range((match[3] for match in runs), "disparities")]
    threads = {name: _range((match[4] for match in own if match[4]), "thread", "s") for name, own in found.items()}
    if len(set(threads.values())) > 1:
        parts.append(", ".join(f"{name} with {used or 'unknown threads'}" for name, used in threads.items()))
    else:
        parts += [used for used in set(threads.values()) if used]
    return f"Run times at {', '.join(parts)}, on {', '.join(dict.fromkeys(match[5] for match in runs))}."


def _range(numbers: Iterable[str], what: str, plural: str = "") -> str:
    """ "64 to 75 disparities" or "1 thread"; "" without numbers."""
    known = sorted({int(number) for number in numbers})
    if not known:
        return ""
    amount = f"{known[0]}" if len(known) == 1 else f"{known[0]} to {known[-1]}"
    return f"{amount} {what}{'' if known == [1] else plural}"


def _fact(key: str, what: str) -> Metric:
    def fact(m: Measurement, region: str) -> Statistic:
        if key not in m.extras:
            return Statistic.empty(f"{what} is not known")
        return Statistic(float(m.extras[key]), 1, 0, _conditions(m.extras) if "processor" in m.extras else "")

    fact.__doc__ = (
        f"{what} of the matcher on this scene, as measured or as the submission states it. Measured without loading "
        "and compiling; the note of the score says processor, threads, image size and number of disparities."
    )
    unit = {"peak_memory": "MiB", "weights": "million"}.get(key, "s")
    return Metric(
        id=key.replace("_", "-"),
        name=what,
        formula={"s": "t", "MiB": r"\max_t M(t)"}.get(unit, "n"),
        unit=unit,
        source="measured, or timeALG.txt as in Middlebury v3",
        function=fact,
        missing="not about pixels",
        counts="runs",
        needs=frozenset({key}),
        region="scene",
        pooled=mean,
    )


seconds = _fact("seconds", "Run time")
cpu_seconds = _fact("cpu_seconds", "CPU time")
peak_memory = _fact("peak_memory", "Peak memory")
weights = _fact("weights", "Learned parameters")
