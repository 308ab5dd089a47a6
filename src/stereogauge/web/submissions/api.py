"""The calls of the API about submissions; all except the rules need a token."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, cast

import anyio
import msgspec
from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.sse import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from stereogauge.web.dependencies import CurrentSite
from stereogauge.web.errors import RefusedError
from stereogauge.web.hiding import most_bits
from stereogauge.web.responses import PRIVATE, Plain, plain
from stereogauge.web.scores.tables import table_answer
from stereogauge.web.selection import SelectionQuery
from stereogauge.web.site import Site
from stereogauge.web.submissions.evaluations import UPLOAD, for_owner
from stereogauge.web.submissions.jobs import Job, Rules
from stereogauge.web.submissions.submissions import Submissions

EVENT_SECONDS = 0.3
LONGEST_WATCH = 6 * 3600.0
LINK = re.compile(r"https?://[^\s\"'<>]+")
SHOWN = ("id", "name", "description", "link", "state", "progress", "message", "created", "findings")
"""What its owner sees of a submission, beside its scores."""
LIMITS = ("per_period", "period_hours", "largest_bytes", "most_entries")

router = APIRouter(tags=["submissions"])


async def current_submissions(site: CurrentSite) -> Submissions:
    """The submissions of the current site; these routes exist only where it accepts submissions."""
    return cast(Submissions, site.submissions)


CurrentSubmissions = Annotated[Submissions, Depends(current_submissions)]


def owned_job(request: Request, submissions: CurrentSubmissions, identifier: str) -> Job:
    """The requested submission, if it belongs to the token's owner."""
    return submissions.own(request, identifier)


OwnedJob = Annotated[Job, Depends(owned_job)]


def _with_scores(site: Site, job: Job) -> Plain:
    return plain(job, SHOWN, scores=column_results(site, job) if job.scores else [])


def column_results(site: Site, job: Job) -> list[Plain]:
    """The columns of a submission as the leaderboard shows them, beside the best value of the other algorithms.

    An earlier version under the same name is not one of the others. `of` counts the algorithms with a rank.
    """
    private = job.id if job.state == "done" else None
    scope = SelectionQuery(dataset=job.scores[0]["dataset"], submission=private)
    names = site.scores.whole(scope).algorithms
    name = names[-1] if private else job.name
    if name not in names:  # it was published since the scores were read; the next answer has it
        return []
    shown = tuple(other for other in names if other == name or other != job.name)
    board = table_answer(site.scores, msgspec.structs.replace(scope, algorithms=shown))
    own, results = shown.index(name), []
    for place, column in enumerate(board["columns"]):
        ranks = {row: ranks[place] for row, ranks in enumerate(board["ranks"]) if ranks[place] is not None}
        best = min(ranks.keys() - {own}, key=ranks.__getitem__, default=None)
        results.append(
            {
                "column": column["id"],
                "unit": column["unit"],
                "value": board["values"][own][place],
                "best": None if best is None else board["values"][best][place],
                "rank": int(ranks[own]) if own in ranks else None,
                "of": len(ranks),
            }
        )
    return results


@router.get("/submissions/rules", summary="What may be submitted")
def rules(submissions: CurrentSubmissions) -> Plain:
    """The dataset and the limits; `most_kilobytes` is what one submission tells at most about hidden truth."""
    task = submissions.task()
    hidden = len(task.hidden)
    kilobytes = round(most_bits(1, len(task.columns), hidden) / 8000, 2)
    about = {"dataset": task.dataset.name, "scenes": len(task.dataset), "hidden": hidden, "most_kilobytes": kilobytes}
    return plain(submissions.rules, LIMITS, **about)


@router.post("/submissions", status_code=202, summary="Upload a zip of maps as the request's body")
async def submit(
    request: Request,
    submissions: CurrentSubmissions,
    name: Annotated[str, Query(min_length=1, max_length=200, description="Name of the algorithm.")],
    description: Annotated[str, Query(max_length=500)] = "",
    link: Annotated[str, Query(max_length=300)] = "",
) -> Plain:
    """Accept an upload; whatever can be refused without reading it is refused first."""
    owner = await run_in_threadpool(submissions.submitter, request)
    if link and not (LINK.fullmatch(link) and link.isprintable()):
        raise RefusedError(f"A link begins with http:// or https:// and has no spaces or quotes; found {link!r}.")
    about = " ".join(description.split())
    if not about.isprintable():
        raise RefusedError("A description holds printable letters only; found a control character.")
    with submissions.uploading(owner) as folder:
        checked = await run_in_threadpool(submissions.check_upload, name, owner)
        await receive(request, folder / UPLOAD, submissions.rules)
        return plain(await run_in_threadpool(submissions.enqueue, folder, owner, checked, about, link), SHOWN)


async def receive(request: Request, target: Path, rules: Rules) -> None:
    """Write the request's body to `target`; stops reading as soon as it is larger or slower than the rules allow."""
    too_large = RefusedError(f"The upload is larger than {rules.largest_bytes >> 20} MiB.", 413)
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > rules.largest_bytes:
        raise too_large
    start, size = asyncio.get_running_loop().time(), 0
    try:
        async with (
            asyncio.timeout_at(start + rules.stall_seconds) as limit,
            await anyio.open_file(target, "xb", opener=for_owner) as file,
        ):
            async for part in request.stream():
                size += len(part)
                if size > rules.largest_bytes:
                    raise too_large
                await file.write(part)
                allowed = min(rules.upload_seconds, rules.stall_seconds + size / rules.least_rate)
                limit.reschedule(start + allowed)
    except ClientDisconnect:
        raise RefusedError("The upload was cut off.", 400) from None
    except TimeoutError:
        slow = f"slower than {rules.least_rate >> 10} KiB/s or took longer than {rules.upload_seconds:g} s"
        raise RefusedError(f"The upload was {slow}.", 408) from None
    except OSError as problem:
        sentence = f"The upload cannot be stored at the moment ({problem.strerror}); try again later."
        raise RefusedError(sentence, 503) from problem


@router.get("/submissions", summary="The submissions of the token's owner")
def own_submissions(request: Request, submissions: CurrentSubmissions) -> Plain:
    """All submissions of the token's owner, and how many more they may make now."""
    owner = submissions.submitter(request)
    own = [plain(job, SHOWN) for job in submissions.of(owner)]
    return {"submitter": owner, "left": submissions.jobs.left(owner), "submissions": own}


@router.get("/submissions/{identifier}", summary="State and results of a submission")
def state(site: CurrentSite, job: OwnedJob) -> Plain:
    """The submission with its results."""
    return _with_scores(site, job)


async def watched_job(submissions: CurrentSubmissions, job: OwnedJob, response: Response) -> AsyncIterator[Job]:
    """A submission while its progress is streamed, which looks into the database several times per second."""
    response.headers["Cache-Control"] = PRIVATE
    if submissions.watching[job.submitter] >= submissions.rules.watched_at_once:
        raise RefusedError("You watch too many submissions at once; close some pages.", 429)
    submissions.watching[job.submitter] += 1
    try:
        yield job
    finally:
        submissions.watching[job.submitter] -= 1


@router.get(
    "/submissions/{identifier}/events",
    summary="Live progress as server-sent events",
    response_class=EventSourceResponse,
)
async def events(
    site: CurrentSite, submissions: CurrentSubmissions, watched: Annotated[Job, Depends(watched_job)]
) -> AsyncIterator[Plain]:
    """The submission whenever it changes, until it is finished."""
    job: Job | None = watched
    last, end = None, time.monotonic() + LONGEST_WATCH
    while job is not None and time.monotonic() < end:
        if job != last:
            yield await run_in_threadpool(_with_scores, site, job)
        if not job.open:
            return
        await asyncio.sleep(EVENT_SECONDS)
        last, job = job, await run_in_threadpool(submissions.get, job.id)


@router.post("/submissions/{identifier}/publish", summary="Publish a finished submission")
def publish(site: CurrentSite, submissions: CurrentSubmissions, job: OwnedJob) -> Plain:
    """The published submission."""
    return _with_scores(site, submissions.publish(job))


@router.delete("/submissions/{identifier}", status_code=204, summary="Withdraw a submission")
def withdraw(submissions: CurrentSubmissions, job: OwnedJob) -> Response:
    """Delete the submission, its files and its scores."""
    submissions.withdraw(job)
    return Response(status_code=204)


class HostedSubmissions(Submissions):
    """Submissions together with the calls of the API that take and show them: what a site is given."""

    def register(self, app: FastAPI, prefix: str) -> None:
        """Add the calls about submissions to the API."""
        app.include_router(router, prefix=prefix)
