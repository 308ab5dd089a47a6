"""Fixtures that several test folders share, and the count of tests that real data would have run."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from tests.object_store import object_store, object_store_server
from tests.postgres import postgres, postgres_server, postgres_url

__all__ = ["object_store", "object_store_server", "postgres", "postgres_server", "postgres_url"]  # for every folder

NO_DATA = "real data not found: set STEREOGAUGE_DATA to the folder that holds middlebury-v2, kitti2012, …"

# A slow moment of the machine is no fault of the code.
hypothesis.settings.register_profile("any-machine", deadline=None)
hypothesis.settings.load_profile("any-machine")


def pytest_configure() -> None:
    """Let Ctrl-C reach the programs that tests start: a run in the background hands on an ignored SIGINT."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if ignored and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def metrics_of_one_test() -> Iterator[None]:
    """Functions that a test gives as metrics are known to no other test of its process."""
    from stereogauge.metrics.registry import metrics

    known: Any = metrics()
    before = dict(known._given)
    yield
    known._given.clear()
    known._given.update(before)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of real stereo data; tests that ask for it skip where there is none."""
    root = os.environ.get("STEREOGAUGE_DATA", "")
    if not root or not Path(root).is_dir():
        pytest.skip(NO_DATA)
    return Path(root)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests were left out for want of real data."""
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if "real data not found" in str(r.longrepr)]
    terminalreporter.write_line(f"{len(skipped)} tests skipped because STEREOGAUGE_DATA names no folder of real data")
