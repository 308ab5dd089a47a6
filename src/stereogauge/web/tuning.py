"""The calls of the API about tuning studies."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from stereogauge import tuning
from stereogauge.errors import MissingDependency
from stereogauge.web.dependencies import CurrentSite
from stereogauge.web.errors import UnknownChoiceError
from stereogauge.web.site import Site

SECONDS_KEPT = 5.0
"""Studies on a server change without the scores, and reading them takes a second."""

router = APIRouter(tags=["tuning"])


def known_studies(site: Site) -> list[dict[str, Any]]:
    """The studies in the site's store; none where Optuna, which reads them, is not installed."""
    if site.store_url is None:
        return []
    try:
        return tuning.studies(site.store_url)
    except MissingDependency:
        return []


@router.get("/tuning", summary="Studies")
def studies(request: Request, site: CurrentSite) -> Response:
    """Every study."""
    return site.answers.give(request, lambda: known_studies(site), SECONDS_KEPT)


@router.get("/tuning/{study}", summary="One study")
def study(request: Request, site: CurrentSite, study: str) -> Response:
    """The gain over the default, every trial, and which parameters matter."""

    def make() -> Any:
        names = [str(one["name"]) for one in known_studies(site)]
        if study not in names or site.store_url is None:
            raise UnknownChoiceError("study", study, names)
        return tuning.study_summary(site.store_url, study)

    return site.answers.give(request, make, SECONDS_KEPT)
