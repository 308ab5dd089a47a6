"""Sentences about uploads without the server's paths."""

from __future__ import annotations

import re
from pathlib import Path

PARTS = ("unpacked/", "unpacking/", "writing/", "maps/")
QUOTED = re.compile(r"(['\"])/[^'\"\n]*/([^'\"/\n]+)\1")
PLAIN = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")


def without_paths(sentence: str, folder: Path) -> str:
    """A sentence about files below `folder` without the server's paths; a file keeps its name.

    The paths that we know, which may hold blanks, are replaced as a whole; others are found by their slashes.
    """
    text = sentence.replace(f"{folder}/upload.zip", "The zip").replace(f"{folder}/", "").replace(str(folder), "the zip")
    text = re.sub(r"\.unpacking-\w+/", "", text)
    for part in PARTS:
        text = text.replace(part, "")
    for parent in folder.parents:
        if parent != parent.parent:
            text = text.replace(f"{parent}/", "").replace(str(parent), "the server")
    return PLAIN.sub("", QUOTED.sub(r"\1\2\1", text))
