"""`stereogauge warmup`: compile every kernel now."""

from __future__ import annotations

import time
from pathlib import Path

from stereogauge.cli.output import say


def command() -> None:
    """Compile all kernels now instead of at first use; later runs take them from the cache."""
    from stereogauge.kernels.jit import kernel_cache

    before = _compiled(kernel_cache())
    say("looking for kernels that are not compiled yet …" if before else "compiling kernels, once …")
    start = time.perf_counter()
    compile_all()
    seconds, made = time.perf_counter() - start, _compiled(kernel_cache()) - before
    if made:
        say(f"compiled in {seconds:.1f} s into {kernel_cache()}")
    else:
        say(f"all {before} kernels were compiled already, in {kernel_cache()}")


def _compiled(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.nbc"))


def compile_all() -> None:
    """Run evaluation, matching and confidence on a tiny scene, so that their kernels lie in the cache."""
    import numpy as np

    import stereogauge as sg
    from stereogauge.confidence.sparsification import sparsify
    from stereogauge.metrics.declaration import metrics

    rng = np.random.default_rng(0)
    left = rng.integers(0, 255, (64, 96), np.uint8)
    right = np.roll(left, -4, axis=1)
    truth = np.full(left.shape, 4, np.float32)
    truth[20:40, 40:60] = 12
    scene = sg.Scene(
        "tiny", gt=truth, left=left, right=right, gt_right=truth, calibration=sg.Calibration(100, 0.1, 0, 16)
    )
    everything = [
        m.examples[0] if m.examples else m.id
        for m in metrics().values()
        if all(p.default is not None for p in m.parameters) or m.examples
    ]
    for invalid in ("count", "fill"):
        protocol = sg.load_protocol().replace(invalid=invalid)
        sg.evaluate(truth + 1, scene, everything, ["all", "nonocc", "disc"], protocol=protocol)
    for rule in ("middlebury-v2", "bidirectional", "z-buffer"):
        sg.regions(scene, ["nonocc", "boundary"], rule=rule)
    matched = sg.match(left, right, matcher="sgm", ndisp=16)
    maps = sg.confidence(matched, ["product"])
    sparsify(maps["product"], matched.disparity, truth)
