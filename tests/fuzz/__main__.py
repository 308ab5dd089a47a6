"""Random input for everything that reads what strangers send: `make fuzz`, or `python -m tests.fuzz --seconds 600`.

One target per encoding of maps, one for archives, one for the API's parameters and one for uploads. Reading happens in
a limited process; what ends it, or raises anything but our own errors, is a finding and is kept as a file. A file that
is worth keeping becomes a test: put it into tests/io/crashes.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from tests.fuzz.targets import TARGETS, Finding, Target


class Outcome(NamedTuple):
    """Inputs tried on one target, and what was found."""

    tried: int
    findings: list[Finding]


def run(target: Target, seconds: float, seed: int, folder: Path) -> Outcome:
    """Try random inputs on one target for so long."""
    chance = random.Random(f"{target.name} {seed}")
    tried, findings = 0, []
    with target.opened(folder) as attempt:
        end = time.monotonic() + seconds
        while time.monotonic() < end or not tried:
            batch = target.inputs(chance)
            tried += len(batch)
            findings += attempt(batch)
    return Outcome(tried, findings)


def main() -> int:
    """Run all targets, print what was tried and found; returns the number of findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="For all targets together.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", choices=[target.name for target in TARGETS], help="Only these targets.")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-findings"), help="Where findings are written.")
    asked = parser.parse_args()
    total = 0
    chosen = [target for target in TARGETS if asked.only is None or target.name in asked.only]
    for target in chosen:
        with tempfile.TemporaryDirectory() as folder:
            outcome = run(target, asked.seconds / len(chosen), asked.seed, Path(folder))
        sys.stdout.write(f"{target.name}: {outcome.tried} inputs, {len(outcome.findings)} findings\n")
        sys.stdout.flush()
        total += len(outcome.findings)
        for finding in outcome.findings[:5]:
            sys.stdout.write(f"  {finding.what}\n")
            asked.keep.mkdir(parents=True, exist_ok=True)
            name = f"{target.name}-{hashlib.sha256(finding.data).hexdigest()[:12]}"
            (asked.keep / name).write_bytes(finding.data)
    sys.stdout.write(f"{total} findings\n")
    return min(total, 1)


if __name__ == "__main__":
    sys.exit(main())
