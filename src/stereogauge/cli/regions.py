"""`stereogauge regions`: regions of a scene or dataset, counted and drawn."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from msgspec import Struct
from msgspec.structs import asdict

from stereogauge.cli import options
from stereogauge.cli.output import print_rows, print_tables, say, step_bar
from stereogauge.cli.running import chosen_scenes
from stereogauge.datasets import families
from stereogauge.errors import DatasetError, NotApplicable, StereogaugeError
from stereogauge.figures.geometry import write_directions, write_regions
from stereogauge.io.files import DisparityFile
from stereogauge.masks.declaration import declared_regions
from stereogauge.masks.expression import parse_region
from stereogauge.masks.geometric import PARTS
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import Mask, Scene
from stereogauge.tables.table import Cell, table
from stereogauge.text import shortened


class RegionCount(Struct, frozen=True):
    """One region of one scene; `share` is that of the known pixels in percent, `note` says why there are none."""

    scene: str
    region: str
    pixels: int | None = None
    share: float | None = None
    note: str = ""

    @property
    def shown(self) -> Cell:
        """Pixels and share in one cell."""
        share = "" if self.share is None else f"{self.pixels} ({self.share:.1f} %)"
        return Cell(self.pixels, share)


def command(
    source: Annotated[
        str, typer.Argument(metavar="DATASET[:ROOT]|GT", help="A dataset, or the ground truth of one scene.")
    ],
    measured: Annotated[options.Measured, options.without("metrics", "regions")],
    files: Annotated[options.Files, options.only(options.Files, "encoding", "scale")],
    scenes: options.Scenes = None,
    regions: Annotated[list[str] | None, "Regions; repeat or separate by commas. Default: all that there are."] = None,
    planes: Annotated[Path | None, "Label image of planar regions (0 = none) instead of the search; one scene."] = None,
    left: Annotated[str | None, "Left image of a single scene, to draw over."] = None,
    nonocc: Annotated[str | None, "Mask of visible pixels of a single scene, white = visible."] = None,
    resolution: Annotated[
        float | None, "Size of a single scene relative to full resolution; by default the image width / 3000."
    ] = None,
    estimate: Annotated[
        list[str] | None, "A map of the one scene, NAME=FILE: its gradient directions are drawn; repeatable."
    ] = None,
    layers: Annotated[
        list[str] | None,
        "Pictures of sets and of the steps to them for --out, e.g. normals,gradient,extrapolated-background; "
        "repeat or separate by commas. Default: all.",
    ] = None,
    proportions: Annotated[bool, "Count exclusive parts, and print their shares for `answer --proportions`."] = False,
    form: options.OutputFormat = options.Format.table,
    out: options.OutputFolder = None,
) -> None:
    """Show the pixel sets of a scene as counts and pictures.

    Prints how many pixels each region has. --out writes one folder per scene: every region over the image, depth
    discontinuities with their bands, fine structures, planes with normals, extrapolated maps, the steps to these sets
    (gradient, turn of its direction, thin runs), and all of it as NumPy arrays. A region that a scene cannot have is a
    gap with the reason.
    """
    chosen = measured.choice
    found = _scenes(source, scenes, left, nonocc, files.encoding, files.scale, resolution)
    if (planes is not None or estimate) and len(found) != 1:
        raise StereogaugeError(
            f"--planes and --estimate belong to one scene; found {len(found)}: choose one with --scenes."
        )
    if planes is not None:
        found = [copy.copy(found[0])]
        found[0].metadata = {**found[0].metadata, "planes": planes}
    maps = options.named_files(estimate)
    options.check_files(maps.values())
    rows: list[RegionCount] = []
    with step_bar() as show:
        for place, scene in enumerate(found):
            show(scene.id, place, len(found))
            scene_regions = SceneRegions(scene, chosen)
            masks = _masks(scene_regions, list(PARTS) if proportions else options.listed(regions), rows)
            if out is not None:
                write_regions(out / scene.id, scene_regions, masks, options.listed(layers))
                if maps:
                    write_directions(out / scene.id, scene_regions, maps)
            scene.release()
    if form in (options.Format.json, options.Format.csv):
        print_rows([asdict(row) for row in rows], form)
    else:
        names = list(dict.fromkeys(row.scene for row in rows))
        cells = {(row.region, row.scene): row.shown for row in rows}
        regions_of = dict.fromkeys(row.region for row in rows)
        lines = [[region, *(cells.get((region, name)) for name in names)] for region in regions_of]
        print_tables([table("regions", "", ["region", *names], lines)], form, boxed=False)
    if proportions:
        # The mean share of each part over the scenes, as `answer --proportions` takes it.
        shares: dict[str, list[float]] = {}
        for row in rows:
            shares.setdefault(row.region.removeprefix("part-"), []).append((row.share or 0.0) / 100)
        say(f"--proportions {','.join(f'{name}={sum(own) / len(own):.3f}' for name, own in shares.items())}")
    if form is options.Format.table:
        say(f"pixels and their share of the known ones; protocol {chosen.name} {chosen.hash}")
        reasons: dict[str, list[str]] = {}
        for row in rows:
            if row.note:
                reasons.setdefault(row.note, []).append(f"{row.region} of {row.scene}")
        for reason, places in reasons.items():
            say(f"note: {reason} ({shortened(places, 3)})")
        if out is not None:
            say(f"pictures and arrays in {out}")


def _scenes(
    source: str,
    wanted: list[str] | None,
    left: str | None,
    nonocc: str | None,
    encoding: str | None,
    scale: float | None,
    resolution: float | None,
) -> list[Scene]:
    if source.partition(":")[0] in families():
        return list(chosen_scenes(source, wanted))
    if not Path(source).is_file():
        raise DatasetError(
            f"{source} is neither a known dataset nor a file; known are: {', '.join(families())}. "
            "Write DATASET:FOLDER, or give the ground truth of one scene."
        )
    truth = DisparityFile(source, encoding=encoding, scale=scale)
    masks = {} if nonocc is None else {"nonocc": nonocc}
    path = Path(source)
    scene = Scene(path.parent.name or path.stem, gt=truth, left=left, masks=masks, resolution=resolution)
    options.check_images(scene)
    return [scene]


def _masks(scene_regions: SceneRegions, wanted: list[str] | None, rows: list[RegionCount]) -> dict[str, Mask]:
    """The regions of one scene; what it cannot have is noted in the rows."""
    scene = scene_regions.scene
    alone = [name for name, declared in declared_regions().items() if declared.complete]
    known = int(np.count_nonzero(scene_regions.known))
    masks: dict[str, Mask] = {}
    for name in wanted or dict.fromkeys([*alone, *scene.masks]):
        try:
            if reason := _lacking(scene, name):
                raise NotApplicable(reason)
            masks[name] = scene_regions.mask(name)
        except NotApplicable as refusal:
            rows.append(RegionCount(scene.id, name, note=str(refusal)))
        else:
            pixels = int(np.count_nonzero(masks[name]))
            rows.append(RegionCount(scene.id, name, pixels, 100 * pixels / known if known else None))
    return masks


def _lacking(scene: Scene, name: str) -> str:
    """Which part of the scene a region needs and the scene has not."""
    declared = [declared_regions().get(part.name) for part in parse_region(name, scene.masks).parts]
    for need in sorted(need for region in declared if region for need in region.needs):
        if need in ("gt", "gt_right", "left", "right") and not scene.has(need):
            return f"the scene has no {need}"
        if need == "calibration" and not scene.calibration.metric:
            return "the scene has no calibration"
        if need.startswith("mask:") and need[5:] not in scene.masks:
            return f"the scene has no mask {need[5:]!r}"
    return ""
