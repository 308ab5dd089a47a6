"""`stereogauge robustness`: how much maps change when only the light, the exposure or the moment changes."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli import options
from stereogauge.cli.output import counting, print_rows, save_figures, say
from stereogauge.cli.running import Workers, found_results, made_maps
from stereogauge.errors import StereogaugeError
from stereogauge.protocol import Protocol

if TYPE_CHECKING:
    import pandas as pd

    from stereogauge.model import Dataset, Mask, ResultSet

UNITS = {"changed": "%", "mean": "px", "median": "px", "lost": "%", "gained": "%"}


def command(
    dataset: Annotated[str, typer.Argument(metavar="DATASET[:ROOT]", help="The dataset that the scenes belong to.")],
    files: Annotated[options.Files, options.without("gt_encoding", "gt_scale", "gt_unknown", "resize")],
    measured: Annotated[options.Measured, options.without("metrics", "regions")],
    results: Annotated[
        list[str] | None, typer.Argument(metavar="RESULTS", help="Folders or zips with maps of algorithms.")
    ] = None,
    pair: Annotated[
        list[str] | None,
        "Two scenes of one place, CONDITION=FIRST,SECOND; repeatable. Default: Middlebury's Motorcycle with "
        "MotorcycleE (other exposure) and Piano with PianoL (other lamp).",
    ] = None,
    sequence: Annotated[str | None, "Scenes of a still place in order, A,B,C: each against the one before it."] = None,
    flow: Annotated[
        str | None,
        "Compare along the motion: 'estimated' from the left images, or files of optical flow, "
        "e.g. 'flow/{first}.flo' (.flo, KITTI's .png, .npy).",
    ] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, help="A pixel has changed beyond this many px.")
    ] = 1.0,
    region: Annotated[str | None, "Only these pixels of the first scene, e.g. nonocc."] = None,
    matcher: Annotated[list[str] | None, "A matcher to run, as for `evaluate`; its maps are kept. Repeatable."] = None,
    ndisp: options.SearchRange = None,
    maps: Annotated[str | None, "Where maps of matchers are kept."] = None,
    jobs: options.Jobs = None,
    form: options.OutputFormat = options.Format.table,
    out: Annotated[Path | None, "Folder for table, figure and pictures."] = None,
) -> None:
    """Measure how much maps change when only lighting or time changes.

    Two maps of the same scene should be equal; no ground truth is needed. Prints, for every algorithm and pair of
    scenes, the share of pixels that changed, the mean and median change, and the shares of estimates lost and gained.
    Maps of matchers are kept, so that the same command continues where it was stopped.
    """
    from stereogauge.datasets import open_dataset
    from stereogauge.evaluation.evaluate import check_names
    from stereogauge.evaluation.fingerprints import ContentHashes
    from stereogauge.study.robustness import robustness_table

    chosen = measured.choice
    whole = open_dataset(dataset)
    pairs = _pairs(pair or [], sequence, whole)
    scenes = whole.subset(list(dict.fromkeys(scene for both in pairs.values() for scene in both)))
    if not results and not matcher:
        raise StereogaugeError("Nothing to compare: give folders of results, or --matcher.")
    options.make_folder(out)
    found = list(itertools.chain(*found_results(results or (), whole, files.reading)))
    failed = False
    if matcher:
        with Workers(jobs) as workers:
            made = made_maps(matcher, scenes, workers, ContentHashes(None), maps=maps, ndisp=ndisp)
        found, failed = [*found, *made.results], bool(made.failures)
        for algorithm, scene, reason, _ in made.failures:
            say(f"failed: {algorithm} on {scene}: {reason}")
    check_names(found, whole.ids)
    masks = {} if region is None else _masks(scenes, pairs, region, chosen)
    motion = _motion(flow, scenes)
    with counting(len(found) * len(pairs), "comparison", "make") as advance:
        table = robustness_table(found, pairs, threshold=threshold, masks=masks, progress=advance, **motion)
    if table["count"].isna().all():
        raise StereogaugeError(f"No algorithm has the maps of both scenes of {_described(pairs)}.")
    print_rows(_rows(table, form), form)
    for row in table[table["count"].isna()].itertuples():
        say(f"note: {row.algorithm} has not both maps of {row.first} and {row.second}")
    for row in table[table["count"] == 0].itertuples():
        say(f"note: {row.algorithm} has no pixel with an estimate in both {row.first} and {row.second}")
    if out is not None:
        _write(out, table, found, pairs, threshold, region)
    if failed:
        raise typer.Exit(1)


def _motion(flow: str | None, scenes: Dataset) -> dict[str, Any]:
    """How maps are compared along the motion of the scene; nothing where nothing moves."""
    from stereogauge.study.robustness import estimated_flow, read_flow

    if flow is None:
        return {}
    whole = all(scene.has("gt") for scene in scenes)

    @functools.cache
    def between(first: str, second: str) -> Any:
        if flow == "estimated":
            return estimated_flow(scenes[first].left, scenes[second].left)
        return read_flow(flow.format(first=first, second=second))

    say("along the flow" + (", without the change of the ground truth" if whole else ""))
    return {"flows": between, "truths": (lambda name: scenes[name].gt) if whole else None}


def _pairs(texts: Sequence[str], sequence: str | None, dataset: Dataset) -> dict[str, tuple[str, str]]:
    from stereogauge.study.robustness import MIDDLEBURY_PAIRS, known_pairs, sequence_pairs

    pairs: dict[str, tuple[str, str]] = {}
    for text in texts:
        condition, equals, both = text.partition("=")
        scenes = [part.strip() for part in both.split(",")]
        if not equals or len(scenes) != 2 or scenes[0] == scenes[1]:
            raise StereogaugeError(f"A pair is written CONDITION=FIRST,SECOND with two scenes; found {text!r}.")
        pairs[condition.strip()] = (scenes[0], scenes[1])
    if sequence is not None:
        steps = sequence_pairs([part.strip() for part in sequence.split(",") if part.strip()])
        if not steps:
            raise StereogaugeError(f"A sequence has at least two scenes, separated by commas; found {sequence!r}.")
        pairs |= steps
    if not texts and sequence is None:
        pairs = known_pairs(dataset.ids)
    if not pairs:
        raise StereogaugeError(
            f"{dataset.name} has none of the known pairs ({_described(MIDDLEBURY_PAIRS)}); name two scenes of one "
            "place with --pair CONDITION=FIRST,SECOND."
        )
    return pairs


def _described(pairs: Any) -> str:
    return ", ".join(f"{first} and {second}" for first, second in pairs.values())


def _masks(scenes: Dataset, pairs: dict[str, tuple[str, str]], region: str, protocol: Protocol) -> dict[str, Mask]:
    from stereogauge.masks.scene_regions import SceneRegions

    masks = {}
    for first, _ in pairs.values():
        masks[first] = SceneRegions(scenes[first], protocol).mask(region)
        scenes[first].release()
    return masks


def _rows(table: pd.DataFrame, form: options.Format) -> list[dict[str, Any]]:
    """One dictionary a row; people get units in the headings, programs plain names."""
    units = UNITS if form in (options.Format.table, options.Format.latex) else {}
    named = table.astype({"count": "Int64"}).rename(columns={key: f"{key} {unit}" for key, unit in units.items()})
    return [{str(key): value for key, value in row.items()} for row in named.to_dict(orient="records")]


def _write(
    folder: Path,
    table: pd.DataFrame,
    results: Sequence[ResultSet],
    pairs: dict[str, tuple[str, str]],
    threshold: float,
    region: str | None,
) -> None:
    from stereogauge.figures.pictures import save_picture
    from stereogauge.io.files import load_disparity
    from stereogauge.study.figures import robustness_data
    from stereogauge.study.robustness import change_picture

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "robustness.csv").write_text(str(table.to_csv(index=False)), encoding="utf-8")
    (folder / "robustness.json").write_text(str(table.to_json(orient="records", indent=1)) + "\n", encoding="utf-8")
    figure = robustness_data(table, threshold=threshold, pixels=region or "the whole image")
    save_figures(folder, {"robustness": figure}, ("png", "svg", "html"))
    count = 0
    for result, (condition, both) in itertools.product(results, pairs.items()):
        if all(scene in result.maps for scene in both):
            maps = (load_disparity(result.maps[scene]) for scene in both)
            name = "".join("-" if letter in "/\\: " else letter for letter in f"{condition}-{result.name}")
            picture = change_picture(*maps, threshold=threshold)
            save_picture(folder / f"{name}.png", picture, f"{result.name}, {' → '.join(both)}")
            count += 1
    say(f"table, figure and {count} pictures in {folder}")
