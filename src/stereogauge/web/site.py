"""The parts of a running site."""

from __future__ import annotations

from collections.abc import Iterable

from stereogauge.web.hiding import Hidden
from stereogauge.web.load import Turns
from stereogauge.web.responses import Answers
from stereogauge.web.scenes.layers import LayerPainter
from stereogauge.web.scenes.reader import SceneReader
from stereogauge.web.scores.reader import ScoreReader
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.submissions import Submissions

STATISTICS_AT_ONCE, PICTURES_AT_ONCE = 1, 4
MOST_WAITING = 100


class Site:
    """A store's scores and scenes, what is hidden of them, and the finished answers.

    `store_url` is where tuning studies are looked for.
    """

    def __init__(
        self,
        source: StoreSource,
        hidden: Iterable[str] | Hidden = (),
        submissions: Submissions | None = None,
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
        self.statistics = Turns(STATISTICS_AT_ONCE, MOST_WAITING)
        self.pictures = Turns(PICTURES_AT_ONCE, MOST_WAITING)
