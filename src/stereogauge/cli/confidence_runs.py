"""What `stereogauge confidence` judges (a matcher's measures, or maps from files), stores and writes into its folder.

In a store each measure of a matcher is an algorithm of its own. What a score depends on is in its key: the pixels in
the region (the paper's domain is a region `haeusler-klette`), the error in the metric, and matcher, search range,
scales and files in the algorithm's name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from stereogauge.cli import options
from stereogauge.cli.output import save_figures, say
from stereogauge.cli.running import chosen_scenes
from stereogauge.confidence_measures.declaration import (
    confidence_measure,
    confidence_measures,
    measure_label,
    parse_measure,
)
from stereogauge.confidence_measures.evaluation import SceneCurves, curve_rows, pooled_curves
from stereogauge.confidence_measures.files import ConfidenceSource, file_stem, write_maps
from stereogauge.confidence_measures.learned import Trees
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.confidence_measures.run import LEARNED, PAPER_DOMAIN, ConfidenceChoices, SceneRun, run_scene
from stereogauge.confidence_measures.sparsification import ErrorKind, sparsify, sparsify_by
from stereogauge.datasets.declaration import stated_range
from stereogauge.errors import FileError, NotApplicable, check_one_size
from stereogauge.evaluation.matchers import wanted_matcher
from stereogauge.figures.chart import Chart
from stereogauge.figures.confidence import Kind, confidence_picture, error_data, reliability_data, sparsification_data
from stereogauge.figures.pictures import save_picture
from stereogauge.hashing import values_hash
from stereogauge.io.files import DisparityFile
from stereogauge.masks.scene_regions import regions
from stereogauge.matching.result import MatchResult
from stereogauge.matching.run import as_matcher, matcher_text, settled, value_text
from stereogauge.model import Better, ConfidenceKind, Scene
from stereogauge.protocol import load_protocol
from stereogauge.scores.score import Score
from stereogauge.scores.table import ScoreTable
from stereogauge.tables.formats import csv_table
from stereogauge.tables.table import of_records

MEANINGS: dict[str, tuple[Better, ConfidenceKind]] = {
    "higher": ("higher", "order"),
    "lower": ("lower", "order"),
    "sigma": ("lower", "sigma"),
    "probability": ("higher", "probability"),
}
CURVES: tuple[Kind, ...] = ("counts", "rates", "normalised")
NO_EFFECT = frozenset({"keep", "memory_limit", "threads"})
"""Parameters of matchers that change no map."""
WRITTEN = "NAME=FILE:higher, NAME=FILE:lower, NAME=FILE:sigma or NAME=FILE:probability"


def named_map(text: str) -> tuple[str, ConfidenceSource]:
    """What NAME=FILE:higher means; an image of probabilities or deviations has its scale behind: :probability/65535.

    {scene} in the path is the scene's id.
    """
    name, equals, rest = text.partition("=")
    path, colon, meaning = rest.rpartition(":")
    word, _, scale = meaning.partition("/")
    try:
        number = float(scale) if scale else None
    except ValueError:
        number = -1.0
    if not equals or not colon or word not in MEANINGS or (number is not None and not number > 0):
        raise FileError(f"A confidence map is written {WRITTEN} (of an image with /SCALE behind it); found {text!r}.")
    return name, ConfidenceSource(DisparityFile(path, scale=number), *MEANINGS[word])


class Judged(NamedTuple):
    """How each scene is judged, and what its maps are called in a store; `scales` are ς and T where given."""

    run: Callable[[Scene], SceneRun]
    algorithm: Callable[[str], str]
    title: str
    scales: tuple[float | None, float | None] = (None, None)

    def facts(self, runs: Sequence[SceneRun]) -> str:
        """Everything that the curves depend on, for captions."""
        result = runs[0].result
        pixels = " and ".join(dict.fromkeys(run.region for run in runs))
        ranges = sorted({run.result.ndisp for run in runs})
        found = {name: value_text(value) for name, value in result.parameters.items() if name not in NO_EFFECT}
        if not found:
            return f"{self.title}; pixels: {pixels}"
        found["ndisp"] = " … ".join(str(ndisp) for ndisp in dict.fromkeys((ranges[0], ranges[-1])))
        for name, given, own in zip(("ς", "T"), self.scales, (result.sigma, result.temperature), strict=True):
            if given or own:
                found[name] = f"{given or own:g}"
        settings = ", ".join(f"{name} = {value}" for name, value in found.items())
        printed = " as printed" if self.title.endswith(" as printed") else ""
        return f"{result.matcher}{printed}: {settings}; pixels: {pixels}"


def scenes_of(
    dataset: str | None,
    wanted: list[str] | None,
    left: str | None,
    right: str | None,
    gt: str | None,
    truth: Mapping[str, Any],
) -> list[Scene]:
    """The scenes of a dataset, or the one pair that was given; `truth` says how its ground truth is read."""
    if dataset is not None:
        return list(chosen_scenes(dataset, wanted))
    if gt is None:
        raise FileError("Sparsification needs ground truth: name a DATASET[:ROOT], or give --left, --right and --gt.")
    name = Path(left or gt).parent.name or Path(left or gt).stem
    return [Scene(name, gt=DisparityFile(gt, **truth), left=left, right=right)]


def of_matcher(choices: ConfidenceChoices, model: Path | None, *, with_features: bool) -> Judged:
    """A matcher and measures of its costs."""
    wanted_matcher(choices.matcher)
    names = [name for name in choices.measures if confidence_measure(name)] or [*PAPER, "product"]
    trees = None if model is None else Trees.load(model)
    if trees is not None and LEARNED not in names:
        names.append(LEARNED)
    if trees is not None:
        say(f"{model}: trained on {trees.origin}")
        if trees.bad_above not in (None, choices.threshold):
            say(f"its probabilities are of errors above {trees.bad_above:g} px, not above {choices.threshold:g} px")
    warned: set[str] = set()
    complete = replace(choices, measures=tuple(names), model=trees)
    trained = "" if model is None else values_hash(model.read_bytes().hex())[:8]

    def run(scene: Scene) -> SceneRun:
        for part in ("left", "right"):
            if not scene.has(part):
                raise NotApplicable(f"Scene {scene.id!r} has no {part} image to match.")
        if choices.ndisp is None and stated_range(scene) is None:
            say(f"{scene.id}: searches up to the largest true disparity, which favours the matcher; --ndisp N fixes it")
        if trees is not None and not trees.suits(scene.dataset) and scene.dataset not in warned:
            warned.add(scene.dataset)
            say(f"{model} was not trained on {scene.dataset or 'this pair'}: it may gain nothing there; --learn trains")
        if trees is not None and trees.saw(scene.dataset, scene.id):
            say(f"{model} was trained on {scene.id}: its scores there are no test; --learn tests on other scenes")
        return run_scene(scene, complete, with_features=with_features).without_costs()

    title = _matcher_title(choices)
    scales = {"sigma": choices.sigma, "temperature": choices.temperature}
    return Judged(
        run,
        lambda measure: f"{title}/{_with_scales(measure, scales, trained)}",
        title,
        (choices.sigma, choices.temperature),
    )


def _matcher_title(choices: ConfidenceChoices) -> str:
    """The matcher in the names of algorithms: `sgm:p1=10,ndisp=128` for one that differs from the defaults in these.

    Without `ndisp` the search range is the scene's own.
    """
    declared, given = as_matcher(choices.matcher)
    complete, post = settled(declared, {**given, **choices.parameters})
    defaults, _ = settled(declared, {})
    changed = {name: value for name, value in {**complete, **post.chosen}.items() if defaults.get(name) != value}
    if choices.ndisp is not None:
        changed["ndisp"] = choices.ndisp
    program = choices.matcher.startswith("cmd:")
    matcher = f"{choices.matcher} {choices.ndisp or ''}".strip() if program else matcher_text(declared.id, changed)
    return f"{matcher} as printed" if choices.literal else matcher


def _with_scales(measure: str, scales: Mapping[str, float | None], model: str) -> str:
    """A measure with the scales that were given, `entropy@8`; `model` is the hash of a trained combination."""
    if measure == LEARNED:
        return f"{measure} {model or 'on the other scenes'}"
    declared, own = parse_measure(measure)
    if measure == "product":
        given = [f"{name}={value:g}" for name, value in scales.items() if value is not None]
        return f"{measure}({','.join(given)})" if given else measure
    scale = None if declared.scale is None else scales[declared.scale]
    return f"{measure}@{scale:g}" if own is None and scale is not None else measure


def of_files(disparity: str | None, maps: Sequence[str], files: options.Files, threshold: float, domain: str) -> Judged:
    """Disparity and confidence maps from files; {scene} in a path is the scene's id.

    The paper's domain needs a matcher; maps from files are judged on visible pixels where these are known. Their
    algorithm is `TITLE/NAME` and a hash of where both come from and how they are read.
    """
    if disparity is None or not maps:
        raise FileError("Maps from files need both: --disparity FILE and at least one --map NAME=FILE:higher.")
    template, named = Path(disparity), dict(map(named_map, maps))
    # They are called as their file, or as the folder of a file for every scene.
    title = template.stem if "{scene}" not in template.stem else template.parent.name or "maps"

    def of_scene(file: DisparityFile, scene: Scene) -> DisparityFile:
        return replace(file, path=str(file.path).replace("{scene}", scene.id))

    def run(scene: Scene) -> SceneRun:
        estimate = of_scene(DisparityFile(disparity, files.encoding, files.scale), scene).read()
        sources = {name: replace(one, source=of_scene(one.source, scene)) for name, one in named.items()}
        found = {name: source.read() for name, source in sources.items()}
        read = {"disparity map": estimate} | {f"confidence map {name!r}": values for name, values in found.items()}
        for what, values in read.items():
            check_one_size(f"The {what} of scene {scene.id!r}", values.shape, "its ground truth", scene.shape)
        region = domain
        if domain == PAPER_DOMAIN:
            region = "nonocc" if "nonocc" in scene.masks else "all"
        blank = np.zeros(estimate.shape, np.uint8)
        largest = int(np.nan_to_num(estimate, nan=0.0).max()) + 1
        return SceneRun(
            scene=scene.id,
            result=MatchResult(title, largest, {}, blank, blank, estimate, estimate, seconds=0.0, cpu_seconds=0.0),
            gt=scene.gt,
            domain=regions(scene, [region])[region],
            maps=found,
            features={},
            threshold=threshold,
            calibration=scene.calibration,
            region=region,
            meant={name: source for name, source in sources.items() if source.kind != "order"},
        )

    def algorithm(name: str) -> str:
        one = named[name]
        origin = [template.absolute(), files.encoding, files.scale]
        origin += [Path(one.source.path).absolute(), one.better, one.kind, one.source.scale]
        return f"{title}/{name} {values_hash([*map(str, origin)])[:8]}"

    return Judged(run, algorithm, title)


def stored_scores(runs: Sequence[SceneRun], dataset: str, judged: Judged) -> Iterator[ScoreTable]:
    """Scores `sparsification-auc`, `ause`, `aurg` and `confidence-roc` of every map and scene, by region.

    As the metrics of these names: the first counts missing estimates as bad, the others leave them out.
    """
    for region in dict.fromkeys(run.region for run in runs):
        protocol = load_protocol(PAPER_DOMAIN if region == PAPER_DOMAIN else "default")
        scores = [
            Score(
                dataset=dataset.partition(":")[0] or "pair",
                scene=run.scene,
                algorithm=judged.algorithm(measure),
                metric=f"{metric}@{run.threshold:g}",
                region=region,
                value=value,
                sum=0.0 if math.isnan(value) else value * pixels,
                count=0 if math.isnan(value) else pixels,
                missing=0,
                protocol=protocol.scoring_hash,
                note=f"region {region!r} has only good or only bad pixels" if math.isnan(value) else "",
            )
            for run in runs
            if run.region == region
            for measure, values in run.maps.items()
            for metric, value, pixels in _areas(run, values)
        ]
        yield ScoreTable(scores, protocol)


def _areas(run: SceneRun, values: Any) -> Iterator[tuple[str, float, int]]:
    whole = sparsify(values, run.result.raw, run.gt, run.threshold, run.domain)
    yield "sparsification-auc", whole.auc, whole.pixels
    given = sparsify(values, run.result.raw, run.gt, run.threshold, run.domain, missing="excluded")
    yield "ause", given.ause, given.pixels
    yield "aurg", given.aurg, given.pixels
    yield "confidence-roc", given.roc_auc, given.pixels


def write_files(
    folder: Path, runs: Sequence[SceneRun], curves: Sequence[SceneCurves], judged: Judged, kinds: Sequence[ErrorKind]
) -> int:
    """The curves as CSV, sparsification figures of all scenes (and pooled), a picture of every map, and the maps.

    The maps lie in `results/MATCHER` as a results folder that `stereogauge evaluate` reads. Returns how many files.
    """
    facts = judged.facts(runs)
    labels = {name: measure_label(name) for run in runs for name in run.maps}
    shown = [*curves, pooled_curves(curves)] if len(curves) > 1 else list(curves)
    caption = (
        f"{facts}; bad = error above {runs[0].threshold:g} px; the grey bar marks the share of good pixels; "
        "ties in expectation."
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curves.csv").write_text(csv_table(of_records("curves", curve_rows(shown))), encoding="utf-8")
    drawn = {
        f"sparsification-{kind}": sparsification_data(
            shown, kind, labels=labels, caption=caption, title=f"Sparsification, {kind}"
        )
        for kind in CURVES
    }
    drawn |= {f"sparsification-{file_stem(str(kind))}": _by_error(runs, kind, labels, facts) for kind in kinds}
    reliabilities = [(run.scene, name, one) for run in runs for name, of in run.reliabilities().items() for one in of]
    if reliabilities:
        drawn["reliability"] = reliability_data(reliabilities, caption=facts)
    save_figures(folder, drawn, ("png", "svg", "csv"))
    count = 1 + 3 * len(drawn)
    for run in runs:
        for name, values in run.maps.items():
            declared = confidence_measures().get(name.partition("@")[0])
            picture = confidence_picture(labels[name], values, "" if declared is None else declared.formula)
            save_picture(folder / run.scene / f"{file_stem(name)}.png", picture, subtitle=run.scene)
            count += 1
        count += write_maps(folder / "results" / file_stem(judged.title), run.scene, run.result.raw, run.maps)
    return count


def _by_error(runs: Sequence[SceneRun], kind: ErrorKind, labels: Mapping[str, str], facts: str) -> Chart:
    curves = {
        run.scene: {
            name: sparsify_by(
                kind, values, run.result.raw, run.gt, run.domain, calibration=run.calibration, missing="excluded"
            )
            for name, values in run.maps.items()
        }
        for run in runs
        if kind.rule != "bad-z" or (run.calibration is not None and run.calibration.metric)
    }
    return error_data(curves, kind, labels=labels, caption=f"{facts}; {kind.words}; estimated pixels only.")
