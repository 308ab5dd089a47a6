"""What the first visitors would wait for, done before they come."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable

from stereogauge.figures.chart import vega_script
from stereogauge.web.scores.catalogue import catalogue_answer, dataset_entries
from stereogauge.web.scores.decisions import answer_answer
from stereogauge.web.scores.tables import table_answer
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.site import Site
from stereogauge.web.source import USUAL_PROFILE

MOST_SECONDS = 5.0
"""A site opens after this, also when its store is not read yet."""


def first_answers(site: Site) -> tuple[Callable[[], object], ...]:
    """What the answers to every visitor's first questions need, and the script that draws charts."""
    everything = SelectionQuery()
    return (
        vega_script,
        lambda: catalogue_answer(site.source.protocols(), submissions=site.submissions is not None),
        lambda: dataset_entries(site.source, site.scenes.hidden),
        lambda: table_answer(site.scores, everything, None),
        lambda: answer_answer(site.scores, everything, USUAL_PROFILE, None, None, "0.9"),
    )


def warm(calls: Iterable[Callable[[], object]]) -> threading.Event:
    """Call all these in a thread of its own; the event is set once they are done."""
    done = threading.Event()

    def work() -> None:
        for call in calls:
            # Whoever asks for it is told the reason; a site without scores, for example, has none of these.
            with contextlib.suppress(Exception):
                call()
        done.set()

    threading.Thread(target=work, name="warming", daemon=True).start()
    return done
