"""The first page of a report: the answer, why, and the pixels behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from stereogauge.decision.answer import Answer, answered
from stereogauge.decision.explain import Explanation, explained
from stereogauge.decision.pixels import Contrast, pair_contrasts, pixel_agreement, two_class_column
from stereogauge.decision.source import Source
from stereogauge.decision.verdict import Settings
from stereogauge.evaluation.stored_maps import Origins
from stereogauge.figures.decision import (
    contrast_rows_data,
    crop_rows_data,
    difference_bars_data,
    error_curves_data,
    glance_rows_data,
    profile_line_data,
)
from stereogauge.figures.palette import Styles
from stereogauge.io.files import load_disparity
from stereogauge.model import as_disparity
from stereogauge.protocol import Protocol
from stereogauge.ranking.run import about_pixels
from stereogauge.report.content import Attempts, FigureEntry, ReportOptions, Section
from stereogauge.scores.cube import ScoreCube
from stereogauge.tables.decision_tables import answer_tables
from stereogauge.text import number_text

MOST_SCENES, MOST_ALGORITHMS, MOST_CURVES = 8, 6, 30


class FirstPage(NamedTuple):
    """The answer with the section that shows it; None where the scores allow no answer."""

    answer: Answer | None
    section: Section


def first_page(
    cube: ScoreCube,
    options: ReportOptions,
    styles: Styles,
    protocol: Protocol | None = None,
    store: str = "",
    origins: Origins | None = None,
    progress: Callable[[str], None] | None = None,
) -> FirstPage:
    """The answer for the first profile of the options; equal weights where nothing of that profile is measured.

    With `origins` the pixels are shown too, as far as the maps are available.
    """
    source = Source(cube, protocol, store)
    attempts = Attempts()
    found = _answer(attempts, source, options)
    if found is None:
        nothing = Section("answer", "The answer", "The scores allow no answer.", notes=tuple(attempts.notes[:1]))
        return FirstPage(None, nothing)
    attempts.notes.clear()
    tables = answer_tables(found)
    attempts.entries += tables[:1]
    names = [place.algorithm for place in found.places]
    make = partial(_why, found, source, options, origins, progress)
    why = attempts.get(make) if len(names) > 1 else None
    if why is not None:
        attempts.entries.append(FigureEntry("why", difference_bars_data(why), why.text))
    if origins is not None and why is not None:
        contrasts, reasons = pair_contrasts(why, cube, origins)
        attempts.notes += reasons
        attempts.entries += _pixels(contrasts) if contrasts else []
    attempts.entries += tables[1:]
    if origins is not None:
        everything = partial(_all_algorithms, names, cube, origins, styles, progress)
        attempts.entries += attempts.get(everything, "Scenes at a glance") or []
    measured = tuple(f"To measure what is missing: {command}" for command in found.commands)
    section = attempts.section("answer", "The answer", found.sentence)
    return FirstPage(found, replace(section, unknown=(*found.unknown, *measured), detail=found.description))


def _answer(attempts: Attempts, source: Source, options: ReportOptions) -> Answer | None:
    """The answer, for equal weights where there is none for the profile."""
    equal = {column.metric: 1.0 for column in about_pixels(source.cube).columns}
    settings = Settings(source.cube.least_coverage, alpha=options.alpha, seed=options.seed, missing=options.missing)
    for profile, weights in (*((name, None) for name in options.profiles[:1]), (None, equal)):
        found = attempts.get(partial(answered, source, settings, profile, weights))
        if found is not None:
            return found
    return None


def _why(
    found: Answer,
    source: Source,
    options: ReportOptions,
    origins: Origins | None,
    progress: Callable[[str], None] | None,
) -> Explanation:
    """Why the first is above the second, among the algorithms of the answer."""
    first, second = (place.algorithm for place in found.places[:2])
    weights = {term.term: term.stated for term in found.terms}
    return explained(
        source, first, second, weights=weights, maps=origins, missing=options.missing, progress=progress,
        purpose=found.purpose,
    )  # fmt: skip


def _pixels(contrasts: Sequence[Contrast]) -> list[FigureEntry]:
    entries = [FigureEntry("who-is-right", contrast_rows_data(contrasts))]
    lines = {f"profile-line-{place}": profile_line_data(one) for place, one in enumerate(contrasts, 1)}
    entries += [FigureEntry(name, line) for name, line in lines.items() if line is not None]
    crops = crop_rows_data(contrasts)
    return [FigureEntry("crops", crops), *entries] if crops.rows else entries


def _all_algorithms(
    names: Sequence[str],
    cube: ScoreCube,
    origins: Origins,
    styles: Styles,
    progress: Callable[[str], None] | None,
) -> list[FigureEntry]:
    """Every scene at a glance, and the error curves of all algorithms whose maps are available."""
    scenes = cube.scenes[:MOST_SCENES]
    available = [name for name in names if all(origins.source(name, scene) is not None for scene in scenes)]
    if not available:
        return []
    column = two_class_column(cube)
    maps = {
        name: {scene: as_disparity(load_disparity(origins.source(name, scene)), name) for scene in scenes}
        for name in available[:MOST_ALGORITHMS]
    }
    opened = {scene: origins.scene(scene) for scene in scenes}
    glance = glance_rows_data(opened, maps, _scores(cube, column, list(maps), scenes), origins.protocol)
    curves = pixel_agreement(origins, available[:MOST_CURVES], scenes, column, progress)
    title = f"{glance.title}, {column}"
    return [
        FigureEntry("glance", replace(glance, title=title)),
        FigureEntry("error-curves", error_curves_data(curves, styles), curves.text),
    ]


def _scores(
    cube: ScoreCube, column: str, algorithms: Sequence[str], scenes: Sequence[str]
) -> dict[str, dict[str, str]]:
    """The score of each algorithm on each scene with its unit; "" where there is none."""
    matching = [place for place, one in enumerate(cube.columns) if str(one) == column]
    if not matching:
        return {name: dict.fromkeys(scenes, "") for name in algorithms}
    unit = cube.columns[matching[0]].unit(cube.depth_unit)
    values = cube.values[:, :, matching[0]]
    found: dict[str, dict[str, str]] = {}
    for name in algorithms:
        row = values[cube.algorithms.index(name)]
        found[name] = {
            scene: "" if np.isnan(row[place]) else f"{number_text(float(row[place]))} {unit}".strip()
            for place, scene in enumerate(cube.scenes)
            if scene in scenes
        }
    return found
