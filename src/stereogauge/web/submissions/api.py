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


def site_submissions(request: Request) -> Submissions:
    """The submissions of the site that a request came to; their routes exist only where it takes some."""
    return cast(Submissions, request.app.state.site.submissions)


SiteSubmissions = Annotated[Submissions, Depends(site_submissions)]


def own_job(request: Request, submissions: SiteSubmissions, identifier: str) -> Job:
    """The submission with this id, which must belong to the owner of the request's token."""
    return submissions.own(request, identifier)


OwnJob = Annotated[Job, Depends(own_job)]


def _answer(submissions: Submissions, job: Job) -> SubmissionAnswer:
    return SubmissionAnswer(**_entry(job).model_dump(), scores=[] if job.open else submissions.results(job))


@router.get("/submissions/rules", summary="What may be submitted")
def rules(submissions: SiteSubmissions) -> RulesAnswer:
    """The dataset and the limits."""
    dataset, own = submissions.dataset(), submissions.rules
    return RulesAnswer(
        dataset=dataset.name,
        scenes=len(dataset),
        hidden=sum(submissions.hidden(scene.id, dataset.name) for scene in dataset),
        per_period=own.per_period,
        period_hours=own.period_hours,
        largest_bytes=own.largest_bytes,
        most_entries=own.most_entries,
    )


@router.post("/submissions", status_code=202, summary="Upload a zip of maps as the request's body")
async def submit(
    request: Request,
    submissions: SiteSubmissions,
    name: Annotated[str, Query(min_length=1, max_length=200, description="Name of the algorithm.")],
    description: Annotated[str, Query(max_length=500)] = "",
    link: Annotated[str, Query(max_length=300)] = "",
) -> SubmissionEntry:
    """Take in an upload; everything that can be refused without reading it is refused first."""
    owner = await run_in_threadpool(submissions.submitter, request)
    if link and not LINK.fullmatch(link):
        raise UploadRefusedError(f"A link begins with http:// or https:// and has no spaces or quotes; found {link!r}.")
    wanted = await run_in_threadpool(submissions.check_name, name, owner)
    await run_in_threadpool(submissions.check_room, owner)
    if submissions.uploading.locked():
        raise UploadRefusedError("Too many uploads at the moment; try again in a minute.", 503)
    async with submissions.uploading:
        job = await _received(
            request, submissions, lambda new: submissions.enqueue(new, owner, wanted, description, link)
        )
    return _entry(job)


async def _received(request: Request, submissions: Submissions, enqueue: Callable[[str], Job]) -> Job:
    """The submission of an upload that lies in its folder as a plain zip; of any other nothing is kept."""
    identifier, folder = await run_in_threadpool(submissions.new_folder)
    try:
        await receive(request, folder / "upload.zip", submissions.rules)
        await run_in_threadpool(check_archive, folder / "upload.zip", submissions.rules)
        return await run_in_threadpool(enqueue, identifier)
    except ClientDisconnect:
        submissions.discard(identifier)
        raise UploadRefusedError("The upload was cut off.", 400) from None
    except BaseException:
        submissions.discard(identifier)
        raise


@router.get("/submissions", summary="One's own submissions")
def own_submissions(request: Request, submissions: SiteSubmissions) -> OwnSubmissions:
    """Everything of the token's owner."""
    owner = submissions.submitter(request)
    return OwnSubmissions(
        submitter=owner,
        left=submissions.attempts.left(owner),
        submissions=[_entry(job) for job in submissions.jobs.of(owner)],
    )


@router.get("/submissions/{identifier}", summary="State and results of a submission")
def state(submissions: SiteSubmissions, job: OwnJob) -> SubmissionAnswer:
    """The submission with its results."""
    return _answer(submissions, job)


@router.get("/submissions/{identifier}/events", summary="Live progress as server-sent events")
async def events(request: Request, submissions: SiteSubmissions, job: OwnJob) -> StreamingResponse:
    """The submission whenever it changes, until it is finished."""
    return StreamingResponse(
        _changes(request, submissions, job.id), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _changes(request: Request, submissions: Submissions, identifier: str) -> AsyncIterator[str]:
    last, waited = None, 0.0
    while waited < LONGEST_WATCH and not await request.is_disconnected():
        job = await run_in_threadpool(submissions.jobs.get, identifier)
        if job is None:
            return
        if job != last:
            now = await run_in_threadpool(_answer, submissions, job)
            yield f"data: {now.model_dump_json()}\n\n"
        last = job
        if not job.open:
            return
        await asyncio.sleep(EVENT_SECONDS)
        waited += EVENT_SECONDS


@router.post("/submissions/{identifier}/publish", summary="Show a finished submission to everybody")
def publish(submissions: SiteSubmissions, job: OwnJob) -> SubmissionAnswer:
    """The submission as everybody sees it from now on."""
    submissions.publish(job)
    return _answer(submissions, submissions.jobs.get(job.id) or job)


@router.delete("/submissions/{identifier}", status_code=204, summary="Withdraw a submission")
def withdraw(submissions: SiteSubmissions, job: OwnJob) -> Response:
    """Nothing is left of it."""
    submissions.withdraw(job)
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
