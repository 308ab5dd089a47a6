"""Parameters that several calls of the API share: the site, the selection, the protocol."""

from __future__ import annotations

import typing
from typing import Annotated, Literal, cast

from fastapi import Depends, Query, Request
from starlette.concurrency import run_in_threadpool

from stereogauge.loading import entry_types
from stereogauge.scores.scope import LEAST_COVERAGE, ONLY_SURE, Aggregation, MissingRule, Names, Scope
from stereogauge.web.selection import SelectionQuery
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


HELP = {name: typing.get_args(kind)[1].description for name, kind in entry_types(Scope).items()}
"""What each part of a scope means, as on the command line."""


async def selection_query(
    submission: OwnSubmission,
    scenes: Annotated[list[str] | None, Query(description=HELP["scenes"])] = None,
    regions: Annotated[list[str] | None, Query(description=HELP["regions"])] = None,
    metrics: Annotated[list[str] | None, Query(description=HELP["metrics"])] = None,
    algorithms: Annotated[list[str] | None, Query(description=HELP["algorithms"])] = None,
    protocol: ProtocolName = None,
    aggregation: Annotated[Aggregation, Query(description=HELP["aggregation"])] = "mean",
    missing: Annotated[MissingRule, Query(description=HELP["missing"])] = "common",
    least_coverage: Annotated[float, Query(ge=0, le=1, description=HELP["least_coverage"])] = LEAST_COVERAGE,
    least_support: Annotated[float | None, Query(ge=0, description=HELP["least_support"])] = None,
    need: Annotated[
        Literal["sure"] | None,
        Query(description="sure: values only where they are sure; no order but at equal density."),
    ] = None,
) -> SelectionQuery:
    """The selection of a request."""
    return SelectionQuery(
        scenes=_unique(scenes),
        regions=_unique(regions),
        metrics=_unique(metrics),
        algorithms=_unique(algorithms),
        protocol=protocol,
        aggregation=aggregation,
        missing=missing,
        least_coverage=0.0 if need == ONLY_SURE else least_coverage,
        least_support=least_support,
        need=need,
        submission=submission,
    )


def _unique(names: list[str] | None) -> Names:
    return None if names is None else tuple(dict.fromkeys(names))


Selected = Annotated[SelectionQuery, Depends(selection_query)]
