"""Memory: how many workers fit into it, and how much a call took at its peak."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType

from stereogauge.errors import StereogaugeError
from stereogauge.io.remote import RemotePath
from stereogauge.model import Scene
from stereogauge.store.sources import paths_of

BYTES_PER_PIXEL = 200
"""What a worker holds for a pixel of its scene at most, measured with all metrics at 2964 × 1988 (docs/scale.md)."""
BYTES_PER_WORKER = 350 * 2**20
"""What a worker holds before it has read anything: the interpreter, NumPy, OpenCV and the kernels."""
SHARE = 0.9
"""The part of the free memory that workers may take."""


def free_memory() -> int | None:
    """Bytes that can be had without swapping, within a container's limit too; None where the system does not say."""
    available = _stated("/proc/meminfo", "MemAvailable:")
    return min((amount for amount in (available, _container_room()) if amount is not None), default=None)


def _stated(path: str, name: str) -> int | None:
    """The bytes that a file of the system states in kB under a name; None where it does not."""
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)


def _container_room() -> int | None:
    group = Path("/sys/fs/cgroup")
    try:
        limit = (group / "memory.max").read_text(encoding="ascii").strip()
        used = int((group / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used)


def largest_scene(scenes: list[Scene]) -> int:
    """The pixels of the scene whose ground truth (or left image) has the largest file; 0 when it cannot be read."""
    height, width = largest_shape(scenes)
    return height * width


def largest_shape(scenes: list[Scene]) -> tuple[int, int]:
    """Height and width of that scene."""
    largest = max(scenes, key=_file_size)
    try:
        shape = largest.shape
    except StereogaugeError:
        return 0, 0
    largest.release()
    return shape


def _file_size(scene: Scene) -> int:
    source, total = scene.source("gt") if scene.has("gt") else scene.source("left"), 0
    for path in paths_of(source):
        if isinstance(path, RemotePath):
            total += path.entry.size if path.entry else 0
        elif os.path.exists(path):
            total += os.path.getsize(path)
    return total or getattr(source, "nbytes", 0)


def fitting_workers(wanted: int, pixels: int, free: int | None, matching: int = 0) -> int:
    """At most `wanted` workers, at least one; `matching` are the bytes of a matcher that they run."""
    if free is None:
        return wanted
    each = BYTES_PER_WORKER + max(BYTES_PER_PIXEL * pixels, matching)
    return max(1, min(wanted, int(free * SHARE) // each))


OWN_STATUS = "/proc/self/status"
RESET_PEAK = "5"
"""Written to clear_refs, it sets the peak of this process back to what it uses now (Linux, proc(5))."""


class PeakMemory:
    """`with PeakMemory() as peak: …; peak.bytes` is the growth of this process's resident memory; None elsewhere than
    on Linux.
    """

    bytes: int | None = None

    def __enter__(self) -> PeakMemory:
        self._before: int | None = None
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text(RESET_PEAK, encoding="ascii")
            self._before = _stated(OWN_STATUS, "VmRSS:")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        peak = _stated(OWN_STATUS, "VmHWM:")
        if self._before is not None and peak is not None:
            self.bytes = max(0, peak - self._before)
