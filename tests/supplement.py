"""The maxima of the HCI supplement, for tests with scores worked by hand."""

from __future__ import annotations

import pytest

from stereogauge.scores import facts

SUPPLEMENT = facts.MeasuredMaxima("the HCI supplement", 1.0, {"bad@1": 80.0, "bad@4": 45.0})


@pytest.fixture(autouse=True)
def supplement_maxima(monkeypatch: pytest.MonkeyPatch) -> None:
    """Normalise by the supplement's maxima, whatever was measured last."""
    monkeypatch.setattr(facts, "measured_maxima", lambda: SUPPLEMENT)
