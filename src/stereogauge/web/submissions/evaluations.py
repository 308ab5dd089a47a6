"""The loop that evaluates the queue of submissions: it outlives every error, and says why when it must wait."""

from __future__ import annotations

import logging
import math
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stereogauge.errors import StoreError
from stereogauge.evaluation.processes import CallCancelled, TimeLimitExceeded
from stereogauge.evaluation.rights import Account
from stereogauge.web.errors import printable
from stereogauge.web.submissions.decoding import HostError, SubmissionError, Upload, decode
from stereogauge.web.submissions.folders import lent
from stereogauge.web.submissions.jobs import Job, Jobs
from stereogauge.web.submissions.rules import Rules
from stereogauge.web.submissions.uploads import MakeWorker, limited_worker
from stereogauge.web.submissions.usage import Attempts
from stereogauge.web.submissions.worker import Decoded, Work, judge

IDLE = 5.0
"""Seconds between two looks at an empty queue."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 60.0
"""Seconds of waiting after the first error and after many in a row."""

log = logging.getLogger(__name__)

MakeWork = Callable[[Job], tuple[Upload, Work]]


class Evaluations:
    """Evaluates submissions one after another in worker processes: one decodes, one judges what that wrote.

    Where they have different users, the one that decodes is used for one submission only, which may have taken it over.
    An error of the host's - a database that does not answer, a full disk - stops nothing for good: the submission goes
    back into the queue and the loop tries again after a pause, for as long as it takes. A worker that dies, or fails in
    a way that nobody foresaw, may be the upload's doing: after three such losses the submission is held for the host.
    Every report of a worker names its submission and attempt, and none is recorded for any other.
    """

    def __init__(
        self,
        jobs: Jobs,
        attempts: Attempts,
        folder: Path,
        rules: Rules,
        make_work: MakeWork,
        make_worker: MakeWorker = limited_worker,
        account: Account | None = None,
    ) -> None:
        self._jobs = jobs
        self._attempts = attempts
        self._folder = folder
        self._rules = rules
        self._make_work = make_work
        self._account = account
        self._decoder = make_worker(rules.memory_bytes, account)
        self._judge = self._decoder if account is None else make_worker(rules.memory_bytes, None)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._withdrawn: set[str] = set()
        self._thread: threading.Thread | None = None
        self.trouble = ""
        """Why nothing can be evaluated at the moment, without the server's paths; "" while all is well."""

    @property
    def running(self) -> bool:
        """Whether the loop was started and goes on."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin with the queue; submissions that were held are tried again."""
        self._stopping.clear()
        self._wake.set()
        self._thread = threading.Thread(target=self._work, name="submissions", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; what is unfinished resumes at the next start."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._decoder.end()
        self._judge.end()

    def wake(self) -> None:
        """Look at the queue now."""
        self._wake.set()

    def withdraw(self, identifier: str) -> None:
        """Stop the evaluation of a submission that is about to be removed."""
        self._withdrawn.add(identifier)

    def _work(self) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            try:
                busy = self.step()
            except Exception as problem:  # whatever it is, the queue must go on
                self.trouble = _public_sentence(problem)
                foreseen = isinstance(problem, StoreError | HostError)
                log.error("Submissions wait: %s", printable(problem), exc_info=not foreseen)
                self._stopping.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            if self.trouble:
                log.warning("Submissions are evaluated again.")
            self.trouble, pause = "", FIRST_PAUSE
            if not busy:
                self._wake.wait(timeout=IDLE)
                self._wake.clear()

    def step(self) -> bool:
        """Evaluate the next submission; returns whether there was one. Raises what concerns all submissions."""
        free = shutil.disk_usage(self._folder).free
        if free < self._rules.least_free:
            raise HostError(f"The disk of the submissions has only {free >> 20} MiB left.")
        self._jobs.resume()  # what is marked as being worked on now was left by an error
        job = self._jobs.next()
        if job is None:
            return False
        upload, work = self._make_work(job)
        attempt = self._jobs.begin(job)
        if attempt is not None:
            self._run(job, attempt, upload, work)
        return True

    def _run(self, job: Job, attempt: int, upload: Upload, work: Work) -> None:
        def cancelled() -> bool:
            return self._stopping.is_set() or job.id in self._withdrawn

        def report(identifier: str, number: int, kind: str, value: Any) -> None:
            if (identifier, number) != (job.id, attempt):
                raise HostError("A worker reported about another submission than the one that it was given.")
            self._record(identifier, number, kind, value)

        try:
            options = {"seconds": self._rules.seconds, "report": report, "cancelled": cancelled}
            decoded = self._decoded(job, upload, options)
            if decoded.ok:
                self._judge.call(judge, str(self._folder / job.id), work, decoded, **options)
            else:
                self._record(job.id, attempt, "invalid", [finding.model_dump() for finding in decoded.findings])
        except CallCancelled:
            if self._jobs.get(job.id) is None:
                shutil.rmtree(self._folder / job.id, ignore_errors=True)
        except SubmissionError as problem:
            self._record(job.id, attempt, "failed", str(problem))
        except TimeLimitExceeded:
            sentence = f"The evaluation took longer than {self._rules.seconds:g} s and was stopped."
            self._record(job.id, attempt, "failed", sentence)
        except (StoreError, HostError):
            raise
        except Exception as problem:
            self._lose(job, attempt, problem)
        finally:
            self._withdrawn.discard(job.id)

    def _decoded(self, job: Job, upload: Upload, options: dict[str, Any]) -> Decoded:
        folder = self._folder / job.id
        try:
            with lent(folder, self._account):
                return Decoded.model_validate(self._decoder.call(decode, upload, within=folder, **options))
        finally:
            if self._account is not None:
                self._decoder.end()

    def _lose(self, job: Job, attempt: int, problem: Exception) -> None:
        held = self._jobs.lose(job.id, attempt)
        if held:
            self._attempts.release(job.id)
        fate = "is held for the host to look at" if held else "is tried again"
        cause = printable(f"{type(problem).__name__}: {problem}")
        log.error("Submission %s %s after attempt %d: %s", job.id, fate, attempt, cause)

    def _record(self, identifier: str, attempt: int, kind: str, value: Any) -> None:
        """Record what happened in an attempt; files are removed only after that is stored."""
        if kind == "state":
            state, progress, message = value
            stored = self._jobs.change(identifier, attempt=attempt, state=state, progress=progress, message=message)
        elif kind == "findings":
            stored = self._jobs.change(identifier, attempt=attempt, findings=value)
        elif kind == "result":
            rows = [{**row, "value": None if math.isnan(row["value"]) else row["value"]} for row in value["scores"]]
            done = {"state": "done", "progress": 1.0, "message": "private until you publish it"}
            stored = self._jobs.change(identifier, attempt=attempt, scores=rows, maps=value["maps"], **done)
            if stored:
                (self._folder / identifier / "upload.zip").unlink(missing_ok=True)
        else:
            problems = sum(finding["severity"] == "problem" for finding in value) if kind == "invalid" else 0
            said = {"message": value} if kind == "failed" else {"findings": value}
            if kind == "invalid":
                cost = (
                    "it does not count" if self._attempts.forgive(identifier) else "too many were invalid, so it counts"
                )
                said["message"] = f"{problems} problem(s) found; nothing was computed, and {cost} as a submission"
            stored = self._jobs.change(identifier, attempt=attempt, state=kind, progress=1.0, **said)
            if stored:
                shutil.rmtree(self._folder / identifier, ignore_errors=True)
        if not stored:
            raise CallCancelled("the submission was withdrawn")


def _public_sentence(problem: Exception) -> str:
    """Why submissions wait, for everybody to read: the log says more."""
    if isinstance(problem, StoreError):
        return "A database does not answer."
    if isinstance(problem, HostError):
        return "The disk is full, or a file of the benchmark cannot be read."
    return f"An unexpected error ({type(problem).__name__})."
