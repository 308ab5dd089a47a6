"""Uploads of untrusted zips: limits while one streams in, and checks of its directory afterwards."""

from __future__ import annotations

import asyncio
import re
import struct
import zipfile
from pathlib import Path

import anyio
from fastapi import Request

from stereogauge.datasets.archives import Limits, member_names
from stereogauge.errors import StereogaugeError
from stereogauge.web.submissions.rules import Rules

END_SIGNATURE = b"PK\x05\x06"
END_SIZE = 22
LONGEST_COMMENT = 65535
BYTES_PER_ENTRY = 600
"""An upper bound for the directory entry of a sensible file name."""


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
    size = 0
    try:
        async with asyncio.timeout(rules.upload_seconds), await anyio.open_file(target, "wb") as file:
            async for part in request.stream():
                size += len(part)
                if size > rules.largest_bytes:
                    raise too_large
                await file.write(part)
    except TimeoutError:
        raise UploadRefusedError(f"The upload took longer than {rules.upload_seconds:g} s.", 408) from None
    return size


def check_archive(path: Path, rules: Rules) -> None:
    """Refuse anything but a plain zip of a limited number of plain files, before it is unpacked."""
    _check_directory(path, rules)
    try:
        names = member_names(path, Limits(entries=rules.most_entries, size=rules.largest_unpacked))
    except StereogaugeError as problem:
        raise UploadRefusedError(without_paths(str(problem), path.parent)) from None
    if not names:
        raise UploadRefusedError("The zip holds no files.")


def _check_directory(path: Path, rules: Rules) -> None:
    """Check the directory's length in the end record, so that no larger one is read into memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - END_SIZE - LONGEST_COMMENT))
        tail = file.read()
    index = tail.rfind(END_SIGNATURE)
    if index < 0 or len(tail) - index < END_SIZE or not zipfile.is_zipfile(path):
        raise UploadRefusedError("The upload is not a zip file, or it was cut off.")
    entries, directory = struct.unpack_from("<HL", tail, index + 10)
    if entries > rules.most_entries or directory > rules.most_entries * BYTES_PER_ENTRY:
        raise UploadRefusedError(f"The zip holds more than {rules.most_entries} files.")


def without_paths(sentence: str, folder: Path) -> str:
    """A sentence about files below `folder` without the server's paths."""
    text = sentence.replace(f"{folder}/upload.zip", "The zip").replace(f"{folder}/", "").replace(str(folder), "the zip")
    return re.sub(r"(?<![\w.])/(?:[\w.+-]+/)+", "", text.replace("maps/", ""))
