"""Everything that a running site is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any, cast

from fastapi import Depends, Request, Response

from stereogauge.web.hiding import Hidden
from stereogauge.web.responses import Answers
from stereogauge.web.scenes.gallery import Gallery
from stereogauge.web.scenes.layers import LayerPainter
from stereogauge.web.scores.desk import Desk
from stereogauge.web.selection import Asked
from stereogauge.web.source import ScoreSource

if TYPE_CHECKING:
    from stereogauge.web.submissions.submissions import Submissions


class Site:
    """A source of scores, what is hidden of it, and the caches of answers and pictures; `store_url` is for studies."""

    def __init__(
        self,
        source: ScoreSource,
        hidden: Iterable[str] = (),
        submissions: Submissions | None = None,
        store_url: str | None = None,
    ) -> None:
        self.store_url = store_url
        self.submissions = submissions
        self.desk = Desk(source) if submissions is None else Desk(source, submissions.private_scores)
        self.gallery = Gallery(self.desk, Hidden(hidden))
        self.painter = LayerPainter(self.gallery)
        self.answers = Answers(source.version)

    def answer(self, request: Request, wanted: Asked, make: Callable[[], Any]) -> Response:
        """The answer to a question about a selection; one with a private submission is for its owner alone."""
        if wanted.submission is None:
            return self.answers.public(request, make)
        if self.submissions is not None:
            self.submissions.check_owner(request, wanted.submission)
        return self.answers.fresh(make)


async def site_here(request: Request) -> Site:
    """The site that a request came to."""
    return cast(Site, request.app.state.site)


Here = Annotated[Site, Depends(site_here)]
