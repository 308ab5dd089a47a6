"""What it cost to make the map, where that is known."""

from __future__ import annotations

from collections.abc import Mapping

from stereogauge.metrics.declaration import Metric, Statistic
from stereogauge.metrics.measurement import Fact, Measurement
from stereogauge.metrics.pooling import mean


def _conditions(extras: Mapping[str, Fact]) -> str:
    """What a measured run depends on, for example "640×480, 64 disparities, 1 thread, AMD EPYC 7B12"."""
    threads = extras.get("threads")
    parts = [f"{extras['width']}×{extras['height']}", f"{extras['ndisp']} disparities"]
    if threads is not None:
        parts.append(f"{threads} thread" + ("" if threads == 1 else "s"))
    return ", ".join([*parts, str(extras["processor"])])


def _fact(key: str, what: str) -> Metric:
    def compute(m: Measurement, region: str) -> Statistic:
        if key not in m.extras:
            return Statistic.empty(f"{what} is not known")
        return Statistic(float(m.extras[key]), 1, 0, _conditions(m.extras) if "processor" in m.extras else "")

    compute.__doc__ = (
        f"{what} of the matcher on this scene, as measured or as the submission states it. Measured without loading "
        "and compiling; the note of the score says processor, threads, image size and number of disparities."
    )
    unit = "MiB" if key == "peak_memory" else "s"
    return Metric(
        id=key.replace("_", "-"),
        name=what,
        formula=r"t" if unit == "s" else r"\max_t M(t)",
        unit=unit,
        source="measured, or timeALG.txt as in Middlebury v3",
        compute=compute,
        missing="not about pixels",
        counts="runs",
        needs=frozenset({key}),
        region="scene",
        finalize=mean,
    )


seconds = _fact("seconds", "Run time")
cpu_seconds = _fact("cpu_seconds", "CPU time")
peak_memory = _fact("peak_memory", "Peak memory")
