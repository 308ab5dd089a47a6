"""The API's questions about tuning studies, answered by `stereogauge.tuning`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from stereogauge import tuning
from stereogauge.errors import MissingDependency
from stereogauge.web.site import Site


def known_studies(site: Site) -> list[dict[str, Any]]:
    """The studies beside the site's scores; none where nothing can read them."""
    if site.store_url is None:
        return []
    try:
        return tuning.studies(site.store_url)
    except MissingDependency:
        return []


def tuning_routes(site: Site) -> APIRouter:
    """Studies that a store holds; a store without any says so."""
    router = APIRouter(tags=["tuning"])

    @router.get("/tuning", summary="Studies")
    def studies(request: Request) -> Response:
        return site.answers.public(request, lambda: known_studies(site))

    @router.get("/tuning/{study}", summary="One study")
    def study(request: Request, study: str) -> Response:
        names = [str(one["name"]) for one in known_studies(site)]
        if study not in names or site.store_url is None:
            detail = f"There is no study {study!r} in this store."
            return JSONResponse({"detail": detail, "allowed": names}, status_code=404)
        url = site.store_url
        return site.answers.public(request, lambda: tuning.study_summary(url, study))

    return router
