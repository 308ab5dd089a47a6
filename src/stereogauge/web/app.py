"""The site as an ASGI application: the API under /api/v1 and the page that uses it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import FileResponse, HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool

from stereogauge.figures.chart import vega_file, vega_script
from stereogauge.version import VERSION
from stereogauge.web import tuning
from stereogauge.web.refusals import register_refusals
from stereogauge.web.responses import Plain
from stereogauge.web.scenes import api as scene_api
from stereogauge.web.scores import api as score_api
from stereogauge.web.scores.catalogue import catalogue_answer, dataset_entries
from stereogauge.web.scores.decisions import answer_answer
from stereogauge.web.scores.tables import table_answer
from stereogauge.web.security import LOCAL_HOSTS, Guard
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.site import QueueState, Site
from stereogauge.web.source import USUAL_PROFILE

STATIC = Path(__file__).parent / "static"
API = "/api/v1"
MOST_SECONDS = 5.0
"""A site opens after this, also when its store is not read yet."""


def create_app(site: Site, hosts: Iterable[str] = LOCAL_HOSTS) -> FastAPI:
    """The application of a site; `hosts` are the host names that it answers to, "*" means any."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if site.submissions is not None:
            site.submissions.start()
        await run_in_threadpool(warm(site).wait, MOST_SECONDS)
        yield
        site.scenes.matching.end()
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
    for router in (score_api.router, scene_api.router, tuning.router):
        app.include_router(router, prefix=API)

    @app.get(f"{API}/health", tags=["health"], summary="Whether submissions are evaluated")
    def health() -> Plain:
        """The state of the queue: `reason` says why submissions wait; "ok" where the site takes none."""
        state = QueueState("ok") if site.submissions is None else site.submissions.state()
        return state._asdict()

    if site.submissions is not None:
        site.submissions.register(app, API)

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


def warm(site: Site) -> threading.Event:
    """Make what the answers to every visitor's first questions need, and the script that draws charts, in a thread.

    The event is set once they are made.
    """
    everything, done = SelectionQuery(), threading.Event()
    calls: tuple[Callable[[], object], ...] = (
        vega_script,
        lambda: catalogue_answer(site.source.protocols(), submissions=site.submissions is not None),
        lambda: dataset_entries(site.source, site.scenes.hidden),
        lambda: table_answer(site.scores, everything, None),
        lambda: answer_answer(site.scores, everything, USUAL_PROFILE),
    )

    def work() -> None:
        for call in calls:
            # A request for it gets the reason; a site without scores, for example, has none of these.
            with contextlib.suppress(Exception):
                call()
        done.set()

    threading.Thread(target=work, name="warming", daemon=True).start()
    return done
