"""What it cost to make the map, where that is known."""

from __future__ import annotations

from stereogauge.metrics.declaration import Metric, Statistic
from stereogauge.metrics.measurement import Measurement
from stereogauge.metrics.pooling import mean


def _fact(key: str, what: str) -> Metric:
    def compute(m: Measurement, region: str) -> Statistic:
        if key not in m.extras:
            return Statistic.empty(f"{what} is not known")
        return Statistic(float(m.extras[key]), 1, 0)

    compute.__doc__ = f"{what} of the matcher on this scene, as measured or as the submission states it."
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
