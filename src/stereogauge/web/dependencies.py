"""Parameters that several calls of the API share: the site, the selection, the protocol."""

from __future__ import annotations

import math
import typing
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Annotated, Any, cast

from fastapi import Depends, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from stereogauge.loading import entry_types
from stereogauge.scores.scope import LEAST_COVERAGE, Aggregation, MissingRule, Names, Scope, coverage_of
from stereogauge.web.load import ConcurrencyLimit
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.site import Site

MOST_NAMES = 1000
"""Names that one list of a query may hold."""
ProtocolName = Annotated[str | None, Query(description="Name or scoring hash of a protocol. Default: the first.")]
DatasetName = Annotated[str | None, Query(description="A dataset, where there are several. Default: all.")]


async def current_site(request: Request) -> Site:
    """The site that a request was sent to."""
    return cast(Site, request.app.state.site)


CurrentSite = Annotated[Site, Depends(current_site)]

Answer = Callable[[Callable[[Site], Any]], Awaitable[Response]]
"""Makes the response of a call from a function of the site, or takes the kept one."""


def _in_turn(limit: Callable[[Site], ConcurrencyLimit]) -> Any:
    """Answers that are computed in turn with others that take as long."""

    async def answer(request: Request, site: CurrentSite) -> Answer:
        return lambda make: limit(site).run(request, lambda: site.answers.give(request, lambda: make(site)))

    return Depends(answer)


async def kept_answer(request: Request, site: CurrentSite) -> Callable[..., Response]:
    """Answers that are computed at once; they are kept for at most as many seconds as are given."""
    return lambda make, seconds=math.inf: site.answers.give(request, lambda: make(site), seconds)


AtOnce = Annotated[Callable[..., Response], Depends(kept_answer)]
Tables = Annotated[Answer, _in_turn(attrgetter("tables"))]
Decisions = Annotated[Answer, _in_turn(attrgetter("decisions"))]
Statistics = Annotated[Answer, _in_turn(attrgetter("statistics"))]
Pictures = Annotated[Answer, _in_turn(attrgetter("pictures"))]


async def own_submission(
    request: Request,
    site: CurrentSite,
    submission: Annotated[
        str | None, Query(description="An unpublished submission of the visitor, shown beside the others.")
    ] = None,
) -> str | None:
    """The unpublished submission that a request names: for its owner only."""
    if submission is None or site.submissions is None:
        return None
    await run_in_threadpool(site.submissions.refuse_others, request, submission)
    return submission


OwnSubmission = Annotated[str | None, Depends(own_submission)]


HELP = {name: typing.get_args(kind)[1].description for name, kind in entry_types(Scope).items()}
"""What each part of a scope means, as on the command line."""


async def selection_query(
    submission: OwnSubmission,
    scenes: Annotated[list[str] | None, Query(max_length=MOST_NAMES, description=HELP["scenes"])] = None,
    regions: Annotated[list[str] | None, Query(max_length=MOST_NAMES, description=HELP["regions"])] = None,
    metrics: Annotated[list[str] | None, Query(max_length=MOST_NAMES, description=HELP["metrics"])] = None,
    algorithms: Annotated[list[str] | None, Query(max_length=MOST_NAMES, description=HELP["algorithms"])] = None,
    dataset: DatasetName = None,
    protocol: ProtocolName = None,
    aggregation: Annotated[Aggregation | None, Query(description=HELP["aggregation"])] = None,
    missing: Annotated[MissingRule, Query(description=HELP["missing"])] = "common",
    least_coverage: Annotated[float, Query(ge=0, le=1, description=HELP["least_coverage"])] = LEAST_COVERAGE,
    least_support: Annotated[float | None, Query(ge=0, description=HELP["least_support"])] = None,
    need: Annotated[str | None, Query(max_length=20, description=HELP["need"])] = None,
    proportions: Annotated[str | None, Query(max_length=200, description=HELP["proportions"])] = None,
) -> SelectionQuery:
    """The scope of a request."""
    if need is not None:
        coverage_of(need)
    return SelectionQuery(
        scenes=_unique(scenes),
        regions=_unique(regions),
        metrics=_unique(metrics),
        algorithms=_unique(algorithms),
        dataset=dataset,
        protocol=protocol,
        aggregation=aggregation,
        missing=missing,
        least_coverage=least_coverage,
        least_support=least_support,
        need=need,
        proportions=proportions,
        submission=submission,
    )


def _unique(names: list[str] | None) -> Names:
    return None if names is None else tuple(dict.fromkeys(names))


Selected = Annotated[SelectionQuery, Depends(selection_query)]
