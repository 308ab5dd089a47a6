"""How much memory a call took at its peak, where the system can tell."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import TracebackType

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
            self._before = _status("VmRSS:")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            self.bytes = max(0, _status("VmHWM:") - self._before)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {field}")
