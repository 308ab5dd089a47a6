"""The parts of a running site, and the hook of the service that takes submissions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol

from fastapi import FastAPI, Request

from stereogauge.scores.table import ScoreTable
from stereogauge.store.write import MapRecord
from stereogauge.web.hiding import Hidden
from stereogauge.web.load import ConcurrencyLimit
from stereogauge.web.responses import Answers
from stereogauge.web.scenes.layers import LayerPainter
from stereogauge.web.scenes.reader import SceneReader
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.source import StoreSource

TABLES_AT_ONCE, PICTURES_AT_ONCE = 4, 4
MOST_WAITING = 100


class QueueState(NamedTuple):
    """Whether submissions are evaluated; `reason` says why they wait, `waiting` how many are in the queue."""

    status: Literal["ok", "waiting", "stopped"]
    reason: str = ""
    waiting: int | None = None


class SubmissionService(Protocol):
    """What a site knows about the service that takes submissions (`stereogauge.web.submissions`)."""

    def register(self, app: FastAPI, prefix: str) -> None:
        """Add the service's calls to the API."""

    def start(self) -> None:
        """Start to work on the queue."""

    def stop(self) -> None:
        """Stop working on it."""

    def state(self) -> QueueState:
        """Whether submissions are evaluated."""

    def refuse_others(self, request: Request, identifier: str) -> None:
        """Raise unless the request comes from the owner of a submission."""

    def private_scores(self, identifier: str) -> ScoreTable:
        """The scores of an unpublished submission."""

    def private_maps(self, identifier: str) -> list[MapRecord]:
        """The maps of an unpublished submission."""


class Site:
    """A store's scores and scenes, what is hidden of them, and the finished answers.

    `store_url` is where tuning studies are looked for.
    """

    def __init__(
        self,
        source: StoreSource,
        hidden: Iterable[str] | Hidden = (),
        submissions: SubmissionService | None = None,
        store_url: str | None = None,
    ) -> None:
        self.source = source
        self.store_url = store_url
        self.submissions = submissions
        concealed = hidden if isinstance(hidden, Hidden) else Hidden(hidden)
        if submissions is None:
            self.scores, self.scenes = ScoreReader(source, hidden=concealed), SceneReader(source, concealed)
        else:
            self.scores = ScoreReader(source, submissions.private_scores, concealed)
            self.scenes = SceneReader(source, concealed, submissions.private_maps)
        self.painter = LayerPainter(self.scenes)
        self.answers = Answers(source.version)
        self.decisions = ConcurrencyLimit(1, MOST_WAITING)
        self.tables = ConcurrencyLimit(TABLES_AT_ONCE, MOST_WAITING)
        self.statistics = ConcurrencyLimit(1, MOST_WAITING)
        self.pictures = ConcurrencyLimit(PICTURES_AT_ONCE, MOST_WAITING)
