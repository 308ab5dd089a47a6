"""What is tried with random input, and how the input is made from good one."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import httpx
import numpy as np
import scipy.io
import tifffile
from msgspec.structs import replace
from PIL import Image
from tests.fuzz.readers import read_all, unpack_all
from tests.io.malformed import exr_file
from tests.web import uploads
from tests.web.small import make_store, serving_store
from tests.web.submitters import RULES, benchmark_on

from stereogauge import open_store, write_disparity
from stereogauge.evaluation.processes import TimeLimitExceeded, WorkerDied, WorkerProcess

BATCH = 100
MEMORY = 6 << 30
INTERESTING = (0, 1, 2, 7, 8, 48, 255, 4096, 2**15, 2**16 - 1, 2**31 - 1, 2**32 - 1, 2**63, 2**64 - 1)


class Finding(NamedTuple):
    """An input that did what no input should do."""

    what: str
    data: bytes


Attempt = Callable[[list[bytes]], list[Finding]]


@dataclass(frozen=True)
class Target:
    """`inputs` makes a batch of inputs; `opened` gives what tries a batch and says what it found."""

    name: str
    inputs: Callable[[random.Random], list[bytes]]
    opened: Callable[[Path], AbstractContextManager[Attempt]]


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The data with a few bytes or numbers replaced, parts cut out, doubled or moved."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        if not changed:
            break
        at = chance.randrange(min(len(changed), chance.choice((64, 512, 1 << 30))))
        kind = chance.randrange(6)
        if kind == 0:
            changed[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            changed[at] = chance.randrange(256)
        elif kind in (2, 3):
            width = chance.choice((2, 4, 8))
            order = chance.choice(("little", "big"))
            number = chance.choice((*INTERESTING, chance.randrange(len(changed) + 1))) % (1 << 8 * width)
            changed[at : at + width] = number.to_bytes(width, order)  # type: ignore[arg-type]
        elif kind == 4:
            del changed[at : at + chance.randrange(1, 64)]
        else:
            changed[at:at] = changed[at : at + chance.randrange(1, 64)]
    return bytes(changed)


def maps() -> np.ndarray:
    """A map to encode."""
    return np.random.default_rng(7).uniform(1, 60, (24, 40)).astype(np.float32)


def encoded(name: str) -> list[bytes]:
    """Good files of an encoding."""
    if name == "dsp5":
        found = []
        for options in ({}, {"chunks": (8, 40), "compression": "gzip"}, {"chunks": (24, 20), "compression": "lzf"}):
            target = io.BytesIO()
            with h5py.File(target, "w") as file:
                file.create_dataset("disparity", data=maps(), **options)
            found.append(target.getvalue())
        return found
    if name == "tiff":
        return [_tiff(how, predictor) for how, predictor in (
            (None, False), ("zlib", True), ("lzw", True), ("zstd", False), ("packbits", False), ("lzma", False),
        )]  # fmt: skip
    if name == "mat":
        return _matlab()
    if name in ("jpg", "bmp", "webp"):
        target = io.BytesIO()
        Image.fromarray(maps().astype(np.uint8)).save(target, {"jpg": "JPEG"}.get(name, name))
        return [target.getvalue()]
    if name == "pfm.gz":
        return [gzip.compress(uploads.pfm(maps()))]
    if name == "npz":
        target = io.BytesIO()
        np.savez_compressed(target, disparity=maps())
        return [target.getvalue()]
    if name == "exr":
        return [exr_file()]
    options: dict[str, Any] = {"png": {"encoding": "kitti"}, "pgm": {"scale": 4.0}}.get(name, {})
    address = f"memory://fuzz/good.{name}"
    write_disparity(address, maps(), **options)
    import fsspec

    with fsspec.open(address, "rb") as file:
        return [bytes(file.read())]


def _tiff(compression: str | None, predictor: bool) -> bytes:
    target = io.BytesIO()
    tifffile.imwrite(target, maps(), compression=compression, predictor=predictor, rowsperstrip=8)
    return target.getvalue()


def _matlab() -> list[bytes]:
    """Version 5 plain and compressed, and version 7.3, which is HDF5 after a header."""
    found = []
    for compressed in (False, True):
        target = io.BytesIO()
        scipy.io.savemat(target, {"disparity": maps(), "other": maps()[:3]}, do_compression=compressed)
        found.append(target.getvalue())
    target = io.BytesIO()
    with h5py.File(target, "w", userblock_size=512) as file:
        file.create_dataset("disparity", data=maps().T)
    return [*found, b"MATLAB 7.3 MAT-file".ljust(512) + target.getvalue()[512:]]


def in_worker(function: Callable[..., list[tuple[str, str]]], suffix: str, **options: Any) -> Any:
    """What tries files in a limited process and notices when it dies."""

    @contextmanager
    def opened(folder: Path) -> Iterator[Attempt]:
        worker = WorkerProcess(MEMORY)

        def attempt(batch: list[bytes]) -> list[Finding]:
            named = {f"{place}.{suffix}": data for place, data in enumerate(batch)}
            for name, data in named.items():
                (folder / name).write_bytes(data)
            try:
                found = worker.call(function, str(folder), list(named), options, seconds=120.0)
                return [Finding(what, named[name]) for name, what in found]
            except (WorkerDied, TimeLimitExceeded) as problem:
                return [Finding(f"the reader did not end well: {problem}", named[(folder / "current").read_text()])]

        try:
            yield attempt
        finally:
            worker.end()

    return opened


def of_files(good: Callable[[], list[bytes]], size: int = BATCH) -> Callable[[random.Random], list[bytes]]:
    """Batches of mutated files."""
    kept: list[bytes] = []

    def inputs(chance: random.Random) -> list[bytes]:
        if not kept:
            kept.extend(good())
        return [mutated(chance.choice(kept), chance) for _ in range(size)]

    return inputs


def archives() -> list[bytes]:
    """Good archives of both kinds."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        info = tarfile.TarInfo("alpha.pfm")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"data"))
    return [uploads.good(), uploads.many_entries(5), uploads.with_link(), target.getvalue()]


WORDS = ("alpha", "beta", "good", "rms", "rms:all", "bad@1", "all", "a-star", "weighted", "", "0", "-1", "1e308", "nan",
         "..", "%00", "\x00", "é" * 50, "x" * 3000, "[", "{}", "rms=1", "rms=nan", "~",
         "rms:all~bad@1:all", "rough", "sure", "90%", "0,0,8", "9,9,999999", "entropy,entropy@8", "bad-z@1,2",
         "tag:x=y",
         "near&textureless", "((((", '{"limits": {"rms:all": 1}}', '{"a": [[[[]]]]}', "[" * 2000)  # fmt: skip
CALLS = ("rank", "table", "significance", "correlation", "histogram", "stability", "confidence", "scenes", "algorithms",
         "datasets", "catalogue", "health", "answer", "explain", "density", "scenes/alpha/objects", "tuning",
         "scenes/alpha/contrast", "scenes/alpha/layers/contrast", "scenes/alpha/layers/hard.png",
         "rank.csv", "rank.tex", "scenes/alpha/pixel", "scenes/beta/cloud",
         "scenes/alpha/layers/estimate.png", "scenes/beta/layers/error.png", "scenes/alpha/blocks")  # fmt: skip
PARAMETERS = ("scenes", "regions", "metrics", "algorithms", "protocol", "aggregation", "missing", "least_coverage",
              "least_support", "model", "ties", "tau", "profile", "weights", "draws", "column", "metric", "scatter",
              "mark", "bins", "x", "y", "algorithm", "points", "range", "density", "threshold",
              "region", "scene", "first", "second", "other", "requirements", "completeness", "need", "crop", "width",
              "sgm", "error", "sigma", "temperature", "submission", "family", "alpha", "normalisation")  # fmt: skip


def questions(chance: random.Random) -> list[bytes]:
    """Requests with random parameters."""
    batch = []
    for _ in range(10):
        pairs = [(chance.choice(PARAMETERS), chance.choice(WORDS)) for _ in range(chance.randrange(5))]
        batch.append(str(httpx.URL(chance.choice(CALLS), params=pairs)).encode())
    return batch


@contextmanager
def asked(folder: Path) -> Iterator[Attempt]:
    """A site; an answer of 500 or above is a finding."""
    with (
        open_store(make_store(folder), read_only=True) as store,
        serving_store(store, ["beta"]) as base,
        httpx.Client(base_url=f"{base}/api/v1/", timeout=60) as client,
    ):

        def attempt(batch: list[bytes]) -> list[Finding]:
            answers = [(question, client.get(question.decode())) for question in batch]
            return [Finding(f"{answer.status_code}", asked_) for asked_, answer in answers if answer.status_code >= 500]

        yield attempt


def sent(chance: random.Random) -> list[bytes]:
    """Uploads, most of them damaged."""
    return list(uploads.malformed(8, chance.randrange(1 << 30)))


@contextmanager
def submitted(folder: Path) -> Iterator[Attempt]:
    """A site that takes submissions; one that fails, is held or is answered by 500 is a finding."""
    place = make_store(folder / "made")
    rules = replace(RULES, per_period=1_000_000)
    with open_store(place) as store, benchmark_on(store, folder / "submissions", rules) as one:

        def attempt(batch: list[bytes]) -> list[Finding]:
            found = []
            for number, data in enumerate(batch):
                who = f"fuzzer {number}"
                one.tokens.setdefault(who, one.taken.tokens.issue(who))
                answer = one.upload(data, f"fuzzed {number}", who)
                if answer.status_code == 202:
                    done = one.finished(answer.json()["id"], who)
                    one.call("DELETE", f"submissions/{done['id']}", who)
                    if done["state"] in ("failed", "held"):
                        found.append(Finding(str(done["message"]), data))
                elif answer.status_code >= 500:
                    found.append(Finding(str(answer.status_code), data))
            return found

        yield attempt


TARGETS: tuple[Target, ...] = (
    *(
        Target(name, of_files(lambda name=name: encoded(name)), in_worker(read_all, name, **options))  # type: ignore[misc]
        for name, options in (
            ("pfm", {}), ("png", {}), ("pgm", {"scale": 4.0}), ("npy", {}), ("npz", {}), ("tiff", {}),
            ("dsp5", {}), ("mat", {}), ("pfm.gz", {}), ("jpg", {"scale": 4.0}), ("webp", {"scale": 4.0}),
            ("bmp", {"scale": 4.0, "encoding": "middlebury"}),
        )
    ),
    # Each EXR is decoded in a program of its own, which takes a second to start.
    Target("exr", of_files(lambda: encoded("exr"), 10), in_worker(read_all, "exr")),
    Target("archive", of_files(archives), in_worker(unpack_all, "zip")),
    Target("query", questions, asked),
    Target("upload", sent, submitted),
)  # fmt: skip
