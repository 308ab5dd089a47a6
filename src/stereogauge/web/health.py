"""`health`: whether the site answers, and whether submissions are evaluated."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter

from stereogauge.errors import StoreError
from stereogauge.web.answer import Answer
from stereogauge.web.dependencies import CurrentSite

router = APIRouter(tags=["health"])


class HealthAnswer(Answer):
    """Whether everything works; `reason` says why submissions wait, `waiting` how many are in the queue."""

    status: Literal["ok", "waiting", "stopped"]
    reason: str = ""
    waiting: int | None = None


@router.get("/health", summary="Whether submissions are evaluated")
def health(site: CurrentSite) -> HealthAnswer:
    """The state of the queue of submissions; "ok" where the site takes none."""
    if site.submissions is None:
        return HealthAnswer(status="ok")
    evaluations = site.submissions.evaluations
    reason = evaluations.trouble
    try:
        waiting = site.submissions.jobs.waiting()
    except StoreError:
        return HealthAnswer(status="waiting", reason=reason or "A database does not answer.")
    status: Literal["ok", "waiting", "stopped"] = "waiting" if reason else "ok" if evaluations.running else "stopped"
    return HealthAnswer(status=status, reason=reason, waiting=waiting)
