"""The machine that a run was made on, and how busy it was with other work."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from stereogauge.kernels.library import compiler, level
from stereogauge.version import VERSION

PACKAGES = ("numpy", "opencv-python-headless", "scipy", "pandas", "pymoo")
TELLING = ("avx2", "fma", "avx512f", "avx512bw", "avx512vbmi", "neon", "sve")
BUSY = 0.1  # share of all cores that others may use before a run says so
ROOT = Path(__file__).resolve().parents[1]


def machine() -> dict[str, Any]:
    """Processor, features, cores, memory, versions, and the load before the run."""
    return {
        "processor": processor(),
        "features": features(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else [],
        "busy": psutil.cpu_percent(interval=0.3) / 100,
    }


def processor() -> str:
    """The name that the processor gives itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def features() -> list[str]:
    """The vector instructions of the processor, where the system tells them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features"))), [])
    return [name for name in TELLING if name in flags or (name == "neon" and "asimd" in flags)]


def wide() -> bool:
    """Whether kernels use AVX-512, for goals that differ."""
    return level() in ("v4", "v4b")


def versions() -> dict[str, str]:
    """Python, this package with its commit, and what it is measured against."""
    found = {"python": platform.python_version(), "stereogauge": VERSION, "kernels": f"{compiler().strip()}, {level()}"}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        found["commit"] = done.stdout.strip()
    return found


def describe(facts: dict[str, Any]) -> str:
    """One line for the terminal and the page."""
    names = ", ".join(feature.upper().replace("AVX512", "AVX-512 ") for feature in facts["features"]) or "no AVX2"
    kernels = facts["versions"].get("kernels", "unknown")
    machine_text = (
        f"{facts['processor']} ({names}), {facts['cores']} cores, {facts['memory_gb']:g} GB, {facts['system']}"
    )
    return f"{machine_text}; kernels by {kernels}"


def warning(facts: dict[str, Any]) -> str:
    """A sentence when other work would be measured too; empty otherwise."""
    if facts["busy"] <= BUSY:
        return ""
    return f"The machine is busy: others use {100 * facts['busy']:.0f} % of its cores; ratios will be noisy."


class Others:
    """Processor time that others took from the machine since this was made."""

    def __init__(self) -> None:
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float, float]:
        """Busy, own, stolen and all seconds so far, over all cores."""
        times = psutil.cpu_times()
        stolen = getattr(times, "steal", 0.0)
        idle = times.idle + getattr(times, "iowait", 0.0)
        # Guest time is already part of user and nice.
        every = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        own = os.times()
        return every - idle - stolen, sum(own[:4]), stolen, every

    def shares(self) -> dict[str, float]:
        """Of all cores: `others` by other processes, `stolen` by other machines on the same host."""
        busy, own, stolen, every = (now - then for now, then in zip(self._now(), self._start, strict=True))
        whole = max(every, 1e-9)
        return {"others": max(0.0, (busy - own) / whole), "stolen": max(0.0, stolen / whole)}
