"""The API's questions about tuning studies, answered by `stereogauge.tuning`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from stereogauge import tuning
from stereogauge.errors import MissingDependency
from stereogauge.web.selection import UnknownChoiceError
from stereogauge.web.site import Here, Site

SECONDS_KEPT = 5.0
"""Studies on a server change without the scores, and reading them takes a second."""

router = APIRouter(tags=["tuning"])


def known_studies(site: Site) -> list[dict[str, Any]]:
    """The studies beside the site's scores; none where nothing can read them."""
    if site.store_url is None:
        return []
    try:
        return tuning.studies(site.store_url)
    except MissingDependency:
        return []


@router.get("/tuning", summary="Studies")
def studies(request: Request, site: Here) -> Response:
    """Every study."""
    return site.answers.public(request, lambda: known_studies(site), SECONDS_KEPT)


@router.get("/tuning/{study}", summary="One study")
def study(request: Request, site: Here, study: str) -> Response:
    """What was gained, every trial, and which parameters matter."""

    def make() -> Any:
        names = [str(one["name"]) for one in known_studies(site)]
        if study not in names or site.store_url is None:
            raise UnknownChoiceError("study", study, names)
        return tuning.study_summary(site.store_url, study)

    return site.answers.public(request, make, SECONDS_KEPT)
