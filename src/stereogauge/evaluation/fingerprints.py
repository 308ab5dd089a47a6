"""What scores depend on besides the protocol: content hashes of all inputs, and what was assumed rather than stated.

The store remembers the hashes, so that an unchanged file is not read again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from stereogauge.errors import FileError, StereogaugeError, Unreachable
from stereogauge.hashing import values_digest, values_hash
from stereogauge.io.content import display_name
from stereogauge.io.files import content_hash
from stereogauge.io.remote import current_entry, is_in_object_store, is_remote
from stereogauge.masks.geometry.planes import PLANES
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.model import Scene
from stereogauge.protocol import Protocol
from stereogauge.store.sources import paths_of, source_text

if TYPE_CHECKING:
    from stereogauge.store import Store

SETTLED = 2_000_000_000
"""Nanoseconds that a file must be older than: one that changes twice within a clock tick would look unchanged."""
FETCHED_AT_ONCE = 8
"""Files of an object store that are fetched at the same time."""
REMEMBERED_AT_ONCE = 1000
"""Hashes that are stored together, so that an interruption costs little."""

Report = Callable[[int, int], None]


class ContentHashes:
    """Hashes of sources, computed at most once for each state of a file; `again` computes every one again."""

    def __init__(self, store: Store | None, report: Report = lambda done, total: None, *, again: bool = False) -> None:
        self._store = store
        self._report = report
        self._again = again

    def of(self, sources: Sequence[Any]) -> list[str | StereogaugeError]:
        """The hash of each source, or the error that reading it gave."""
        texts = [source_text(source) or f"\0{place}" for place, source in enumerate(sources)]
        distinct = dict(zip(texts, sources, strict=True))
        stamps = {text: _stamp(source) for text, source in distinct.items() if not text.startswith("\0")}
        known = self._store.known_hashes(list(stamps)) if self._store and stamps and not self._again else {}
        found: dict[str, str | StereogaugeError] = {
            text: known[text][1]
            for text, stamp in stamps.items()
            if stamp and text in known and known[text][0] == stamp
        }
        unread = [text for text in distinct if text not in found]
        fresh: dict[str, tuple[str, str]] = {}
        with _in_order(_hashed, [distinct[text] for text in unread]) as hashed:
            for done, (text, answer) in enumerate(zip(unread, hashed, strict=True), start=len(distinct) - len(unread)):
                found[text] = answer
                stamp = stamps.get(text, "")
                if stamp and isinstance(answer, str) and _settled(stamp):
                    fresh[text] = (stamp, answer)
                self._report(done + 1, len(distinct))
                if len(fresh) >= REMEMBERED_AT_ONCE:
                    self._remember(fresh)
        self._remember(fresh)
        return [found[text] for text in texts]

    def _remember(self, fresh: dict[str, tuple[str, str]]) -> None:
        if fresh and self._store:
            self._store.remember_hashes(fresh)
        fresh.clear()


@contextlib.contextmanager
def _in_order(call: Callable[[Any], Any], sources: Sequence[Any]) -> Iterator[Iterator[Any]]:
    """The answers of `call` in order; several calls at once where files lie in an object store, which is far."""
    if not any(is_in_object_store(path) for source in sources for path in paths_of(source)):
        yield map(call, sources)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(FETCHED_AT_ONCE)
    try:
        yield pool.map(call, sources)
    finally:
        pool.shutdown(cancel_futures=True)


def _hashed(source: Any) -> str | StereogaugeError:
    try:
        return content_hash(source)
    except Unreachable:
        raise
    except StereogaugeError as problem:
        return problem


def _stamp(source: Any) -> str:
    """What changes whenever the source's files do; "" when that is unknown."""
    paths = paths_of(source)
    if len(paths) == 1:
        return _file_stamp(paths[0])
    marks = [_file_stamp(path) for path in paths]
    return "" if "" in marks else " ".join(marks)


def _file_stamp(path: str | os.PathLike[str]) -> str:
    # An archive's member changes when the archive does: zip://NAME::ARCHIVE.
    remote = is_remote(path)
    carrier = str(path).rpartition("::")[2] if remote and "::" in str(path) else path
    try:
        if remote and is_remote(carrier):
            return current_entry(carrier, display_name(carrier)).stamp
        status = os.stat(carrier)
    except (OSError, FileError):
        return ""
    # The time of the last change of the entry cannot be set back, unlike that of the content.
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def _settled(stamp: str) -> bool:
    times = [text for mark in stamp.split(" ") for text in mark.split(":")[1:2]]
    return all(not text.isdigit() or time.time_ns() - int(text) > SETTLED for text in times)


def fingerprint(values: Any) -> int:
    """A 64-bit hash of plain values; never 0, which means unknown."""
    return int.from_bytes(values_digest(values)[:8], "little", signed=True) or 1


def scene_contents(scenes: Sequence[Scene], hashes: ContentHashes) -> dict[str, str | StereogaugeError]:
    """For each scene one hash of all that a metric may read: truth, images, masks, views, calibration and size."""
    parts = [_parts(scene) for scene in scenes]
    answers = iter(hashes.of([source for sources in parts for source in sources.values()]))
    return {
        scene.id: _scene_content(scene, {part: next(answers) for part in sources})
        for scene, sources in zip(scenes, parts, strict=True)
    }


def _parts(scene: Scene) -> dict[str, Any]:
    parts = {part: scene.source(part) for part in ("gt", "gt_right", "gt_fine", "left", "right") if scene.has(part)}
    parts |= {f"mask {name}": scene.mask_source(name) for name in scene.masks}
    if scene.metadata.get(PLANES) is not None:
        parts["drawn planes"] = scene.metadata[PLANES]
    return parts | {f"view {position}": scene.view_source(position) for position in scene.views}


def _scene_content(scene: Scene, parts: dict[str, str | StereogaugeError]) -> str | StereogaugeError:
    problem = next((answer for answer in parts.values() if isinstance(answer, StereogaugeError)), None)
    if problem is not None:
        return problem
    calibration = msgspec.structs.asdict(scene.calibration)
    del calibration["size"]  # it is that of the maps, or nothing is measured
    if calibration["centre"] is None:
        del calibration["centre"]  # hashes without it were made before there was one
    return values_hash([parts, calibration, scene.stated_resolution, scene.border])


RULES = {
    "dataset": "from the dataset's mask",
    "bidirectional": "from the ground truths of both views",
    "z-buffer": "from the ground truth by z-buffer",
    "middlebury-v2": "from the ground truth as Middlebury v2 does",
}


def inputs_hash(scenes: Sequence[Scene], common: Sequence[str] = ()) -> str:
    """Twelve digits that change with the ground truth, images, masks, calibration, resolution or border of a scene.

    `common` are hashes by `estimated_hash` of the maps, scene by scene, where only pixels that all estimate are
    measured.

    >>> truth = np.full((4, 8), 2.0)
    >>> inputs_hash([sg.Scene("a", gt=truth)]) == inputs_hash([sg.Scene("a", gt=truth, resolution=0.25)])
    False
    """
    contents = scene_contents(scenes, ContentHashes(None))
    known = {name: answer for name, answer in contents.items() if isinstance(answer, str)}
    return contents_hash({**known, **{f"common {place}": digits for place, digits in enumerate(common)}})


def contents_hash(contents: Mapping[str, str]) -> str:
    """The same, of hashes by scene that are known already."""
    return values_hash(dict(contents))[:12]


def assumptions(scenes: Iterable[Scene], protocol: Protocol) -> str:
    """One line of what was assumed; "" where everything was stated.

    >>> assumptions([sg.Scene("a", gt=np.full((4, 3000), 2.0))], sg.load_protocol("default"))
    'nonocc from the ground truth by z-buffer; resolution 1'
    """
    rules: dict[str, None] = {}
    sizes: dict[str, None] = {}
    for scene in scenes:
        try:
            if protocol.region_rules.rule == "auto" and set(protocol.regions) - {"all"} and scene.has("gt"):
                rules[RULES[SceneRegions(scene, protocol).rule]] = None
            if scene.stated_resolution is None:
                sizes[f"{scene.resolution:.3g}"] = None
        except StereogaugeError:
            continue  # what cannot be read is said elsewhere
    parts = [f"nonocc {' or '.join(rules)}"] if rules else []
    parts += [f"resolution {', '.join(sizes)}"] if sizes else []
    return "; ".join(parts)
