"""Parameters that several calls of the API share: the site, the selection, the protocol."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from fastapi import Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from stereogauge.scores.cube import LEAST_COVERAGE
from stereogauge.scores.selection import MissingRule
from stereogauge.web.selection import Aggregation, Names, SelectionQuery
from stereogauge.web.site import Site

ProtocolName = Annotated[str | None, Query(description="Name or scoring hash of a protocol. Default: the first.")]


async def current_site(request: Request) -> Site:
    """The site that a request was sent to."""
    return cast(Site, request.app.state.site)


CurrentSite = Annotated[Site, Depends(current_site)]


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


async def selection_query(
    submission: OwnSubmission,
    scenes: Annotated[list[str] | None, Query(description="Scenes, or tag:weather=rain; repeat. Default: all.")] = None,
    regions: Annotated[list[str] | None, Query(description="Regions such as nonocc. Default: all.")] = None,
    metrics: Annotated[list[str] | None, Query(description="Metrics, bad@1 or bad@1:nonocc. Default: all.")] = None,
    algorithms: Annotated[
        list[str] | None, Query(description="Algorithms, or tag:technique=learned. Default: all.")
    ] = None,
    protocol: ProtocolName = None,
    aggregation: Annotated[Aggregation, Query(description="How scenes become one number.")] = "mean",
    missing: Annotated[MissingRule, Query(description="What a missing score does to a ranking.")] = "common",
    least_coverage: Annotated[
        float, Query(ge=0, le=1, description="Share of its pixels that a score must cover to be ranked.")
    ] = LEAST_COVERAGE,
    least_support: Annotated[
        float | None, Query(ge=0, description="Pixels that a set must have. Default: 200 at full size, at least 30.")
    ] = None,
    need: Annotated[
        Literal["sure"] | None,
        Query(description="sure: values only where they are sure; no order but at equal density."),
    ] = None,
) -> SelectionQuery:
    """The selection of a request."""
    names = (_unique(scenes), _unique(regions), _unique(metrics), _unique(algorithms))
    covered = 0.0 if need == "sure" else least_coverage
    return SelectionQuery(*names, protocol, aggregation, missing, submission, covered, least_support, need)


def _unique(names: list[str] | None) -> Names:
    return None if names is None else tuple(dict.fromkeys(names))


Selected = Annotated[SelectionQuery, Depends(selection_query)]
