"""A part of the kernel tests with a library that checks every access; `make test-all` runs all of them so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PART = ["edges", "error_bins", "planes", "views"]


@pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers are preloaded as on Linux")
@pytest.mark.skipif("asan" in os.environ.get("LD_PRELOAD", ""), reason="the sanitizers are loaded already")
def test_kernels_access_their_arguments_only() -> None:
    words = ["scripts/sanitize.sh", sys.executable, *PART]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
    if "skipped: " in done.stderr:
        pytest.skip(done.stderr.strip().removeprefix("skipped: "))
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
