"""Zips to upload: good ones, and every way of being bad that the tests name."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping

import cv2
import numpy as np
from tests.web.small import SCENES, SHAPE, truth


def pfm(values: np.ndarray) -> bytes:
    """A map as PFM."""
    height, width = values.shape
    return f"Pf\n{width} {height}\n-1\n".encode() + np.ascontiguousarray(values[::-1], "<f4").tobytes()


def png16(values: np.ndarray) -> bytes:
    """Numbers as a 16-bit grey PNG."""
    return bytes(cv2.imencode(".png", np.clip(np.rint(values), 0, 65535).astype(np.uint16))[1].tobytes())


def zipped(files: Mapping[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return target.getvalue()


def maps(error: float = 0.1) -> dict[str, bytes]:
    """One valid map a scene."""
    return {f"{scene}.pfm": pfm(np.nan_to_num(truth(place), nan=5) + error) for place, scene in enumerate(SCENES)}


def good(error: float = 0.1) -> bytes:
    """A submission without fault."""
    return zipped(maps(error))


def with_link() -> bytes:
    """A symbolic link to a file of the server."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        info = zipfile.ZipInfo("alpha.pfm")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return target.getvalue()


def bomb(size: int = 64 << 20) -> bytes:
    """A few kilobytes that unpack to `size`."""
    return zipped({"alpha.pfm": bytes(size)})


def lying_sizes() -> bytes:
    """A directory that declares ten bytes for a file of many more."""
    data = bytearray(zipped({"alpha.pfm": bytes(1 << 20)}))
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<L", data, data.find(signature) + place, 10)
    return bytes(data)


def negative_places() -> bytes:
    """A directory that says that it starts seven bytes later than it does, which places its first entry at -7."""
    data = bytearray(good())
    place = data.rfind(b"PK\x05\x06") + 16
    struct.pack_into("<L", data, place, struct.unpack_from("<L", data, place)[0] + 7)
    return bytes(data)


def many_entries(count: int) -> bytes:
    """As many empty files."""
    return zipped({f"{place}.pfm": b"" for place in range(count)}, zipfile.ZIP_STORED)


def lying_pfm() -> bytes:
    """A header that promises far more pixels than follow."""
    return zipped({**maps(), "alpha.pfm": b"Pf\n2000000 2000000\n-1\n" + bytes(64)})


def lying_png() -> bytes:
    """A PNG header of 100 000 × 100 000 pixels on an otherwise tiny file."""
    header = struct.pack(">LLBBBBB", 100_000, 100_000, 16, 0, 0, 0, 0)
    chunk = struct.pack(">L", 13) + b"IHDR" + header + b"\0\0\0\0"
    files = {name: content for name, content in maps().items() if name != "alpha.pfm"}
    return zipped({**files, "alpha.png": b"\x89PNG\r\n\x1a\n" + chunk})


def wrong_size() -> bytes:
    """A map of another size."""
    return zipped({**maps(), "alpha.pfm": pfm(np.full((SHAPE[0] - 1, SHAPE[1]), 5.0))})


def negated() -> bytes:
    """Every map with the wrong sign."""
    return zipped({f"{scene}.pfm": pfm(-np.nan_to_num(truth(p), nan=5)) for p, scene in enumerate(SCENES)})


def incomplete() -> bytes:
    """Only one of the scenes."""
    return zipped({"alpha.pfm": maps()["alpha.pfm"]})


def malformed(count: int, seed: int = 0) -> Iterator[bytes]:
    """Damaged uploads of every kind: cut, bytes changed, headers replaced, members damaged, noise, odd names."""
    random = np.random.default_rng(seed)
    whole = good()
    names = [
        "a" * 300,
        "con",
        "../x",
        "a/b/c/d/e/alpha.pfm",
        "alpha.png",
        "alpha.npy",
        "results.toml",
        "ünï.pfm",
        "\x01",
        ".",
    ]
    for place in range(count):
        kind = place % 8
        if kind == 0:
            yield whole[: int(random.integers(0, len(whole)))]
        elif kind == 1:
            data = bytearray(whole)
            for at in random.integers(0, len(data), int(random.integers(1, 40))):
                data[at] = int(random.integers(0, 256))
            yield bytes(data)
        elif kind == 2:
            yield random.bytes(int(random.integers(0, 4000)))
        elif kind == 3:
            content = bytearray(maps()["alpha.pfm"][: int(random.integers(1, 3000))])
            content[int(random.integers(0, len(content)))] ^= 255
            yield zipped({**maps(), "alpha.pfm": bytes(content)})
        elif kind == 4:
            header = f"Pf\n{random.integers(-5, 10**9)} {random.integers(-5, 10**9)}\n{random.normal()}\n"
            yield zipped({**maps(), "alpha.pfm": header.encode() + random.bytes(200)})
        elif kind == 5:
            yield zipped({names[int(random.integers(0, len(names)))]: random.bytes(int(random.integers(0, 500)))})
        elif kind == 6:
            data = bytearray(whole)
            end = data.rfind(b"PK\x05\x06")
            data[end + 8 : end + 20] = random.bytes(12)
            yield bytes(data)
        else:
            values = random.normal(5, 3, SHAPE).astype(np.float32)
            values[random.random(SHAPE) < 0.5] = random.choice([np.nan, np.inf, -np.inf, 1e38])
            yield zipped({f"{scene}.pfm": pfm(values) for scene in SCENES})
