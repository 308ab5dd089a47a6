"""The first page of a report: the answer, why, and the pixels behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from stereogauge.decision.answer import Answer, answered
from stereogauge.decision.explain import Explanation, explained
from stereogauge.decision.pixels import pair_contrasts, pixel_agreement, two_class_column
from stereogauge.decision.source import Source
from stereogauge.decision.verdict import Settings
from stereogauge.errors import StereogaugeError
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
from stereogauge.report.content import FigureEntry, ReportOptions, Section
from stereogauge.scores.cube import ScoreCube
from stereogauge.tables.decision_tables import answer_tables
from stereogauge.tables.table import Table
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
    found = _answer(source, options)
    if isinstance(found, str):
        return FirstPage(None, Section("answer", "The answer", "The scores allow no answer.", notes=(found,)))
    tables = answer_tables(found)
    entries: list[Table | FigureEntry] = list(tables[:1])
    notes: list[str] = []
    names = [place.algorithm for place in found.places]
    why = _why(found, source, options, origins, notes, progress) if len(names) > 1 else None
    if why is not None:
        entries.append(FigureEntry("why", difference_bars_data(why), why.text))
    if origins is not None and why is not None:
        entries += _pixels(why, cube, origins, notes)
    entries += tables[1:]
    if origins is not None:
        entries += _all_algorithms(names, cube, origins, styles, notes, progress)
    measured = tuple(f"To measure what is missing: {command}" for command in found.commands)
    section = Section(
        "answer",
        "The answer",
        found.sentence,
        tuple(entries),
        tuple(notes),
        (*found.unknown, *measured),
        found.description,
    )
    return FirstPage(found, section)


def _answer(source: Source, options: ReportOptions) -> Answer | str:
    """The answer, or the reason why there is none."""
    attempts: list[tuple[str | None, dict[str, float] | None]] = [(name, None) for name in options.profiles[:1]]
    attempts.append((None, {column.metric: 1.0 for column in about_pixels(source.cube).columns}))
    reason = ""
    for profile, weights in attempts:
        try:
            settings = Settings(
                source.cube.least_coverage, alpha=options.alpha, seed=options.seed, missing=options.missing
            )
            return answered(source, settings, profile, weights)
        except StereogaugeError as problem:
            reason = reason or str(problem)
    return reason


def _why(
    found: Answer,
    source: Source,
    options: ReportOptions,
    origins: Origins | None,
    notes: list[str],
    progress: Callable[[str], None] | None,
) -> Explanation | None:
    """Why the first is above the second, among the algorithms of the answer."""
    first, second = (place.algorithm for place in found.places[:2])
    weights = {term.term: term.stated for term in found.terms}
    try:
        return explained(
            source, first, second, weights=weights, maps=origins, missing=options.missing, progress=progress,
            purpose=found.purpose,
        )  # fmt: skip
    except StereogaugeError as reason:
        notes.append(str(reason))
        return None


def _pixels(why: Explanation, cube: ScoreCube, origins: Origins, notes: list[str]) -> list[FigureEntry]:
    contrasts, reasons = pair_contrasts(why, cube, origins)
    notes += reasons
    if not contrasts:
        return []
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
    notes: list[str],
    progress: Callable[[str], None] | None,
) -> list[FigureEntry]:
    """Every scene at a glance, and the error curves of all algorithms whose maps are available."""
    scenes = cube.scenes[:MOST_SCENES]
    try:
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
    except (StereogaugeError, OSError) as reason:
        notes.append(f"Scenes at a glance: {reason}")
        return []
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
