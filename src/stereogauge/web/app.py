"""The site as an ASGI application: the API under /api/v1 and the page that uses it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool

from stereogauge.figures.chart import vega_file
from stereogauge.version import VERSION
from stereogauge.web import health, tuning
from stereogauge.web.refusals import register_refusals
from stereogauge.web.scenes import api as scene_api
from stereogauge.web.scores import api as score_api
from stereogauge.web.security import LOCAL_HOSTS, Guard
from stereogauge.web.site import Site
from stereogauge.web.submissions import api as submission_api
from stereogauge.web.warming import MOST_SECONDS, first_answers, warm

STATIC = Path(__file__).parent / "static"
API = "/api/v1"


def create_app(site: Site, hosts: Iterable[str] = LOCAL_HOSTS) -> FastAPI:
    """The application of a site; `hosts` are the host names that it answers to, "*" means any."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if site.submissions is not None:
            site.submissions.start()
        opened = warm(first_answers(site))
        await run_in_threadpool(opened.wait, MOST_SECONDS)
        yield
        if site.submissions is not None:
            site.submissions.stop()

    app = FastAPI(
        title="Stereogauge",
        version=VERSION,
        description="Scores, rankings and pictures of stereo algorithms for any selection.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.site = site
    register_refusals(app)
    routers = [score_api.router, scene_api.router, tuning.router, health.router]
    if site.submissions is not None:
        submission_api.register_submission_refusals(app)
        routers.append(submission_api.router)
    for router in routers:
        app.include_router(router, prefix=API)

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(STATIC / "index.html", headers={"Cache-Control": "no-cache"})

    @app.get("/embed", include_in_schema=False)
    def embedded() -> HTMLResponse:
        """The page without its header and panel, which other sites may show."""
        whole = (STATIC / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(whole.replace("<html", '<html class="embed"', 1), headers={"Cache-Control": "no-cache"})

    @app.get("/static/vega.js", include_in_schema=False)
    def vega() -> FileResponse:
        """The library that draws charts, from the installed package vl-convert."""
        return FileResponse(vega_file(), headers={"Cache-Control": "public, max-age=86400"})

    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=5)
    app.add_middleware(Guard, hosts=tuple(hosts))
    return app
