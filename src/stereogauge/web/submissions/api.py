"""The calls of the API about submissions; all except the rules need a token."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, suppress
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from stereogauge.web.answer import Answer
from stereogauge.web.submissions.access import AccessError
from stereogauge.web.submissions.jobs import Job
from stereogauge.web.submissions.results import ColumnResult
from stereogauge.web.submissions.submissions import Submissions
from stereogauge.web.submissions.uploads import UploadRefusedError, receive

EVENT_SECONDS = 0.3
LONGEST_WATCH = 6 * 3600.0
LINK = re.compile(r"https?://[^\s\"'<>]+")

router = APIRouter(tags=["submissions"])


class FindingEntry(Answer):
    """One finding about a submission, as a sentence."""

    severity: str
    sentence: str
    scene: str


class SubmissionEntry(Answer):
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
    """A submission with its results beside the best of the other algorithms."""

    scores: list[ColumnResult]


class OwnSubmissions(Answer):
    """All submissions of one submitter."""

    submitter: str
    left: int
    submissions: list[SubmissionEntry]


class RulesAnswer(Answer):
    """The dataset and the limits of submissions."""

    dataset: str
    scenes: int
    hidden: int
    per_period: int
    period_hours: float
    largest_bytes: int
    most_entries: int


def current_submissions(request: Request) -> Submissions:
    """The submissions of the current site; these routes exist only where it accepts submissions."""
    return cast(Submissions, request.app.state.site.submissions)


CurrentSubmissions = Annotated[Submissions, Depends(current_submissions)]


def owned_job(request: Request, submissions: CurrentSubmissions, identifier: str) -> Job:
    """The requested submission, if it belongs to the token's owner."""
    return submissions.own(request, identifier)


OwnedJob = Annotated[Job, Depends(owned_job)]


def _answer(submissions: Submissions, job: Job) -> SubmissionAnswer:
    return SubmissionAnswer.of(job, scores=[] if job.open else submissions.results(job))


@router.get("/submissions/rules", summary="What may be submitted")
def rules(submissions: CurrentSubmissions) -> RulesAnswer:
    """The dataset and the limits."""
    dataset, limits = submissions.dataset(), submissions.rules
    hidden = sum(submissions.hidden(scene.id, dataset.name) for scene in dataset)
    return RulesAnswer.of(limits, dataset=dataset.name, scenes=len(dataset), hidden=hidden)


@router.post("/submissions", status_code=202, summary="Upload a zip of maps as the request's body")
async def submit(
    request: Request,
    submissions: CurrentSubmissions,
    name: Annotated[str, Query(min_length=1, max_length=200, description="Name of the algorithm.")],
    description: Annotated[str, Query(max_length=500)] = "",
    link: Annotated[str, Query(max_length=300)] = "",
) -> SubmissionEntry:
    """Accept an upload; whatever can be refused without reading it is refused first."""
    owner = await run_in_threadpool(submissions.submitter, request)
    if link and not (LINK.fullmatch(link) and link.isprintable()):
        raise UploadRefusedError(f"A link begins with http:// or https:// and has no spaces or quotes; found {link!r}.")
    about = " ".join(description.split())
    if not about.isprintable():
        raise UploadRefusedError("A description holds printable letters only; found a control character.")
    checked = await run_in_threadpool(submissions.check_name, name, owner)
    if submissions.uploading.locked():
        raise UploadRefusedError("Too many uploads at the moment; try again in a minute.", 503)
    async with submissions.uploading:
        job = await _received(request, submissions, owner, checked, about, link)
    return SubmissionEntry.of(job)


async def _received(request: Request, submissions: Submissions, owner: str, *about: str) -> Job:
    """The new submission of an upload that is a plain zip; nothing is kept of any other upload."""
    accepting = submissions.accepting(owner)
    identifier, folder = await run_in_threadpool(accepting.__enter__)
    try:
        await receive(request, folder / "upload.zip", submissions.rules)
        await run_in_threadpool(submissions.inspector.check, folder)
        job = await run_in_threadpool(submissions.enqueue, identifier, owner, *about)
    except BaseException as problem:
        # Shielded from a cancellation: what the upload took must be given back in any case.
        await asyncio.shield(run_in_threadpool(_give_back, accepting, problem))
        if isinstance(problem, ClientDisconnect):
            raise UploadRefusedError("The upload was cut off.", 400) from None
        raise
    await run_in_threadpool(accepting.__exit__, None, None, None)
    return job


def _give_back(accepting: AbstractContextManager[Any], problem: BaseException) -> None:
    with suppress(BaseException):
        accepting.__exit__(type(problem), problem, problem.__traceback__)


@router.get("/submissions", summary="The submissions of the token's owner")
def own_submissions(request: Request, submissions: CurrentSubmissions) -> OwnSubmissions:
    """All submissions of the token's owner."""
    owner = submissions.submitter(request)
    return OwnSubmissions(
        submitter=owner,
        left=submissions.attempts.left(owner),
        submissions=[SubmissionEntry.of(job) for job in submissions.jobs.of(owner)],
    )


@router.get("/submissions/{identifier}", summary="State and results of a submission")
def state(submissions: CurrentSubmissions, job: OwnedJob) -> SubmissionAnswer:
    """The submission with its results."""
    return _answer(submissions, job)


@router.get("/submissions/{identifier}/events", summary="Live progress as server-sent events")
async def events(request: Request, submissions: CurrentSubmissions, job: OwnedJob) -> StreamingResponse:
    """The submission whenever it changes, until it is finished."""
    watching = submissions.watching(job.submitter)
    watching.__enter__()  # here, so that it is refused before the answer begins; `_changes` leaves it
    changes = _changes(request, submissions, job.id, watching)
    return StreamingResponse(changes, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


async def _changes(
    request: Request, submissions: Submissions, identifier: str, watching: AbstractContextManager[None]
) -> AsyncIterator[str]:
    try:
        async for event in _events(request, submissions, identifier):
            yield event
    finally:
        watching.__exit__(None, None, None)


async def _events(request: Request, submissions: Submissions, identifier: str) -> AsyncIterator[str]:
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
def publish(submissions: CurrentSubmissions, job: OwnedJob) -> SubmissionAnswer:
    """The published submission."""
    submissions.publish(job)
    return _answer(submissions, submissions.jobs.get(job.id) or job)


@router.delete("/submissions/{identifier}", status_code=204, summary="Withdraw a submission")
def withdraw(submissions: CurrentSubmissions, job: OwnedJob) -> Response:
    """Delete the submission, its files and its scores."""
    submissions.withdraw(job)
    return Response(status_code=204)


def register_submission_refusals(app: FastAPI) -> None:
    """Answer refused uploads and wrong tokens with their status."""

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
