"""Uploads of untrusted zips: limits while one streams in, and checks of its directory afterwards."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from fastapi import Request

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.processes import TimeLimitExceeded, WorkerDied, WorkerProcess
from stereogauge.evaluation.rights import Account
from stereogauge.web.submissions.decoding import HostError, SubmissionError
from stereogauge.web.submissions.directory import check_archive
from stereogauge.web.submissions.folders import lent
from stereogauge.web.submissions.rules import Rules

MakeWorker = Callable[[int, Account | None], Any]


def limited_worker(memory_bytes: int, account: Account | None) -> WorkerProcess:
    """A process for files of strangers."""
    return WorkerProcess(memory_bytes, untrusted=True, account=account, errors=(HostError, SubmissionError))


class UploadRefusedError(StereogaugeError):
    """A refused upload, with the HTTP status."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


async def receive(request: Request, target: Path, rules: Rules) -> int:
    """Write the request's body to `target`; stops reading as soon as it is larger or slower than the rules allow."""
    too_large = UploadRefusedError(f"The upload is larger than {rules.largest_bytes >> 20} MiB.", 413)
    declared = request.headers.get("content-length", "0")
    if not declared.isdigit() or int(declared) > rules.largest_bytes:
        raise too_large
    clock = asyncio.get_running_loop().time
    end = clock() + rules.upload_seconds
    size, wanted = 0, rules.least_rate * rules.stall_seconds
    try:
        async with (
            asyncio.timeout_at(min(end, clock() + rules.stall_seconds)) as limit,
            await anyio.open_file(target, "xb", opener=_for_owner) as file,
        ):
            async for part in request.stream():
                size += len(part)
                if size > rules.largest_bytes:
                    raise too_large
                await file.write(part)
                if size >= wanted:
                    limit.reschedule(min(end, clock() + rules.stall_seconds))
                    wanted = size + rules.least_rate * rules.stall_seconds
    except TimeoutError:
        slow = f"slower than {rules.least_rate >> 10} KiB/s or took longer than {rules.upload_seconds:g} s"
        raise UploadRefusedError(f"The upload was {slow}.", 408) from None
    except OSError as problem:
        sentence = f"The upload cannot be stored at the moment ({problem.strerror}); try again later."
        raise UploadRefusedError(sentence, 503) from problem
    return size


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Inspector:
    """Reads the directories of uploads, one at a time, in a process with little time and memory."""

    def __init__(self, rules: Rules, make_worker: MakeWorker = limited_worker, account: Account | None = None) -> None:
        self._rules = rules
        self._account = account
        self._worker = make_worker(rules.checking_memory, account)
        self._lock = threading.Lock()

    def check(self, folder: Path) -> None:
        """Refuse anything but a plain zip of a limited number of plain files, before it is unpacked."""
        rules = self._rules
        limits = (rules.most_entries, rules.largest_unpacked)
        try:
            with self._lock, lent(folder, self._account):
                asked = {"seconds": rules.checking_seconds, "within": folder}
                refusal = str(self._worker.call(check_archive, *limits, **asked))
        except (WorkerDied, TimeLimitExceeded, MemoryError):
            refusal = "The zip cannot be read within the limits of time and memory."
        if refusal:
            raise UploadRefusedError(refusal)

    def end(self) -> None:
        """End the process."""
        with self._lock:
            self._worker.end()
