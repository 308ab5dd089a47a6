"""Decoding in a process of its own, for files whose C libraries can crash on damaged ones.

OpenEXR, HDF5 and SciPy's reader of MATLAB files end the whole program on some damaged files, print to standard error,
or take all memory for a header that lies. One process (`apart_process`) decodes all such files of this one, so that its
start is paid once; it is started again after a file that ended it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereogauge.errors import one_line
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, LARGEST_PIXEL_COUNT, Content

PROGRAM = Path(__file__).with_name("apart_process.py")
TIME_LIMIT = 120
"""Seconds that one file may take."""
LIBRARIES = {"exr": "OpenEXR", "hdf5": "HDF5", "matlab": "SciPy", "matlab-7.3": "HDF5"}
FILES = {"exr": "OpenEXR file", "hdf5": "HDF5 file", "matlab": "MATLAB file", "matlab-7.3": "MATLAB file"}

Kind = Literal["exr", "hdf5", "matlab", "matlab-7.3"]


class _Decoder:
    """The other process, started when it is first needed; one file at a time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def decode(self, request: dict[str, Any], data: memoryview) -> tuple[dict[str, Any], bytes] | None:
        """What the process says about a file and the samples; None where it died of it or was too slow."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            clock = threading.Timer(TIME_LIMIT, process.kill)
            clock.start()
            try:
                process.stdin.write(json.dumps({**request, "bytes": data.nbytes}).encode() + b"\n")
                process.stdin.write(data)
                process.stdin.flush()
                line = process.stdout.readline()
                description: dict[str, Any] = json.loads(line) if line else {}
                samples = process.stdout.read(description["bytes"]) if description else b""
                whole = bool(description) and len(samples) == description["bytes"]
            except (OSError, ValueError):
                whole = False
            finally:
                clock.cancel()
            if not whole:
                self._end()
            return (description, samples) if whole else None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner != os.getpid():
            self._process = None  # this process was forked; the other one is its parent's
        if self._process is None or self._process.poll() is not None:
            self._end()
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._owner = os.getpid()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was still to be written to it is lost
                if pipe is not None:
                    pipe.close()
        process.wait()

    def end(self) -> None:
        """End the process; the next file starts another one."""
        with self._lock:
            self._end()


_DECODER = _Decoder()
atexit.register(_DECODER.end)


def decode_apart(kind: Kind, content: Content) -> NDArray[Any]:
    """The samples of a file as they are stored, decoded in the other process; every failure is a `FileError`."""
    height, width = content.shape or (0, 0)
    limits = {"pixels": LARGEST_PIXEL_COUNT, "ratio": LARGEST_DEFLATE_RATIO, "seconds": TIME_LIMIT}
    answer = _DECODER.decode({"kind": kind, "width": width, "height": height, **limits}, content.data)
    damaged = f"the {FILES[kind]} is truncated or damaged"
    if answer is None:
        raise content.error(f"{damaged} (the {LIBRARIES[kind]} library could not decode it).")
    description, samples = answer
    if description.get("size"):
        content.check_dimensions(*description["size"])
    if "error" in description:
        raise content.error(description["error"])
    if "damage" in description:
        raise content.error(f"{damaged} ({one_line(description['damage'])}).")
    stored, shape = np.dtype(description["type"]), tuple(description["shape"])
    if len(samples) != stored.itemsize * shape[0] * shape[1]:
        raise content.error(f"{damaged} (pixels are missing).")
    return np.frombuffer(samples, stored).reshape(shape)
