"""Generates malformed files of every encoding, and metrics in a process of its own what reading them does.

Run as a program it prints one JSON document: for each file what came out, and how much memory was allocated at most. It
is a program so that everything written to standard error, also by compiled libraries, can be seen, and so that a crash
is one failed test rather than the end of the run.
"""

from __future__ import annotations

import importlib
import io
import json
import random
import resource
import struct
import sys
import tempfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stereogauge import StereogaugeError, read_disparity

HEIGHT, WIDTH = 24, 40
ADDRESS_SPACE = 4 << 30
SIZES = (0, 1, 2, 39, 41, 4000, 65535, 2**20, 2**27, 2**31 - 1, 2**32 - 1)


class Sample(NamedTuple):
    """A malformed (or at least unusual) file and how it is asked to be read."""

    kind: str
    suffix: str
    data: bytes
    options: dict[str, Any]


def disparity() -> np.ndarray:
    values = np.random.default_rng(7).uniform(1, 60, (HEIGHT, WIDTH)).astype(np.float32)
    values[:3, :5] = np.nan
    return values


def pfm_file(width: object = WIDTH, height: object = HEIGHT, scale: object = -1.0, magic: str = "Pf") -> bytes:
    return f"{magic}\n{width} {height}\n{scale}\n".encode() + disparity().tobytes()


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_file(
    width: int = WIDTH, height: int = HEIGHT, depth: int = 16, colour: int = 0, samples: int = 2, extra: bytes = b""
) -> bytes:
    """A PNG whose header need not agree with its HEIGHT rows of WIDTH × `samples` bytes."""
    rows = np.random.default_rng(3).integers(1, 200, (HEIGHT, WIDTH * samples), dtype=np.uint8)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", width & 0xFFFFFFFF, height & 0xFFFFFFFF, depth, colour, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(raw))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + body + chunk(b"IEND", b"")


def pgm_file(width: object = WIDTH, height: object = HEIGHT, largest: object = 255, magic: str = "P5") -> bytes:
    return f"{magic}\n{width} {height}\n{largest}\n".encode() + bytes(range(1, 241)) * (HEIGHT * WIDTH // 240)


def npy_file(array: np.ndarray | None = None) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, disparity() if array is None else array, allow_pickle=True)
    return buffer.getvalue()


def lying_npy(shape: str, descr: str = "'<f4'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + disparity().tobytes()


def npz_file(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tiff_file(array: np.ndarray | None = None, **options: Any) -> bytes:
    import tifffile

    buffer = io.BytesIO()
    tifffile.imwrite(buffer, disparity() if array is None else array, metadata=None, **options)
    return buffer.getvalue()


def exr_file(channels: dict[str, np.ndarray] | None = None, compression: str = "ZIP") -> bytes:
    import OpenEXR

    header = {"compression": getattr(OpenEXR, f"{compression}_COMPRESSION"), "type": OpenEXR.scanlineimage}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.exr"
        OpenEXR.File(header, channels or {"Y": disparity()}).write(str(path))
        return path.read_bytes()


def hdf5_file(name: str = "disparity", array: np.ndarray | None = None, **options: Any) -> bytes:
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        if array is None and "shape" not in options:
            array = disparity()
        file.create_dataset(name, data=array, **options)
    return buffer.getvalue()


def whole_files() -> list[Sample]:
    """One good file of each encoding and kind of storage."""
    grey = {"encoding": "middlebury", "scale": 4}
    return [
        Sample("pfm", ".pfm", pfm_file(), {}),
        Sample("pfm", ".pfm", pfm_file(scale=1.0), {}),
        Sample("kitti", ".png", png_file(), {}),
        Sample("middlebury", ".png", png_file(depth=8, samples=1), grey),
        Sample("middlebury", ".pgm", pgm_file(), grey),
        Sample("sintel", ".png", png_file(depth=8, colour=2, samples=3), {"encoding": "sintel"}),
        Sample("npy", ".npy", npy_file(), {}),
        Sample("npz", ".npz", npz_file({"disparity.npy": npy_file()}), {}),
        Sample("tiff", ".tif", tiff_file(), {}),
        Sample("tiff", ".tif", tiff_file(compression="zlib", rowsperstrip=8), {}),
        Sample("tiff", ".tif", tiff_file(compression="lzw", tile=(16, 16)), {}),
        Sample("exr", ".exr", exr_file(), {}),
        Sample("exr", ".exr", exr_file(compression="NO"), {}),
        Sample("spring", ".dsp5", hdf5_file(), {}),
        Sample("spring", ".dsp5", hdf5_file(compression="gzip", chunks=(8, 8)), {}),
    ]


def lying_headers() -> Iterator[Sample]:
    """Headers that promise another size, type or channel count than the file has."""
    grey = {"encoding": "middlebury", "scale": 4}
    sizes = [(width, height) for width in SIZES for height in SIZES]
    for width, height in sizes:
        yield Sample("pfm", ".pfm", pfm_file(width, height), {})
        yield Sample("pfm", ".pfm", pfm_file(-width, height), {})
        yield Sample("kitti", ".png", png_file(width, height), {})
        yield Sample("middlebury", ".png", png_file(width, height, 8, samples=1), grey)
        yield Sample("middlebury", ".pgm", pgm_file(width, height), grey)
        yield Sample("sintel", ".png", png_file(width, height, 8, 2, 3), {"encoding": "sintel"})
        yield Sample("npy", ".npy", lying_npy(f"({height}, {width})"), {})
        yield Sample("npz", ".npz", npz_file({"a.npy": lying_npy(f"({height}, {width})")}), {})
    for width, height in sizes[::3]:
        yield Sample("tiff", ".tif", patched_tiff(width, height), {})
    for width, height in sizes[::12]:
        yield Sample("exr", ".exr", patched_exr(width, height), {})
    yield Sample("spring", ".dsp5", hdf5_file(shape=(0, 5), dtype="f4"), {})
    for tag in (256, 257, 278, 273, 279, 258):
        for kind, count in ((4, 257), (4, 2**31), (3, 0), (12, 1), (5, 3), (2, 4), (99, 7)):
            yield Sample("tiff", ".tif", retyped_tiff(tag, kind, count), {})
    for shape in ((2**14, 2**14), (2**31, 2**28), (4000, 4000)):
        yield Sample("spring", ".dsp5", hdf5_file(shape=shape, dtype="f4"), {})
        yield Sample("spring", ".dsp5", hdf5_file(shape=shape, dtype="f4", chunks=(1, 1), compression="gzip"), {})


def patched_tiff(width: int, height: int) -> bytes:
    """A TIFF whose ImageWidth, ImageLength and RowsPerStrip entries are overwritten."""
    data = bytearray(tiff_file())
    (directory,) = struct.unpack("<I", data[4:8])
    (count,) = struct.unpack("<H", data[directory : directory + 2])
    for entry in range(directory + 2, directory + 2 + 12 * count, 12):
        (tag,) = struct.unpack("<H", data[entry : entry + 2])
        if tag in (256, 257, 278):
            value = width if tag == 256 else height
            data[entry + 2 : entry + 12] = struct.pack("<HII", 4, 1, value & 0xFFFFFFFF)
    return bytes(data)


def retyped_tiff(tag: int, kind: int, count: int) -> bytes:
    """A TIFF one of whose entries has another type and number of values."""
    data = bytearray(tiff_file())
    place = data.index(struct.pack("<H", tag), 8)
    data[place + 2 : place + 8] = struct.pack("<HI", kind, count)
    return bytes(data)


def patched_exr(width: int, height: int) -> bytes:
    """An EXR whose data window is overwritten."""
    data = bytearray(exr_file())
    place = data.index(b"dataWindow\0box2i\0") + 21
    data[place : place + 16] = struct.pack("<4I", 0, 0, (width - 1) & 0xFFFFFFFF, (height - 1) & 0xFFFFFFFF)
    return bytes(data)


def wrong_types() -> Iterator[Sample]:
    """Files that are whole, and not what they are asked to be."""
    linear = {"encoding": "middlebury", "scale": 4}
    kinds: list[tuple[str, dict[str, Any]]] = [(".png", linear), (".pgm", linear)]
    kinds += [(".png", {"encoding": "sintel"}), (".png", {"encoding": "kitti"})]
    kinds += [(suffix, {}) for suffix in (".pfm", ".png", ".npy", ".npz", ".tif", ".exr", ".dsp5", ".bin")]
    contents = [sample.data for sample in whole_files()]
    contents += [
        b"",
        b"\n",
        b"<html></html>",
        b"version https://git-lfs.github.com/spec/v1\n",
        bytes(5000),
        b"P2\n2 1\n9\n1 2\n",
    ]
    for suffix, options in kinds:
        for content in contents:
            yield Sample("type", suffix, content, options)
    depths = ((8, 0, 1), (8, 2, 3), (16, 2, 6), (8, 4, 2), (8, 6, 4), (16, 4, 4), (4, 0, 1), (1, 0, 1), (8, 3, 1))
    for depth, colour, samples in depths:
        for _, options in kinds:
            yield Sample("png", ".png", png_file(depth=depth, colour=colour, samples=samples), options)
    rng = np.random.default_rng(5)
    arrays = [rng.random((4, 5, 3)), rng.random(7), np.array([[None]]), np.array([["a"]]), np.array(3.0)]
    arrays += [np.zeros((3, 3), complex), np.zeros((2, 2), bool), np.zeros((0, 4)), np.zeros((2, 2), [("a", "f4")])]
    for array in arrays:
        yield Sample("npy", ".npy", npy_file(array), {})
        yield Sample("npz", ".npz", npz_file({"x.npy": npy_file(array)}), {})
    for descr in ("'|O'", "'<f4\\d'", "'<c8'", "'<f3'", "[('a', '<f4')]", "'V4'", "1or 2"):
        yield Sample("npy", ".npy", lying_npy(f"({HEIGHT}, {WIDTH})", descr), {})
    for shape in ("()", "(5)", "(-1, 4)", "(24, 40, 1)", "('a', 2)", "(1e3, 2)", f"({'9' * 40}, 1)", "(24, 40"):
        yield Sample("npy", ".npy", lying_npy(shape), {})
    yield Sample("npz", ".npz", npz_file({"a.npy": npy_file(), "b.npy": npy_file()}), {})
    yield Sample("npz", ".npz", npz_file({}), {})
    yield Sample("npz", ".npz", npz_file({"a.npy": npy_file()}, zipfile.ZIP_LZMA), {})
    yield Sample("tiff", ".tif", tiff_file(np.zeros((4, 5), np.uint16)), {})
    yield Sample("tiff", ".tif", tiff_file(np.zeros((4, 5, 3), np.float32), photometric="rgb"), {})
    yield Sample("tiff", ".tif", tiff_file(np.zeros((3, 40, 50), np.float32), photometric="minisblack"), {})
    yield Sample("exr", ".exr", exr_file({"RGB": np.zeros((4, 5, 3), np.float32)}), {})
    yield Sample("exr", ".exr", exr_file({"Y": np.zeros((4, 5), np.uint32)}), {})
    yield Sample("spring", ".dsp5", hdf5_file("flow"), {})
    yield Sample("spring", ".dsp5", hdf5_file(array=np.zeros((4, 5), np.int16)), {})
    yield Sample("spring", ".dsp5", hdf5_file(array=np.zeros((4, 5, 2), np.float32)), {})


def nowhere_valid() -> Iterator[Sample]:
    """Maps without any value: legal."""
    unknown = np.full((HEIGHT, WIDTH), np.nan, np.float32)
    for values in (unknown, unknown + np.inf, -np.full_like(unknown, np.inf)):
        yield Sample("nan", ".pfm", b"Pf\n40 24\n-1\n" + values.tobytes(), {})
        yield Sample("nan", ".npy", npy_file(values), {})
        yield Sample("nan", ".npz", npz_file({"a.npy": npy_file(values)}), {})
        yield Sample("nan", ".tif", tiff_file(values), {})
        yield Sample("nan", ".exr", exr_file({"Y": values}), {})
        yield Sample("nan", ".dsp5", hdf5_file(array=values), {})


def cut(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def change(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data))] = chance.randrange(256)


def change_header(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(min(len(data), 200))] = chance.choice((0, 1, 127, 128, 255))


def remove(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    del data[start : start + chance.randrange(1, 9)]


def insert(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data[start:start] = bytes(chance.randrange(1, 9))


def fill(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data[start : start + 4] = b"\xff" * 4


def append(data: bytearray, chance: random.Random) -> None:
    data.extend(bytes(chance.randrange(1, 5000)))


DEEDS: tuple[Callable[[bytearray, random.Random], None], ...] = (
    cut,
    change,
    change_header,
    remove,
    insert,
    fill,
    append,
)


def damaged(count: int, seed: int) -> Iterator[Sample]:
    """Good files cut short, with bytes changed, removed, inserted, repeated."""
    chance = random.Random(seed)
    # Few of the encoding that starts a process for each file.
    several = [sample for sample in whole_files() if sample.kind != "exr"]
    files = several * 16 + [Sample("exr", ".exr", exr_file(compression=name), {}) for name in ("ZIP", "NO", "PIZ")]
    for number in range(count):
        sample = files[number % len(files)]
        data = bytearray(sample.data)
        for deed in chance.choices(DEEDS, k=chance.choice((1, 1, 1, 2, 4))):
            if data:
                deed(data, chance)
        yield Sample(f"damaged {sample.kind}", sample.suffix, bytes(data), sample.options)


def samples(count: int, seed: int = 1) -> list[Sample]:
    """At least `count` files: everything that was thought of, and random damage for the rest."""
    thought_of = [*lying_headers(), *wrong_types(), *nowhere_valid()]
    return thought_of + list(damaged(max(count - len(thought_of), 0), seed))


def read_all(files: list[Sample], folder: Path) -> Iterator[dict[str, Any]]:
    """What reading each file gives: an error sentence or the map's properties, and the peak of the memory allocated."""
    for number, sample in enumerate(files):
        path = folder / f"file-{number}{sample.suffix}"
        path.write_bytes(sample.data)
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        outcome: dict[str, Any] = {"file": path.name, "kind": sample.kind, "size": len(sample.data)}
        try:
            values = read_disparity(path, **sample.options)
            legal = values.dtype == np.float32 and values.ndim == 2 and not np.isinf(values).any()
            outcome |= {"legal": bool(legal), "shape": values.shape}
        except StereogaugeError as error:
            outcome |= {"error": str(error), "error_kind": type(error).__name__}
        outcome["allocated"] = tracemalloc.get_traced_memory()[1] - before
        path.unlink()
        yield outcome


def main() -> None:
    """Arguments: how many files, the seed."""
    for package in ("cv2", "h5py", "imagecodecs", "tifffile"):
        importlib.import_module(package)  # so that their own memory is not counted
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    files = samples(count, seed)
    with tempfile.TemporaryDirectory() as folder:
        for _ in read_all(whole_files(), Path(folder)):
            pass
        resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        tracemalloc.start()
        outcomes = list(read_all(files, Path(folder)))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident
    json.dump({"outcomes": outcomes, "resident_growth_kilobytes": grown}, sys.stdout)


if __name__ == "__main__":
    main()
