"""The check of an upload's directory, for a process of its own."""

from __future__ import annotations

from pathlib import Path

from stereogauge.datasets.archives import Limits, is_zip, member_names
from stereogauge.errors import StereogaugeError
from stereogauge.web.submissions.sentences import without_paths


def check_archive(folder: str, most_entries: int, largest_unpacked: int) -> str:
    """Why the zip is refused before it is unpacked, as a sentence for its owner; "" where it is in order."""
    archive = Path(folder) / "upload.zip"
    try:
        if not is_zip(archive):
            return "The upload is not a zip file, or it was cut off."
        names = member_names(archive, Limits(entries=most_entries, size=largest_unpacked))
    except StereogaugeError as problem:
        return without_paths(str(problem), archive.parent)
    return "" if names else "The zip holds no files."
