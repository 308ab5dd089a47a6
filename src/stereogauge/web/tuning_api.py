"""The API's questions about tuning studies."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from stereogauge.web.site import Site


def tuning_routes(site: Site) -> APIRouter:
    """Studies that a store holds; a store without any says so."""
    router = APIRouter(tags=["tuning"])

    @router.get("/tuning", summary="Studies")
    def studies() -> list[str]:
        return []

    @router.get("/tuning/{study}", summary="One study")
    def study(study: str) -> JSONResponse:
        return JSONResponse({"detail": f"There is no study {study!r} in this store.", "allowed": []}, status_code=404)

    return router
