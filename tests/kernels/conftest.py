"""Kernels are tested on every level of the native library that this processor can run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from stereogauge.kernels import library


@pytest.fixture(params=library.available_levels())
def processor_level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The test runs once per level."""
    monkeypatch.setenv("STEREOGAUGE_NATIVE_LEVEL", request.param)
    library.level.cache_clear()
    yield request.param
    library.level.cache_clear()
