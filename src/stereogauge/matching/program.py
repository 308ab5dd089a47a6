"""Running an outside program to its end or to a limit, on any system.

Unix tells processor time of children and can limit their memory; Windows does neither, and a memory limit is refused
there. Whatever the program has started ends with it.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from stereogauge.errors import MatcherError

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows
    resource = None

GIBIBYTE = 2**30
TAIL = 300
WATCH_SECONDS = 0.02
FIRST_LOOK_SECONDS = 0.001


class ProgramError(MatcherError):
    """An outside program that failed; `stderr` holds all that it wrote there."""

    def __init__(self, message: str, stderr: str) -> None:
        super().__init__(message)
        self.stderr = stderr


@dataclass(frozen=True)
class Usage:
    """What a program took: processor seconds with all that it started (NaN where the system does not tell), and its own
    largest memory in bytes.
    """

    cpu_seconds: float
    peak_memory: int | None
    stderr: str


def run_to_the_end(command: list[str], folder: str, time_limit: float, memory_limit: float) -> Usage:
    """Run to the end or to a limit of seconds and GiB; 0 GiB is no limit."""
    name = Path(command[0]).name
    before = _processor_seconds()
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                preexec_fn=_memory_limiter(memory_limit),
            )
        except OSError as error:
            raise MatcherError(f"cmd: cannot start {command[0]!r}: {error.strerror}.") from error
        try:
            peak = _watched(process, time_limit)
            expired = process.returncode is None
        finally:
            end_with_children(process)
        errors.seek(0)
        stderr = errors.read().decode(errors="replace")
    if expired:
        raise ProgramError(f"{name} was ended after its time limit of {time_limit:g} s{_tail(stderr)}", stderr)
    if process.returncode:
        limits = f" (memory limit {memory_limit:g} GiB)" if memory_limit > 0 else ""
        raise ProgramError(f"{name} failed {reason(process.returncode)}{limits}{_tail(stderr)}", stderr)
    return Usage(_processor_seconds() - before, peak, stderr)


def _memory_limiter(gibibytes: float) -> Callable[[], None] | None:
    """What the new process calls first, to limit its memory."""
    if gibibytes <= 0:
        return None
    if resource is None:
        raise MatcherError("cmd: this system cannot limit the memory of a program; leave memory_limit out.")
    limits, size = resource, int(gibibytes * GIBIBYTE)
    return lambda: limits.setrlimit(limits.RLIMIT_AS, (size, size))


def _processor_seconds() -> float:
    if resource is None:
        return math.nan
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(usage.ru_utime + usage.ru_stime)


def _watched(process: subprocess.Popen[bytes], time_limit: float) -> int | None:
    """Wait for the end or the limit, and read the program's largest memory on the way.

    None where the system does not tell.

    The kernel's own figure after the end would also count what our process held when it started the program. Looks come
    in growing steps, so that the last one lies near the end of a short program too.
    """
    deadline = time.monotonic() + time_limit
    peak: int | None = None
    pause = FIRST_LOOK_SECONDS
    while process.returncode is None and time.monotonic() < deadline:
        peak = largest_memory(process.pid) or peak
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(WATCH_SECONDS, 1.3 * pause)
    return peak


def largest_memory(process: int) -> int | None:
    """The largest memory in bytes of a process that runs; None where the system does not tell."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    return None


def end_with_children(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session of its own, and all that it started."""
    end_group: Callable[[int, int], None] | None = getattr(os, "killpg", None)
    if end_group is not None:
        with contextlib.suppress(ProcessLookupError):
            end_group(process.pid, signal.Signals["SIGKILL"].value)
    elif process.poll() is None:
        with contextlib.suppress(OSError):
            words = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        process.kill()
    process.wait()


def reason(code: int) -> str:
    """Why a process ended, from its return code."""
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def _tail(stderr: str) -> str:
    line = " ".join(stderr.split())
    return f"; its last words: {line[-TAIL:]}" if line else " and wrote nothing to standard error."
