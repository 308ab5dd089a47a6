"""OpenEXR, HDF5 and MATLAB files, decoded in a separate process.

Their C libraries end the whole program on some damaged files, print to standard error, or allocate all memory for a
false header. One process (`isolated_process`) decodes all such files of this one, so that it is started once; it is
started again after a file that ended it. In all of them NaN and ±inf are unknown.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.errors import one_line
from stereogauge.io.content import (
    LARGEST_DEFLATE_RATIO,
    LARGEST_PIXEL_COUNT,
    Decoding,
    FileContent,
    inflates_beyond,
    largest_content,
    require_installed,
)

PROGRAM = Path(__file__).with_name("isolated_process.py")
TIME_LIMIT = 120
"""Seconds that one file may take."""
FORMATS = {
    "exr": ("OpenEXR file", "OpenEXR"),
    "hdf5": ("HDF5 file", "HDF5"),
    "matlab": ("MATLAB file", "SciPy"),
    "matlab-7.3": ("MATLAB file", "HDF5"),
}
"""What errors call a file of each kind, and the library that decodes it."""
EXR_MAGIC, HDF5_MAGIC = b"\x76\x2f\x31\x01", b"\x89HDF\r\n\x1a\n"
EXR_DEEP, EXR_MULTI_PART = 0x800, 0x1000
MATLAB_HDF5_START = 512
"""Bytes that MATLAB puts before the HDF5 content of a 7.3 file."""
MATLAB_HEADER, MATLAB_COMPRESSED = 128, 15

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
                description: dict[str, Any] = json.loads(process.stdout.readline())
                samples = process.stdout.read(description["bytes"])
                if len(samples) == description["bytes"]:
                    return description, samples
            except (OSError, ValueError):  # it ended in the middle
                pass
            finally:
                clock.cancel()
            self.end()
            return None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._owner != os.getpid():
            self._process = None  # this process was forked; the other one is its parent's
        if self._process is None or self._process.poll() is not None:
            self.end()
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._owner = os.getpid()
        return self._process

    def end(self) -> None:
        """End the process; the next file starts another one."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # what was still to be written to it is lost
                if pipe is not None:
                    pipe.close()
        process.wait()


_DECODER = _Decoder()
atexit.register(_DECODER.end)


def decode_isolated(kind: Kind, content: FileContent) -> NDArray[Any]:
    """The samples of a file as they are stored, decoded in the other process; every failure is a `FileError`."""
    height, width = content.shape or (0, 0)
    limits = {"pixels": LARGEST_PIXEL_COUNT, "ratio": LARGEST_DEFLATE_RATIO, "seconds": TIME_LIMIT}
    answer = _DECODER.decode({"kind": kind, "width": width, "height": height, **limits}, content.data)
    file, library = FORMATS[kind]
    damaged = f"the {file} is truncated or damaged"
    if answer is None:
        raise content.error(f"{damaged} (the {library} library could not decode it).")
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


def read_exr(content: FileContent, decoding: Decoding) -> DisparityMap:
    """The only float channel of an OpenEXR image, or the one called `disparity`."""
    if not content.starts_with(EXR_MAGIC):
        raise content.wrong_kind("an OpenEXR file")
    if int.from_bytes(content.data[4:8], "little") & (EXR_DEEP | EXR_MULTI_PART):
        raise content.error("this OpenEXR file is deep or has several parts; a disparity map is one flat image.")
    require_installed("OpenEXR", content.name, "an OpenEXR file")
    return as_disparity(decode_isolated("exr", content)).copy()


def read_spring(content: FileContent, decoding: Decoding) -> DisparityMap:
    """Spring's `.dsp5`: the absolute values of the dataset `disparity` of an HDF5 file."""
    if not content.starts_with(HDF5_MAGIC):
        raise content.wrong_kind("an HDF5 file (.dsp5)")
    require_installed("h5py", content.name, "an HDF5 file")
    return np.abs(as_disparity(decode_isolated("hdf5", content)))


def read_matlab(content: FileContent, decoding: Decoding) -> DisparityMap:
    """The only matrix of a .mat file, or the one called `disparity`.

    Versions up to 7 are read by SciPy. Version 7.3 is HDF5, in which MATLAB stores matrices transposed.
    """
    if bytes(content.data[MATLAB_HDF5_START : MATLAB_HDF5_START + 8]) == HDF5_MAGIC:
        require_installed("h5py", content.name, "a MATLAB file of version 7.3")
        return np.ascontiguousarray(as_disparity(decode_isolated("matlab-7.3", content)).T)
    if not content.starts_with(b"MATLAB 5.0 MAT-file"):
        raise content.wrong_kind("a MATLAB file (.mat) of version 5 or later")
    _check_inflated(content)
    return as_disparity(decode_isolated("matlab", content)).copy()


def _check_inflated(content: FileContent) -> None:
    """Refuse compressed variables that unpack to more than a map of the expected size, which SciPy would all unpack."""
    limit = largest_content(content.shape)
    order = "<" if bytes(content.data[MATLAB_HEADER - 2 : MATLAB_HEADER]) == b"IM" else ">"
    place = MATLAB_HEADER
    while place + 8 <= content.size:
        kind, length = struct.unpack_from(f"{order}II", content.data, place)
        start, place = place + 8, place + 8 + length
        try:
            too_large = kind == MATLAB_COMPRESSED and inflates_beyond(content.data[start:place], limit)
        except zlib.error as error:
            raise content.error(f"the MATLAB file is truncated or damaged ({one_line(error)}).") from error
        if too_large:
            raise content.error(f"a variable unpacks to more than the {limit} bytes that it may have.")
