"""NumPy's own files: `npy` with one array, `npz` with one array or one called `disparity`. Never pickles."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.io.content import LARGEST_DEFLATE_RATIO, STEP, Content, Decoding

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000
_TYPE = re.compile(r"""['"]descr['"]\s*:\s*['"]([^'"]*)['"]""")
_ORDER = re.compile(r"""['"]fortran_order['"]\s*:\s*(True|False)""")
_SHAPE = re.compile(r"""['"]shape['"]\s*:\s*\(([^)]*)\)""")


class ArrayHeader(NamedTuple):
    """What an npy header says of the bytes that follow it."""

    dtype: np.dtype[Any]
    fortran: bool
    shape: tuple[int, int]
    start: int

    @property
    def end(self) -> int:
        """The size that the whole file must have."""
        return self.start + self.shape[0] * self.shape[1] * self.dtype.itemsize

    def array(self, data: memoryview) -> DisparityMap:
        """The array of a file whose size was checked, copied out of it."""
        count = self.shape[0] * self.shape[1]
        flat: NDArray[Any] = np.frombuffer(data, self.dtype, count, self.start)
        values = flat.reshape(self.shape, order="F" if self.fortran else "C")
        disparity = as_disparity(values)
        return disparity.copy() if np.shares_memory(disparity, flat) else disparity


def read_npy(content: Content, decoding: Decoding) -> DisparityMap:
    """The array of an npy file."""
    if not content.starts_with(MAGIC):
        raise content.wrong_kind("a NumPy file (.npy)")
    header = _parse_header(bytes(content.data[: LONGEST_HEADER + 12]), content)
    _check_size(header, content.size, content)
    return header.array(content.data)


def read_npz(content: Content, decoding: Decoding) -> DisparityMap:
    """The only array of an npz archive, or the one called `disparity`."""
    if not content.starts_with(b"PK"):
        raise content.wrong_kind("a NumPy archive (.npz)")
    try:
        with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
            return _read_member(archive, _choose(archive, content), content)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,
        NotImplementedError,
        ValueError,
        struct.error,
    ) as error:
        raise content.error("the archive is truncated or damaged.") from error


def encode_npy(disparity: DisparityMap, decoding: Decoding, name: str) -> bytes:
    """The map as a float32 npy file."""
    buffer = io.BytesIO()
    np.save(buffer, disparity, allow_pickle=False)
    return buffer.getvalue()


def _choose(archive: zipfile.ZipFile, content: Content) -> zipfile.ZipInfo:
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if "disparity" in members:
        return members["disparity"]
    if len(members) != 1:
        names = ", ".join(sorted(repr(name) for name in members)[:8]) or "none"
        raise content.error(f"the archive must hold one array or one called 'disparity'; it holds {names}.")
    return next(iter(members.values()))


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, content: Content) -> DisparityMap:
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise content.error("the archive uses a compression that NumPy does not write.")
    if member.file_size > LARGEST_DEFLATE_RATIO * content.size:
        raise content.error(f"the archive promises {member.file_size} bytes, more than {content.size} bytes can hold.")
    with archive.open(member) as stream:
        data = bytearray(stream.read(LONGEST_HEADER + 12))
        if not data.startswith(MAGIC):
            raise content.error("the archive holds something that is not a NumPy array.")
        header = _parse_header(bytes(data), content)
        _check_size(header, member.file_size, content)
        while len(data) < header.end:
            step = stream.read(min(STEP, header.end - len(data)))
            if not step:
                raise content.error("the archive is truncated or damaged.")
            data += step
    return header.array(memoryview(data))


def _parse_header(data: bytes, content: Content) -> ArrayHeader:
    """The header text is matched rather than evaluated, so that no text in it can do or warn of anything."""
    if len(data) < 12 or data[6] not in (1, 2):
        raise content.error("the NumPy header is broken or of an unknown version.")
    (length,), begin = (struct.unpack("<H", data[8:10]), 10) if data[6] == 1 else (struct.unpack("<I", data[8:12]), 12)
    text = data[begin : begin + length].decode("latin1")
    kind, order, shape = _TYPE.search(text), _ORDER.search(text), _SHAPE.search(text)
    if length > LONGEST_HEADER or len(text) < length or order is None or shape is None:
        raise content.error("the NumPy header is broken or truncated.")
    dtype = kind[1] if kind is not None else "a structure"
    if re.fullmatch(r"[<>|=]?[fiu][1248]", dtype) is None:
        raise content.error(f"a disparity map holds real numbers; this array is of type {dtype[:20]!r}.")
    sizes = [part.strip() for part in shape[1].split(",") if part.strip()]
    if len(sizes) != 2 or not all(re.fullmatch(r"-?\d{1,12}", size) for size in sizes):
        raise content.error(
            f"a disparity map has two dimensions (height, width); this array has shape ({shape[1][:60]})."
        )
    height, width = int(sizes[0]), int(sizes[1])
    content.check_dimensions(width, height)
    try:
        return ArrayHeader(np.dtype(dtype), order[1] == "True", (height, width), begin + length)
    except TypeError as error:
        raise content.error(f"a disparity map holds real numbers; this array is of type {dtype!r}.") from error


def _check_size(header: ArrayHeader, size: int, content: Content) -> None:
    if size < header.end:
        height, width = header.shape
        raise content.error(f"truncated: {width} × {height} pixels need {header.end} bytes, there are {size}.")
