"""NumPy's own files: `npy` with one array, `npz` with one array or one called `disparity`.

`numpy.lib.format` reads the header; the size that it promises is checked against the file before anything is
allocated, which `numpy.load` does not do. A pickle is never loaded.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, as_disparity, plane_shape
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, Decoding, FileContent

LONGEST_HEADER = 10_000
HEADER_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


class ArrayHeader(NamedTuple):
    """What an npy header says about the bytes that follow it."""

    dtype: np.dtype[Any]
    fortran: bool
    shape: tuple[int, int]
    start: int

    @property
    def end(self) -> int:
        """The size that the whole file must have."""
        return self.start + self.shape[0] * self.shape[1] * self.dtype.itemsize

    def array(self, data: memoryview | bytes) -> DisparityMap:
        """The array of a file whose size was checked, copied out of it."""
        count = self.shape[0] * self.shape[1]
        flat: NDArray[Any] = np.frombuffer(data, self.dtype, count, self.start)
        values = flat.reshape(self.shape, order="F" if self.fortran else "C")
        disparity = as_disparity(values)
        return disparity.copy() if np.shares_memory(disparity, flat) else disparity


def read_npy(content: FileContent, decoding: Decoding) -> DisparityMap:
    """The array of an npy file."""
    if not content.starts_with(npy_format.MAGIC_PREFIX):
        raise content.wrong_kind("a NumPy file (.npy)")
    return _read_header(bytes(content.data[: LONGEST_HEADER + 12]), content.size, content).array(content.data)


def read_npz(content: FileContent, decoding: Decoding) -> DisparityMap:
    """The only array of an npz archive, or the one called `disparity`."""
    if not content.starts_with(b"PK"):
        raise content.wrong_kind("a NumPy archive (.npz)")
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            return _read_member(archive, _choose(archive, content), content)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise content.error("the archive is truncated or damaged.") from error


def encode_npy(disparity: DisparityMap, decoding: Decoding, name: str) -> bytes:
    """The map as a float32 npy file."""
    buffer = io.BytesIO()
    np.save(buffer, disparity, allow_pickle=False)
    return buffer.getvalue()


def _choose(archive: zipfile.ZipFile, content: FileContent) -> zipfile.ZipInfo:
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if "disparity" in members:
        return members["disparity"]
    if len(members) != 1:
        names = ", ".join(sorted(repr(name) for name in members)[:8]) or "none"
        raise content.error(f"the archive must hold one array or one called 'disparity'; it holds {names}.")
    return next(iter(members.values()))


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, content: FileContent) -> DisparityMap:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise content.error("the archive uses a compression that NumPy does not write.")
    if member.file_size > LARGEST_DEFLATE_RATIO * content.size:
        raise content.error(f"the archive promises {member.file_size} bytes, more than {content.size} bytes can hold.")
    with archive.open(member) as stream:
        data = stream.read(LONGEST_HEADER + 12)
        if not data.startswith(npy_format.MAGIC_PREFIX):
            raise content.error("the archive holds something that is not a NumPy array.")
        header = _read_header(data, member.file_size, content)
        data += stream.read(max(0, header.end - len(data)))
    if len(data) < header.end:
        raise content.error("the archive is truncated or damaged.")
    return header.array(data)


def _read_header(data: bytes, size: int, content: FileContent) -> ArrayHeader:
    """The header at the start of `data`, possible for an npy file of `size` bytes."""
    stream = io.BytesIO(data)
    try:
        read_header = HEADER_READERS[npy_format.read_magic(stream)]
        shape, fortran, dtype = read_header(stream, max_header_size=LONGEST_HEADER)
    except Exception as error:  # NumPy parses the text as a Python literal, which fails in many ways
        raise content.error("the NumPy header is broken or of an unknown version.") from error
    if dtype.kind not in "fiu":
        raise content.error(f"a disparity map holds real numbers; this array is of type {dtype.str[:20]!r}.")
    plane = plane_shape(shape)
    if plane is None:
        raise content.error(
            f"a disparity map has two dimensions (height, width); this array has shape {str(shape)[:60]}."
        )
    height, width = plane
    content.check_dimensions(width, height)
    header = ArrayHeader(dtype, fortran, plane, stream.tell())
    if size < header.end:
        raise content.error(f"truncated: {width} × {height} pixels need {header.end} bytes, there are {size}.")
    return header
