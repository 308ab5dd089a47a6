"""The first page of a report: the answer, why, and the pixels behind it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from msgspec.structs import replace

from stereogauge.decision.answer import Answer, answered
from stereogauge.decision.explain import explained
from stereogauge.decision.pixels import Contrast, pair_contrasts, pixel_agreement, two_class_column
from stereogauge.decision.source import Source, purpose_of
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
from stereogauge.ranking.profile import Profile, checked_weights, load_profile
from stereogauge.ranking.run import about_pixels
from stereogauge.report.content import Attempts, FigureEntry, ReportOptions, Section
from stereogauge.scores.cube import ScoreCube
from stereogauge.tables.decision_tables import answer_tables
from stereogauge.text import number_text

MOST_SCENES, MOST_ALGORITHMS, MOST_CURVES = 8, 6, 30


def first_page(
    cube: ScoreCube,
    options: ReportOptions,
    protocol: Protocol | None = None,
    store: str = "",
    origins: Origins | None = None,
) -> tuple[Answer | None, Section]:
    """The answer for the first profile of the options, or for equal weights where nothing of that profile is measured,
    and the section that shows it; no answer where the scores allow none.

    With `origins` the pixels are shown too, as far as the maps are available.
    """
    source = Source(cube, protocol, store)
    attempts = Attempts()
    settings = Settings(cube.least_coverage, alpha=options.alpha, seed=options.seed, missing=options.missing)
    found = _answer(attempts, source, options, settings)
    if found is None:
        nothing = Section("answer", "The answer", "The scores allow no answer.", notes=tuple(attempts.notes[:1]))
        return None, nothing
    attempts.notes.clear()
    first_table, *tables = answer_tables(found)
    attempts.entries.append(first_table)
    names = [place.algorithm for place in found.places]
    why = None
    if len(names) > 1:
        weights = checked_weights({term.term: term.stated for term in found.terms}, "The answer")
        purpose = Profile("answer", found.purpose, "", weights, found.purpose)
        why = attempts.get(partial(explained, source, names[0], names[1], settings, purpose, maps=origins))
    if why is not None:
        attempts.entries.append(FigureEntry("why", difference_bars_data(why), why.text))
        if origins is not None:
            contrasts, reasons = pair_contrasts(why, cube, origins)
            attempts.notes += reasons
            attempts.entries += _pixels(contrasts) if contrasts else []
    attempts.entries += tables
    if origins is not None:
        everything = partial(_all_algorithms, names, cube, origins, options.styles)
        attempts.entries += attempts.get(everything, "Scenes at a glance") or []
    measured = tuple(f"To measure what is missing: {command}" for command in found.commands)
    section = attempts.section("answer", "The answer", found.sentence)
    return found, replace(section, unknown=(*found.unknown, *measured), detail=found.description)


def _answer(attempts: Attempts, source: Source, options: ReportOptions, settings: Settings) -> Answer | None:
    """The answer, for equal weights where there is none for the profile."""
    equal = {column.metric: 1.0 for column in about_pixels(source.cube).columns}
    for purpose in (*map(load_profile, options.profiles[:1]), purpose_of(source.cube, weights=equal)):
        found = attempts.get(partial(answered, source, settings, purpose))
        if found is not None:
            return found
    return None


def _pixels(contrasts: Sequence[Contrast]) -> list[FigureEntry]:
    entries = [FigureEntry("who-is-right", contrast_rows_data(contrasts))]
    lines = {f"profile-line-{place}": profile_line_data(one) for place, one in enumerate(contrasts, 1)}
    entries += [FigureEntry(name, line) for name, line in lines.items() if line is not None]
    crops = crop_rows_data(contrasts)
    return [FigureEntry("crops", crops), *entries] if crops.rows else entries


def _all_algorithms(
    names: Sequence[str], cube: ScoreCube, origins: Origins, styles: Styles | None
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
    place = next((place for place, one in enumerate(cube.columns) if str(one) == column), None)

    def score(name: str, scene: str) -> str:
        """The score of an algorithm on a scene with its unit; "" where there is none."""
        if place is None:
            return ""
        value = float(cube.values[cube.algorithms.index(name), cube.scenes.index(scene), place])
        return "" if np.isnan(value) else f"{number_text(value)} {cube.columns[place].unit(cube.depth_unit)}".strip()

    scores = {name: {scene: score(name, scene) for scene in scenes} for name in maps}
    glance = glance_rows_data({scene: origins.scene(scene) for scene in scenes}, maps, scores, origins.protocol)
    curves = pixel_agreement(origins, available[:MOST_CURVES], scenes, column)
    return [
        FigureEntry("glance", replace(glance, title=f"{glance.title}, {column}")),
        FigureEntry("error-curves", error_curves_data(curves, styles), curves.text),
    ]
