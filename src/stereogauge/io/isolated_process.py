"""Decode files whose C libraries can crash on damaged ones; `stereogauge.io.isolated` runs this as a program.

A request on standard input is one line of JSON, with the kind of file, the number of its bytes and what is expected of
it, followed by these bytes. The answer on standard output is one line of JSON with the type, shape and number of bytes
of the samples, followed by the samples; or with `error`, a sentence, and `size` where it is the size that is wrong.
"""

from __future__ import annotations

import io
import json
import math
import signal
import sys
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

NAME = "disparity"
EXR_TYPES = {"HALF": "<f2", "FLOAT": "<f4"}
MATLAB_NUMBERS = ("double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SHOWN = 8

Request: TypeAlias = dict[str, Any]
Answer: TypeAlias = tuple[dict[str, Any], Any]


class Refused(Exception):  # noqa: N818 - not a mistake of this program
    """A file that is not decoded, with a sentence and maybe its (width, height)."""

    def __init__(self, sentence: str, size: tuple[int, int] | None = None) -> None:
        super().__init__(sentence)
        self.size = size


def main() -> None:
    """Answer requests until standard input ends."""
    # Ends a decoder that hangs even where its parent process is gone.
    alarm = getattr(signal, "alarm", lambda seconds: None)
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        data = sys.stdin.buffer.read(request["bytes"])
        alarm(request["seconds"])
        try:
            description, samples = KINDS[request["kind"]](data, request)
        except Refused as refusal:
            description, samples = {"error": str(refusal), "size": refusal.size}, b""
        except Exception as problem:  # the libraries turn damage into OSError, RuntimeError, KeyError and others
            description, samples = {"damage": f"{problem}"}, b""
        alarm(0)
        view = memoryview(samples).cast("B") if len(samples) else memoryview(b"")
        sys.stdout.buffer.write(json.dumps({**description, "bytes": view.nbytes}).encode() + b"\n")
        sys.stdout.buffer.write(view)
        sys.stdout.buffer.flush()


def check_size(width: int, height: int, request: Request) -> None:
    """Refuse another size than the expected one, or one that is too large."""
    wanted = request["width"], request["height"]
    if min(width, height) < 1 or width * height > request["pixels"] or (any(wanted) and (width, height) != wanted):
        raise Refused(f"the header says {width} × {height} pixels.", (width, height))


def exr(data: bytes, request: Request) -> Answer:
    """The channel `disparity` of an OpenEXR image, or its only one."""
    import OpenEXR

    file = OpenEXR.InputFile(io.BytesIO(data))
    header = file.header()
    window, channels = header["dataWindow"], header["channels"]
    width, height = window.max.x - window.min.x + 1, window.max.y - window.min.y + 1
    check_size(width, height, request)
    bytes_per_pixel = sum(2 if str(channel.type) == "HALF" else 4 for channel in channels.values())
    if width * height * bytes_per_pixel > request["ratio"] * len(data):
        raise Refused(f"truncated: {width} × {height} pixels are more than the file can hold.")
    names = [name for name in channels if name == NAME] or sorted(channels)
    if len(names) != 1:
        listed = ", ".join(name[:20] for name in names[:SHOWN]) or "none"
        raise Refused(f"a disparity map has one channel or one called {NAME!r}; this image has {listed!r}.")
    channel = channels[names[0]]
    if str(channel.type) not in EXR_TYPES or (channel.xSampling, channel.ySampling) != (1, 1):
        raise Refused(f"the channel {names[0]!r} must hold one float per pixel; this one does not.")
    samples = file.channel(names[0])
    return {"type": EXR_TYPES[str(channel.type)], "shape": (height, width)}, samples


def hdf5(data: bytes, request: Request) -> Answer:
    """The dataset `disparity` of an HDF5 file."""
    import h5py

    with h5py.File(io.BytesIO(data), "r") as file:
        return _dataset(h5py, file, data, request, NAME, "f")


def matlab_hdf5(data: bytes, request: Request) -> Answer:
    """The matrix of a MATLAB file of version 7.3, which is HDF5; MATLAB stores matrices transposed."""
    import h5py

    with h5py.File(io.BytesIO(data), "r") as file:
        kept = [name for name in file if isinstance(file.get(name, getlink=True), h5py.HardLink)]
        names = [name for name in kept if isinstance(file[name], h5py.Dataset) and file[name].ndim == 2]
        return _dataset(h5py, file, data, request, _chosen(names), "fiu", transposed=True)


def matlab(data: bytes, request: Request) -> Answer:
    """The matrix of a MATLAB file of version 5 to 7."""
    from scipy.io import loadmat, whosmat

    found = {name: (shape, kind) for name, shape, kind in whosmat(io.BytesIO(data))}
    name = _chosen([name for name, (shape, kind) in found.items() if len(shape) == 2 and kind in MATLAB_NUMBERS])
    height, width = found[name][0]
    check_size(width, height, request)
    if width * height > request["ratio"] * len(data):
        raise Refused(f"{name!r} promises {width} × {height} values, more than {len(data)} bytes can hold.")
    values = loadmat(io.BytesIO(data), variable_names=[name])[name]
    if values.dtype.kind not in "fiu" or values.shape != (height, width):
        raise Refused(f"{name!r} must hold {width} × {height} numbers; this file is damaged.")
    return {"type": values.dtype.str, "shape": values.shape}, values.tobytes()


def _chosen(names: list[str]) -> str:
    if NAME in names or len(names) == 1:
        return NAME if NAME in names else names[0]
    shown = ", ".join(sorted(names)[:SHOWN]) or "none"
    raise Refused(f"the file must hold one matrix or one called {NAME!r}; it holds {shown}.")


def _dataset(
    h5py: Any,
    file: Any,
    data: bytes,
    request: Request,
    name: str,
    kinds: Collection[str],
    *,
    transposed: bool = False,
) -> Answer:
    """A dataset of two dimensions and of numbers of these kinds, stored in this file."""
    link = file.get(name, getlink=True)
    # A soft or external link, or external storage, could point to any other file of the machine.
    if link is not None and not isinstance(link, h5py.HardLink):
        raise Refused(f"{name!r} is a link; it must be a dataset stored in this file.")
    if link is None:
        names = ", ".join(sorted(file)[:SHOWN]) or "none"
        raise Refused(f"a .dsp5 file holds a dataset called {name!r}; this one holds {names}.")
    dataset = file[name]
    if not isinstance(dataset, h5py.Dataset) or dataset.is_virtual or dataset.external:
        raise Refused(f"{name!r} is not a dataset stored in this file.")
    if dataset.shape is None or len(dataset.shape) != 2:
        raise Refused(f"a disparity map has two dimensions (height, width); {name!r} has shape {dataset.shape}.")
    if dataset.dtype.kind not in kinds:
        numbers = "floats" if len(kinds) == 1 else "numbers"
        raise Refused(f"{name!r} must hold {numbers}; it holds {dataset.dtype}.")
    height, width = dataset.shape[::-1] if transposed else dataset.shape
    check_size(width, height, request)
    _check_storage(dataset, data, name, request)
    values = dataset[...]
    return {"type": values.dtype.str, "shape": values.shape}, values.data if values.size else b""


def _check_storage(dataset: Any, data: bytes, name: str, request: Request) -> None:
    """Refuse pixels that are not all stored in the file, before memory is allocated for them."""
    stored = dataset.id.get_storage_size()
    ratio = request["ratio"] if dataset.chunks and dataset.compression else 1
    whole = dataset.chunks is None or dataset.id.get_num_chunks() == math.prod(
        -(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks, strict=True)
    )
    chunk_bytes = math.prod(dataset.chunks or (1,)) * dataset.dtype.itemsize
    if stored > len(data) or not whole or max(dataset.nbytes, chunk_bytes) > ratio * stored:
        held = min(stored, len(data))
        raise Refused(f"truncated: {name!r} promises {dataset.nbytes} bytes, the file holds {held} of them.")


KINDS: dict[str, Callable[[bytes, Request], Answer]] = {
    "exr": exr,
    "hdf5": hdf5,
    "matlab": matlab,
    "matlab-7.3": matlab_hdf5,
}


if __name__ == "__main__":
    main()
