"""What the first visitors would wait for, done beside the first answers."""

from __future__ import annotations

import threading
from collections.abc import Callable

from stereogauge.figures.plotly.figure import new_figure


def warm(*others: Callable[[], object]) -> threading.Thread:
    """Let Plotly build its templates in a thread of its own, then call the others."""

    def work() -> None:
        new_figure("", "").to_json()
        for call in others:
            call()

    thread = threading.Thread(target=work, name="warming", daemon=True)
    thread.start()
    return thread
