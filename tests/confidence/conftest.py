"""Training in one thread: where tests run side by side, threads of scikit-learn would mostly wait for each other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import threadpoolctl


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    with threadpoolctl.threadpool_limits(1):
        yield
