"""`stereogauge warmup`: compile every kernel now."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli.output import say

if TYPE_CHECKING:
    from stereogauge.disparity import DisparityMap
    from stereogauge.kernels.compiler import Compiled
    from stereogauge.model import Scene

ON_GEOMETRY = ("directions", "discontinuity", "fine", "planar")
"""Modules of metrics whose pixels are found in the geometry of the ground truth."""


def command(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what each compilation cost, the most expensive first.")
    ] = False,
) -> None:
    """Compile all kernels now instead of at first use; later runs take them from the cache."""
    from stereogauge.kernels.compiler import kernel_cache, kernel_target

    folder, complete = kernel_cache(), kernel_cache() / f"complete-{kernel_target()}"
    before = _compiled(folder)
    compilations: list[Compiled] = []
    start = time.perf_counter()
    marked = complete.read_text() if complete.exists() else ""
    if not marked.isdecimal() or before < int(marked):
        say("looking for kernels that are not compiled yet …" if before else "compiling kernels, once …")
        compilations = compile_all()
        complete.write_text(str(_compiled(folder)))
    if _compiled(folder) > before:
        say(f"compiled in {time.perf_counter() - start:.1f} s into {folder}")
    else:
        say(f"all {before} kernels were compiled already, in {folder}")
    if verbose:
        _show(compilations)


def _compiled(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.nbc"))


def _show(compilations: list[Compiled]) -> None:
    """Print the seconds of processor time of each compilation, without what it compiled besides."""
    for one in sorted(compilations, key=lambda one: -one.seconds):
        typer.echo(f"{one.seconds:7.2f} s  {one.function}  ({one.types})")
    typer.echo(f"{sum(one.seconds for one in compilations):7.2f} s  in {len(compilations)} compilations")


def compile_all() -> list[Compiled]:
    """Bring all kernels into the cache, in one process for each of two parts where there are two processors.

    Numba compiles one function at a time in a process. The parts take about as long and have hardly a kernel in common.
    """
    import os

    from stereogauge.evaluation.executors import LocalProcesses

    if (os.cpu_count() or 1) < 2:
        return [*compile_geometry(), *compile_rest()]
    with LocalProcesses(1) as other:
        waiting = other.submit(compile_geometry)
        return [*compile_rest(), *waiting.result()]


def _tiny_scene() -> Scene:
    """A scene on which every kernel has something to do, but little."""
    import numpy as np

    import stereogauge as sg

    left = np.random.default_rng(0).integers(0, 255, (64, 96), np.uint8)
    truth = np.full(left.shape, 4, np.float32)
    truth[20:40, 40:60] = 12
    truth[0, 0] = 0
    return sg.Scene(
        "tiny",
        gt=truth,
        left=left,
        right=np.roll(left, -4, axis=1),
        gt_right=truth,
        calibration=sg.Calibration(100, 0.1, 0, 16),
    )


def compile_geometry() -> list[Compiled]:
    """Measure a tiny scene by the metrics whose pixels are found in its geometry."""
    import stereogauge as sg
    from stereogauge.kernels.compiler import compilations

    scene = _tiny_scene()
    sg.evaluate(_estimate(scene), scene, _metrics(geometry=True), ["all"])
    return compilations.finished


def compile_rest() -> list[Compiled]:
    """Measure it by all other metrics; match it, with confidence, and find its occlusions by every rule."""
    import stereogauge as sg
    from stereogauge.confidence.sparsification import sparsify
    from stereogauge.kernels.compiler import compilations

    scene = _tiny_scene()
    for invalid in ("count", "fill"):
        protocol = sg.load_protocol().replace(invalid=invalid)
        chosen = _metrics(geometry=False)
        sg.evaluate(_estimate(scene), scene, chosen, ["all", "nonocc", "disc"], protocol=protocol)
    for rule in ("middlebury-v2", "bidirectional", "z-buffer"):
        sg.regions(scene, ["nonocc", "boundary"], rule=rule)
    matched = sg.match(scene.left, scene.right, matcher="sgm", ndisp=16)
    maps = sg.confidence(matched, ["product"])
    sparsify(maps["product"], matched.disparity, scene.gt)
    return compilations.finished


def _estimate(scene: Scene) -> DisparityMap:
    import numpy as np

    return scene.gt + np.float32(1)


def _metrics(*, geometry: bool) -> list[str]:
    """Every metric that needs no choice of a parameter, of those on geometry or of the others."""
    from stereogauge.metrics.declaration import metrics

    return [
        m.examples[0] if m.examples else m.id
        for m in metrics().values()
        if (m.examples or all(p.default is not None for p in m.parameters))
        and (m.compute.__module__.rpartition(".")[2] in ON_GEOMETRY) == geometry
    ]
