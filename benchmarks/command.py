"""Commands in processes of their own: what one costs from start to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LAUNCHER = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "seconds": seconds, "processor": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss * 1024,
    "code": done.returncode, "errors": done.stderr.decode(errors="replace")[-1000:],
}))
"""
"""Starts the command from a small process, since the peak of a process counts what its parent held at the fork."""


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, seconds of processor time with all children, bytes of the largest process."""

    seconds: float
    processor: float
    memory: float


def run_command(*words: str, environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command line to its end; one that fails is an error of the benchmark."""
    launch = [sys.executable, "-I", "-S", "-c", LAUNCHER, *words]
    surroundings = {**os.environ, **(environment or {})}
    # Users have compiled modules; without this, ours alone would be compiled at every start, and no library's.
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(launch, capture_output=True, text=True, check=True, env=surroundings)
    found = json.loads(done.stdout)
    if found.pop("code"):
        raise RuntimeError(f"{' '.join(words)} failed: {found['errors'].strip()}")
    found.pop("errors")
    return Cost(**found)


def python(*words: str, environment: Mapping[str, str] | None = None) -> Cost:
    """Run this interpreter."""
    return run_command(sys.executable, *words, environment=environment)


def stereogauge(*words: str | Path, environment: Mapping[str, str] | None = None) -> Cost:
    """Run the command line of this package."""
    return python("-m", "stereogauge", *map(str, words), environment=environment)


def imported(*words: str | Path, among: tuple[str, ...]) -> list[str]:
    """Which of these libraries a command of this package imports."""
    program = (
        "import sys\nfrom stereogauge.cli import main\n"
        "try:\n    main(sys.argv[2:])\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print('imported:', *(set(sys.argv[1].split(',')) & set(sys.modules)))"
    )
    launch = [sys.executable, "-c", program, ",".join(among), *map(str, words)]
    done = subprocess.run(launch, capture_output=True, text=True, check=True)
    return sorted(done.stdout.splitlines()[-1].split()[1:])
