"""The API's questions about tuning studies, answered by `stereogauge.tuning`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse

from stereogauge import tuning
from stereogauge.errors import MissingDependency
from stereogauge.web.site import Here, Site

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
def studies(site: Here) -> Response:
    """Every study; never from a cache, since a study on a server changes without the scores."""
    return site.answers.fresh(lambda: known_studies(site))


@router.get("/tuning/{study}", summary="One study")
def study(site: Here, study: str) -> Response:
    """What was gained, every trial, and which parameters matter."""
    names = [str(one["name"]) for one in known_studies(site)]
    if study not in names or site.store_url is None:
        detail = f"There is no study {study!r} in this store."
        return JSONResponse({"detail": detail, "allowed": names}, status_code=404)
    url = site.store_url
    return site.answers.fresh(lambda: tuning.study_summary(url, study))
