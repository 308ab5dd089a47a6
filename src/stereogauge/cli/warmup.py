"""`stereogauge warmup`: compile every kernel now."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stereogauge.cli.output import say

if TYPE_CHECKING:
    from stereogauge.kernels.compiler import Compiled
    from stereogauge.model import Scene


def command(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what each compilation cost, the most expensive first.")
    ] = False,
) -> None:
    """Compile all kernels now instead of at first use; later runs take them from the cache."""
    from stereogauge.kernels.compiler import kernel_cache

    before = _compiled(kernel_cache())
    say("looking for kernels that are not compiled yet …" if before else "compiling kernels, once …")
    start = time.perf_counter()
    compilations = compile_all()
    seconds, made = time.perf_counter() - start, _compiled(kernel_cache()) - before
    if made:
        say(f"compiled in {seconds:.1f} s into {kernel_cache()}")
    else:
        say(f"all {before} kernels were compiled already, in {kernel_cache()}")
    if verbose:
        _show(compilations)


def _compiled(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.nbc"))


def _show(compilations: list[Compiled]) -> None:
    """Print the seconds of processor time of each compilation, without what it compiled besides."""
    for one in sorted(compilations, key=lambda one: -one.seconds):
        typer.echo(f"{one.seconds:7.2f} s  {one.function}  ({one.types})")
    typer.echo(f"{sum(one.seconds for one in compilations):7.2f} s  in {len(compilations)} compilations")


def compile_all() -> list[Compiled]:
    """Bring all kernels into the cache, in one process for each of two parts where there are two processors.

    Numba compiles one function at a time in a process.
    """
    import os

    from stereogauge.evaluation.executors import LocalProcesses

    if (os.cpu_count() or 1) < 2:
        return [*compile_evaluation(), *compile_matching()]
    with LocalProcesses(1) as other:
        waiting = other.submit(compile_matching)
        return [*compile_evaluation(), *waiting.result()]


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


def compile_evaluation() -> list[Compiled]:
    """Measure everything on a tiny scene, so that the kernels of metrics and geometry lie in the cache."""
    import numpy as np

    import stereogauge as sg
    from stereogauge.kernels.compiler import compilations
    from stereogauge.metrics.declaration import metrics

    scene = _tiny_scene()
    everything = [
        m.examples[0] if m.examples else m.id
        for m in metrics().values()
        if all(p.default is not None for p in m.parameters) or m.examples
    ]
    for invalid in ("count", "fill"):
        protocol = sg.load_protocol().replace(invalid=invalid)
        sg.evaluate(scene.gt + np.float32(1), scene, everything, ["all", "nonocc", "disc"], protocol=protocol)
    return compilations.finished


def compile_matching() -> list[Compiled]:
    """Match a tiny pair, so that the kernels of matcher, confidence measures and occlusion rules lie in the cache."""
    import stereogauge as sg
    from stereogauge.confidence.sparsification import sparsify
    from stereogauge.kernels.compiler import compilations

    scene = _tiny_scene()
    for rule in ("middlebury-v2", "bidirectional", "z-buffer"):
        sg.regions(scene, ["nonocc", "boundary"], rule=rule)
    matched = sg.match(scene.left, scene.right, matcher="sgm", ndisp=16)
    maps = sg.confidence(matched, ["product"])
    sparsify(maps["product"], matched.disparity, scene.gt)
    return compilations.finished
