"""The API of submissions: upload, state, live progress, publication, withdrawal; all but the rules need a token."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Annotated, cast

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from stereogauge.web.submissions.jobs import Job
from stereogauge.web.submissions.results import ColumnResult
from stereogauge.web.submissions.submissions import AccessError, Submissions
from stereogauge.web.submissions.uploads import UploadRefusedError, check_archive, receive

EVENT_SECONDS = 0.3
LONGEST_WATCH = 6 * 3600.0
LINK = re.compile(r"https?://[^\s\"'<>]+")

router = APIRouter(tags=["submissions"])


class FindingEntry(BaseModel):
    """One sentence about a submission."""

    severity: str
    sentence: str
    scene: str


class SubmissionEntry(BaseModel):
    """A submission as its owner sees it."""

    id: str
    name: str
    description: str
    link: str
    state: str
    progress: float
    message: str
    created: float
    findings: list[FindingEntry]


class SubmissionAnswer(SubmissionEntry):
    """The same with its results beside the best of the others."""

    scores: list[ColumnResult]


class OwnSubmissions(BaseModel):
    """Everything of one submitter."""

    submitter: str
    left: int
    submissions: list[SubmissionEntry]


class RulesAnswer(BaseModel):
    """What may be submitted."""

    dataset: str
    scenes: int
    hidden: int
    per_period: int
    period_hours: float
    largest_bytes: int
    most_entries: int


def _entry(job: Job) -> SubmissionEntry:
    return SubmissionEntry(
        id=job.id,
        name=job.name,
        description=job.description,
        link=job.link,
        state=job.state,
        progress=job.progress,
        message=job.message,
        created=job.created,
        findings=[FindingEntry(**finding) for finding in job.findings],
    )


def taken_here(request: Request) -> Submissions:
    """The submissions of the site that a request came to; their routes exist only where it takes some."""
    return cast(Submissions, request.app.state.site.submissions)


Taken = Annotated[Submissions, Depends(taken_here)]


def own_job(request: Request, taken: Taken, identifier: str) -> Job:
    """The asker's own submission; somebody else's does not exist for them."""
    return taken.own(request, identifier)


Own = Annotated[Job, Depends(own_job)]


def _answer(taken: Submissions, job: Job) -> SubmissionAnswer:
    return SubmissionAnswer(**_entry(job).model_dump(), scores=[] if job.open else taken.results(job))


@router.get("/submissions/rules", summary="What may be submitted")
def rules(taken: Taken) -> RulesAnswer:
    """The dataset and the limits."""
    dataset, own = taken.dataset(), taken.rules
    return RulesAnswer(
        dataset=dataset.name,
        scenes=len(dataset),
        hidden=sum(taken.hidden(scene.id, dataset.name) for scene in dataset),
        per_period=own.per_period,
        period_hours=own.period_hours,
        largest_bytes=own.largest_bytes,
        most_entries=own.most_entries,
    )


@router.post("/submissions", status_code=202, summary="Upload a zip of maps as the request's body")
async def submit(
    request: Request,
    taken: Taken,
    name: Annotated[str, Query(min_length=1, max_length=200, description="Name of the algorithm.")],
    description: Annotated[str, Query(max_length=500)] = "",
    link: Annotated[str, Query(max_length=300)] = "",
) -> SubmissionEntry:
    """Take in an upload; everything that can be refused without reading it is refused first."""
    owner = await run_in_threadpool(taken.submitter, request)
    if link and not LINK.fullmatch(link):
        raise UploadRefusedError(f"A link begins with http:// or https:// and has no spaces or quotes; found {link!r}.")
    wanted = await run_in_threadpool(taken.check_name, name, owner)
    await run_in_threadpool(taken.check_room, owner)
    if taken.uploading.locked():
        raise UploadRefusedError("Too many uploads at the moment; try again in a minute.", 503)
    async with taken.uploading:
        job = await _taken_in(request, taken, lambda new: taken.enqueue(new, owner, wanted, description, link))
    return _entry(job)


async def _taken_in(request: Request, taken: Submissions, enqueue: Callable[[str], Job]) -> Job:
    """The submission of an upload that lies in its folder as a plain zip; of any other nothing is kept."""
    identifier, folder = await run_in_threadpool(taken.new_folder)
    try:
        await receive(request, folder / "upload.zip", taken.rules)
        await run_in_threadpool(check_archive, folder / "upload.zip", taken.rules)
        return await run_in_threadpool(enqueue, identifier)
    except ClientDisconnect:
        taken.discard(identifier)
        raise UploadRefusedError("The upload was cut off.", 400) from None
    except BaseException:
        taken.discard(identifier)
        raise


@router.get("/submissions", summary="One's own submissions")
def own_submissions(request: Request, taken: Taken) -> OwnSubmissions:
    """Everything of the token's owner."""
    owner = taken.submitter(request)
    return OwnSubmissions(
        submitter=owner, left=taken.attempts.left(owner), submissions=[_entry(job) for job in taken.jobs.of(owner)]
    )


@router.get("/submissions/{identifier}", summary="State and results of a submission")
def state(taken: Taken, job: Own) -> SubmissionAnswer:
    """The submission with its results."""
    return _answer(taken, job)


@router.get("/submissions/{identifier}/events", summary="Live progress as server-sent events")
async def events(request: Request, taken: Taken, job: Own) -> StreamingResponse:
    """The submission whenever it changes, until it is finished."""
    return StreamingResponse(
        _changes(request, taken, job.id), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _changes(request: Request, taken: Submissions, identifier: str) -> AsyncIterator[str]:
    last, waited = None, 0.0
    while waited < LONGEST_WATCH and not await request.is_disconnected():
        job = await run_in_threadpool(taken.jobs.get, identifier)
        if job is None:
            return
        if job != last:
            now = await run_in_threadpool(_answer, taken, job)
            yield f"data: {now.model_dump_json()}\n\n"
        last = job
        if not job.open:
            return
        await asyncio.sleep(EVENT_SECONDS)
        waited += EVENT_SECONDS


@router.post("/submissions/{identifier}/publish", summary="Show a finished submission to everybody")
def publish(taken: Taken, job: Own) -> SubmissionAnswer:
    """The submission as everybody sees it from now on."""
    taken.publish(job)
    return _answer(taken, taken.jobs.get(job.id) or job)


@router.delete("/submissions/{identifier}", status_code=204, summary="Withdraw a submission")
def withdraw(taken: Taken, job: Own) -> Response:
    """Nothing is left of it."""
    taken.withdraw(job)
    return Response(status_code=204)


def register_submission_refusals(app: FastAPI) -> None:
    """Refusals with their own status."""

    def refused(request: Request, problem: Exception) -> JSONResponse:
        status = problem.status if isinstance(problem, UploadRefusedError | AccessError) else 422
        headers = {"Connection": "close"} if request.method == "POST" else {}
        if isinstance(problem, AccessError) and problem.wait > 0:
            headers["Retry-After"] = str(int(problem.wait) + 1)
        if status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return JSONResponse({"detail": str(problem)}, status_code=status, headers=headers)

    app.add_exception_handler(UploadRefusedError, refused)
    app.add_exception_handler(AccessError, refused)
