"""`stereogauge warmup`: compile every kernel now."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli.output import progress, say

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereogauge.confidence_measures.learned import Trees
    from stereogauge.disparity import DisparityMap
    from stereogauge.kernels.compiler import Compiled
    from stereogauge.model import Scene

ON_GEOMETRY = ("discontinuity", "fine", "planar", "surfaces")
"""Modules of metrics whose pixels are found in the geometry of the ground truth."""

RARE_METRICS = ("surfaces", "view_prediction")
"""Modules of metrics that few need."""

WITHOUT_KERNELS = ("point_cloud",)
"""Modules of metrics that compile nothing, but import SciPy's trees."""

RARE = ("confidence_trees", "confidence_windows", "direction_histogram", "render", "splat", "warp_view")
"""Modules of kernels that few need."""

COUNTED_EVERY = 0.2
"""Seconds."""


def command(
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what each compilation cost, the most expensive first.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Compile also what few need: rendered scenes and views, directions, confidence beyond the paper's.",
        ),
    ] = False,
) -> None:
    """Compile kernels now instead of at first use; later runs take them from the cache."""
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with one thread can be copied

    from stereogauge.kernels.compiler import kernel_cache, kernel_target

    folder = kernel_cache()
    complete = folder / f"complete-{'all-' * everything}{kernel_target()}"
    before = _compiled(folder)
    compilations: list[Compiled] = []
    start = time.perf_counter()
    marked = complete.read_text() if complete.exists() else ""
    if not marked.isdecimal() or before < int(marked):
        say("looking for kernels that are not compiled yet …" if before else "compiling kernels, once …")
        with _second_process() as other, _counted(folder, () if everything else RARE):
            compilations = compile_all(other, everything=everything)
        complete.write_text(str(_compiled(folder)))
    if _compiled(folder) > before:
        say(f"compiled in {time.perf_counter() - start:.1f} s into {folder}")
    else:
        say(f"all {before} kernels were compiled already, in {folder}")
    if verbose:
        _show(compilations)


@contextlib.contextmanager
def _counted(folder: Path, without: tuple[str, ...]) -> Iterator[None]:
    """Show how many kernels are in the cache while others are compiled, those of some modules left out."""
    from stereogauge.kernels.jit import kernel_count

    shown, ended = progress("kernels", "compile"), threading.Event()
    before = _compiled(folder)
    total = max(kernel_count(without) - before, 0)

    def count() -> None:
        done = 0
        while not ended.wait(COUNTED_EVERY):
            now = min(_compiled(folder) - before, total)  # some are compiled in two forms
            shown.advance(now - done, 0)
            done = now

    shown.start(total, before)
    counting = threading.Thread(target=count, daemon=True)
    counting.start()
    try:
        yield
    finally:
        ended.set()
        counting.join()
        shown.finish()


def _compiled(folder: Path) -> int:
    return sum(1 for _ in folder.glob("*.nbc"))


def _show(compilations: list[Compiled]) -> None:
    """Print the seconds of processor time of each compilation, without what it compiled besides."""
    for one in sorted(compilations, key=lambda one: -one.seconds):
        typer.echo(f"{one.seconds:7.2f} s  {one.function}  ({one.types})")
    typer.echo(f"{sum(one.seconds for one in compilations):7.2f} s  in {len(compilations)} compilations")


@contextlib.contextmanager
def _second_process() -> Iterator[Executor | None]:
    """Another process where there are two processors, a copy of this one if possible; ended at once by an error here.

    Numba compiles one function at a time in a process. A copy has loaded already what both need: 0.7 s.
    """
    from stereogauge.evaluation.processes import LocalProcesses, can_copy

    if (os.cpu_count() or 1) < 2:
        yield None
        return
    _prepare()
    with LocalProcesses(1, copied=can_copy()) as other:
        try:
            yield other
        except BaseException:
            other.shutdown(cancel_futures=True)
            raise


def _prepare() -> None:
    """Import what both parts need, and load what Numba needs to compile."""
    import importlib

    from stereogauge.kernels.compiler import interrupts_later
    from stereogauge.kernels.jit import kernel_count
    from stereogauge.kernels.shortcuts import load_implementations
    from stereogauge.metrics.registry import metrics

    for name in ("cv2", "stereogauge.evaluation.evaluate"):
        importlib.import_module(name)
    metrics()
    kernel_count()
    with interrupts_later():
        load_implementations()


def compile_all(other: Executor | None, *, everything: bool = False) -> list[Compiled]:
    """Bring kernels into the cache, one of two parts in the other process where there is one.

    The parts take about as long and have hardly a kernel in common.
    """
    if other is None:
        compile_scenes(everything=everything)
        return compile_maps(everything=everything)
    waiting = other.submit(compile_scenes, everything=everything)
    return [*compile_maps(everything=everything), *waiting.result()]


def compile_scenes(*, everything: bool) -> list[Compiled]:
    """What finds the geometry of a scene and measures a map on it; all compilations so far."""
    import stereogauge as sg
    from stereogauge.datasets.synthetic import load_synthetic
    from stereogauge.kernels.compiler import compilations

    scene = _tiny_scene()
    sg.evaluate(_estimate(scene), scene, _metrics(geometry=True, rare=everything), ["all"])
    if everything:
        rendered = next(iter(load_synthetic(size=(32, 48))))
        for name in rendered.masks:
            rendered.mask(name)
    return compilations.finished


def compile_maps(*, everything: bool) -> list[Compiled]:
    """What measures a map pixel by pixel, occlusions by every rule, matching, confidence; all compilations so far."""
    import stereogauge as sg
    from stereogauge.confidence_measures.sparsification import sparsify
    from stereogauge.kernels.compiler import compilations
    from stereogauge.matching.preparation import prepare_checks

    scene = _tiny_scene()
    estimate, usual = _estimate(scene), sg.load_protocol()
    sg.evaluate(estimate, scene)
    for invalid in ("count", "fill"):
        chosen = usual.replace(invalid=invalid)
        metrics = _metrics(geometry=False, rare=everything)
        sg.evaluate(estimate, scene, metrics, ["all", "nonocc", "disc"], protocol=chosen)
    sg.evaluate(estimate, scene, ["sze"], ["all"], protocol=usual.replace(**{"sigma_z.literal": True}))
    for rule in ("middlebury-v2", "bidirectional", "z-buffer"):
        sg.regions(scene, ["nonocc", "boundary"], rule=rule)
    matched = sg.match(scene.left, scene.right, matcher="sgm", ndisp=16)
    prepare_checks()
    product = sg.confidence(matched, ["product"])["product"]
    sparsify(product, matched.disparity, scene.gt)
    if everything:
        sg.evaluate(estimate, _tiny_scene(further_view=True), ["view-mse"], ["all"])
        sg.confidence(matched, _measures())
        _one_leaf().score({"product": product})
    return compilations.finished


def _tiny_scene(*, further_view: bool = False) -> Scene:
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
        views={0.5: left} if further_view else None,
    )


def _measures() -> list[str]:
    """Every confidence measure that needs nothing but a match."""
    from stereogauge.confidence_measures.declaration import confidence_measures

    return [name for name, measure in confidence_measures().items() if not measure.needs & {"gt", "model"}]


def _one_leaf() -> Trees:
    """The smallest model of the learned combination."""
    import numpy as np

    from stereogauge.confidence_measures.learned import ARRAYS, Trees

    arrays: dict[str, Any] = {name: np.zeros(1, kind) for name, kind in ARRAYS.items()}
    arrays["feature"][0] = -1
    return Trees(features=("product",), baseline=0.0, facts={}, **arrays)


def _estimate(scene: Scene) -> DisparityMap:
    import numpy as np

    return scene.gt + np.float32(1)


def _metrics(*, geometry: bool, rare: bool) -> list[str]:
    """Every metric that needs no choice of a parameter, of those on geometry or of the others; rare ones or not."""
    from stereogauge.metrics.registry import metrics

    chosen = []
    for metric in metrics().values():
        module = metric.function.__module__.rpartition(".")[2]
        complete = metric.examples or all(parameter.default is not None for parameter in metric.parameters)
        left_out = WITHOUT_KERNELS if rare else (*WITHOUT_KERNELS, *RARE_METRICS)
        if complete and (module in ON_GEOMETRY) == geometry and module not in left_out:
            chosen.append(metric.examples[0] if metric.examples else metric.id)
    return chosen
