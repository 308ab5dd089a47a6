"""What a process that reads uploads might do after one of them has taken it over."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import IO, Any

from stereogauge import read_disparity
from stereogauge.errors import FileError
from stereogauge.web.submissions.decoding import _members, read_map, read_texts


def upload_path() -> Path:
    """The upload that this process reads."""
    return Path(str(next(iter(_members.values()))[0].filename))


def forging(file: IO[bytes], *rest: Any) -> dict[str, Any]:
    """Says what only the judge and the server may say: scores, another algorithm, files elsewhere."""
    score = {"algorithm": "good", "metric": "rms", "region": "all", "value": 0.0}
    maps = [{"scene": "alpha", "kind": "map", "file": "alpha.pfm", "path": "/etc/hostname"}]
    return {"findings": [], "maps": maps, "scores": [score], "state": "published"}


def naming_the_truth(file: IO[bytes], manifest: str | None, times: list[str]) -> dict[str, Any]:
    """Names files and scenes outside of the upload as its maps."""
    stated = read_texts(file, manifest, times)
    places = ("../../../data/beta/disp.pfm", "/etc/hostname", "beta.pfm")
    listed = [{"scene": "alpha", "kind": "map", "file": place} for place in places]
    listed += [{"scene": "../../x", "kind": "map", "file": "alpha.pfm"}]
    listed += [{"scene": "alpha", "kind": "confidence", "measure": "../..", "file": "alpha.pfm"}]
    return {**stated, "findings": [], "maps": listed}


def waiting(*about: Any) -> Any:
    """Reads the texts as it should; what is to be run later is imported now, since no file can be opened then."""
    return read_texts(*about)


def copying_the_truth(name: str, *rest: Any) -> bytes | str:
    """Answers with the pixels of the ground truth, which files of the same user hold."""
    data = upload_path().parents[2] / "truth" / Path(name).stem / "disp.pfm"
    with contextlib.suppress(OSError, FileError):
        return bytes(read_disparity(data).astype("<f4").tobytes())
    return read_map(name, *rest)


def linking(*about: Any) -> bytes | str:
    """Leaves links where the server is about to write, and tries to write itself."""
    folder = upload_path().parent
    victim = folder.parents[1] / "victim"
    with contextlib.suppress(OSError):
        (folder / "maps").symlink_to(victim)
    with contextlib.suppress(OSError):
        (victim / "written").write_bytes(b"by the decoder")
    return read_map(*about)


def replacing(*about: Any) -> bytes | str:
    """Puts a link in the place of the submission's whole folder."""
    folder = upload_path().parent
    with contextlib.suppress(OSError):
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(folder.parents[1] / "victim")
    return read_map(*about)


def destroying(*about: Any) -> bytes | str:
    """Deletes what the user of the server may, and ends another process of this user."""
    folder = upload_path().parents[1]
    for path in (folder / "submissions.sqlite", folder.parent / "scores.sqlite"):
        with contextlib.suppress(OSError):
            path.unlink()
    with contextlib.suppress(OSError):
        os.kill(int(os.readlink(folder.parent / "process")), signal.SIGTERM)
    return read_map(*about)


def forking(file: IO[bytes], *rest: Any) -> dict[str, Any]:
    """Starts a process that is to outlive this one."""
    if os.fork() == 0:
        time.sleep(600)
    return read_texts(file, *rest)
