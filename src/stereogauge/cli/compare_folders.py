"""`stereogauge compare` of two folders: ground truth of several scenes, and maps of one or more algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stereogauge.cli import options
from stereogauge.cli.doubts import doubt_lines
from stereogauge.cli.output import notes, print_basis, print_scores, progress, say, shortened
from stereogauge.errors import StereogaugeError

if TYPE_CHECKING:
    from stereogauge.masks.geometry.objects import SceneObject
    from stereogauge.model import Dataset, ResultSet
    from stereogauge.protocol import Protocol
    from stereogauge.scores.score import Score


def refuse_for_folders(**given: Any) -> None:
    """Say where the facts of single scenes go when folders are compared."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, [], 0)]
    if named:
        raise StereogaugeError(
            f"{', '.join(named)} describes one scene, and a folder holds several; write it into the folder's manifest "
            "(`stereogauge datasets init FOLDER` makes one)."
        )


def compare_folders(
    truth: str,
    estimates: Sequence[str],
    protocol: Protocol,
    reading: dict[str, Any],
    truth_reading: dict[str, Any],
    form: options.Format,
    how: dict[str, Any],
    *,
    asked: bool,
) -> None:
    """Print the scores over all scenes; `how` goes to `evaluate`, `asked` says that its metrics were chosen."""
    from stereogauge.evaluation.evaluate import evaluate
    from stereogauge.evaluation.fingerprints import estimated_hash, inputs_hash
    from stereogauge.evaluation.worker import Doubt, doubts_of_map
    from stereogauge.io.files import load_disparity
    from stereogauge.scores.table import ScoreTable
    from stereogauge.tags import TagBook

    dataset = options.chosen_scenes(truth, None, **truth_reading)
    options.tell_layout(truth, dataset)
    dataset = dataset.subset(protocol.selected(dataset.ids))
    results = _results(estimates, dataset, reading)
    compared = [scene for scene in dataset if any(scene.id in result.maps for result in results)]
    shown = progress("scenes")
    shown.start(len(compared), 0)
    scores: list[Score] = []
    sizes: dict[tuple[str, str], float] = {}
    objects: dict[tuple[str, str, str], SceneObject] = {}
    used = protocol
    doubts: list[Doubt] = []
    shared: list[str] = []
    for scene in compared:
        maps = {result.name: result.maps[scene.id] for result in results if scene.id in result.maps}
        read = {name: load_disparity(source) for name, source in maps.items()}
        part = evaluate(
            [replace(result, maps={scene.id: read[result.name]} if result.name in read else {}) for result in results],
            scene,
            protocol.metrics if asked else None,
            protocol=protocol,
            **how,
        )
        scores += list(part)
        shared += [estimated_hash(read.values())] if how["common"] else []
        sizes |= part.sizes or {}
        objects |= part.objects
        used = part.protocol or protocol
        for name, source in maps.items():
            doubts += doubts_of_map(name, source, read[name], scene)
        scene.release()
        shown.advance(1, 0)
    shown.finish()
    tags = TagBook(
        {result.name: result.tags for result in results}, {(scene.dataset, scene.id): scene.tags for scene in compared}
    )
    calibrated = {(scene.dataset, scene.id): scene.calibration.metric for scene in compared}
    table = ScoreTable(scores, used, sizes, tags, objects, inputs_hash(compared, shared), calibrated)
    print_scores(table, form)
    if form is options.Format.table:
        print_basis(used, table.inputs, compared)
    for note in [*notes(table), *doubt_lines(doubts)]:
        say(f"note: {note}")


def _results(estimates: Sequence[str], dataset: Dataset, reading: dict[str, Any]) -> list[ResultSet]:
    from pathlib import Path

    from stereogauge.datasets.results.find import find_results

    found: list[ResultSet] = []
    for text in estimates:
        name, equals, path = text.partition("=")
        named = bool(equals) and not Path(text).exists()
        there = find_results(path if named else text, dataset, **reading)
        results, unrecognised = there.results, there.unrecognised
        if there.template:
            say(f"{path if named else text}: maps found at {there.template} (--template)")
        if not results:
            raise StereogaugeError(
                f"{text} holds no maps for the scenes of {dataset.name} ({shortened(dataset.ids)}); say where they lie "
                "with --template, e.g. '{algorithm}/{scene}.pfm'."
            )
        if unrecognised:
            say(f"{text}: {len(unrecognised)} file(s) belong to no scene: {shortened(unrecognised)}")
        found += [replace(results[0], name=name)] if named and len(results) == 1 else results
    names = [result.name for result in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StereogaugeError(f"Several folders hold an algorithm called {twice[0]!r}; name them, NAME=FOLDER.")
    return found
