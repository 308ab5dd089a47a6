"""The site as files for any web host: the application answers the requests for some selections in advance."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import ASGIApp, Message

from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.progress import TimeLeft
from stereogauge.figures.chart import vega_file
from stereogauge.metrics.registry import parse_metric
from stereogauge.ranking.profile import shipped_profiles
from stereogauge.scores.scope import DRAWS
from stereogauge.text import counted
from stereogauge.web.app import API, STATIC, create_app
from stereogauge.web.site import Site

Params = tuple[tuple[str, str], ...]
Selection = tuple[str, Params]
"""The title of a selection, and its parameters."""
PATH_SAFE = "!'()*~-._"
PRESETS = (("boundary", "interior", "occluded"), ("nonocc", "all", "disc"))
CROPPED_SCENES, CROP_WIDTH = 2, "200"
"""Scenes whose crops are shown with an answer, and the width of a crop in px, as in the page."""
PICTURES_OF_SCENE, PICTURES_OF_ALGORITHM = {"left", "right", "truth"}, {"estimate", "error", "signed"}
LIST = "export.json"
"""The list of the files that an export wrote."""
MOST_METRIC_BYTES = 64 << 20
"""Pictures of metrics are exported metric by metric up to this size."""


SCENES, METRIC_PICTURES = "scenes", "pictures of metrics"
SCORES, PICTURES = 8.0, 3.0
"""Seconds that the scores of a protocol and the pictures of a scene usually take."""


def address(path: str, params: Params = ()) -> str:
    """A request's address as the page writes it: parameters sorted by name, escaped as browsers escape them."""
    query = urlencode(sorted(params, key=lambda pair: pair[0]), safe="*").replace("~", "%7E")
    return f"{path}?{query}" if query else path


def escaped(name: str) -> str:
    """A name as a part of an address."""
    return quote(name, safe=PATH_SAFE)


async def _requested(app: ASGIApp, text: str) -> tuple[int, bytes]:
    path, _, query = text.partition("?")
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": unquote(f"{API}/{path}"), "raw_path": b"", "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 0), "server": ("localhost", 80),
    }  # fmt: skip
    await app(scope, receive, send)
    return sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:])


class _Writer:
    """Sends requests to the application and writes the answers as files."""

    def __init__(self, site: Site, folder: Path, portal: BlockingPortal) -> None:
        self._app = create_app(site)
        self._folder = folder
        self._portal = portal
        self.index: dict[str, Any] = {}

    def keep(self, path: str, params: Params = (), suffix: str = "json") -> Any:
        """Write the answer to one request; a refused one is left out. Returns the answer if it is JSON."""
        text = address(path, params)
        if text in self.index:
            return json.loads((self._folder / self.index[text]).read_bytes()) if suffix == "json" else None
        status, body = self._portal.call(_requested, self._app, text)
        if status != 200:
            return None
        name = f"answers/{len(self.index):05d}.{suffix}"
        (self._folder / name).write_bytes(body)
        self.index[text] = name
        return json.loads(body) if suffix == "json" else None

    def keep_layer(self, scene: str, layer: str, params: Params) -> int:
        """Write a picture and its legend; returns the picture's size in bytes, 0 where it is refused."""
        path = f"scenes/{escaped(scene)}/layers/{layer}"
        self.keep(f"{path}.png", params, suffix="png")
        name: str | None = self.index.get(address(f"{path}.png", params))
        if name is None:
            return 0
        self.keep(path, params)
        return (self._folder / name).stat().st_size


def export_site(site: Site, folder: Path, ahead: TimeLeft | None = None) -> int:
    """Write the site into `folder`; returns the number of files. `ahead` gets to know how far it is.

    It is written beside the folder and put in its place when it is whole, so that nothing of an earlier export, which
    may have shown more, stays behind. A folder with files that no export wrote is refused.
    """
    if not site.source.protocols():
        raise StereogaugeError("There are no scores to export yet; evaluate some results first.")
    _check_own(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _write_site(site, new, ahead or TimeLeft())
        files = _files(new)
        (new / LIST).write_text(json.dumps(sorted([*files, LIST])), encoding="utf-8")
        new.chmod(0o755)
        _put_in_place(new, folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return len(files) + 1


def _files(folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()]


def _check_own(folder: Path) -> None:
    """Refuse a folder that holds anything but an export."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise StereogaugeError(f"{folder} is a file; --export needs the name of a folder.")
    try:
        known = set(json.loads((folder / LIST).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        known = set()
    foreign = sorted(set(_files(folder)) - known)
    if foreign:
        raise StereogaugeError(
            f"{folder} holds {counted(len(foreign), 'file')} that no export wrote, such as {foreign[0]}; give an "
            "empty or new folder to --export, or remove them."
        )


def _put_in_place(new: Path, folder: Path) -> None:
    """Let `new` take the place of `folder`, which is removed."""
    if not folder.exists():
        new.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
    try:
        folder.rename(old / "site")
        new.rename(folder)
    finally:
        shutil.rmtree(old, ignore_errors=True)


def _write_site(site: Site, folder: Path, ahead: TimeLeft) -> None:
    shutil.copytree(STATIC, folder / "static", dirs_exist_ok=True)
    shutil.copy(vega_file(), folder / "static" / "vega.js")
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    live, static = ('name="stereogauge-mode" content="live"', 'name="stereogauge-mode" content="static"')
    (folder / "index.html").write_text(page.replace(live, static), encoding="utf-8")
    (folder / "static" / "index.html").unlink()
    (folder / "answers").mkdir(exist_ok=True)
    with start_blocking_portal() as portal:  # one task for all requests, so that they share their worker threads
        writer = _Writer(site, folder, portal)
        selections = _export_all(writer, ahead)
    writer.index["selections"] = [{"title": title, "params": params} for title, params in selections]
    (folder / "answers.json").write_text(json.dumps(writer.index), encoding="utf-8")


def _export_all(writer: _Writer, ahead: TimeLeft) -> list[Selection]:
    """Every answer of the copy; returns the selections that a visitor can choose."""
    catalogue, datasets = writer.keep("catalogue"), writer.keep("datasets")
    beds = {
        f"{owner['name']} {key[:8]}": ((("dataset", owner["name"]),) if len(datasets) > 1 else ())
        + ((("protocol", key),) if place else ())
        for owner in datasets
        for place, key in enumerate(owner["protocols"])
    }
    pictures = PICTURES * sum(len(owner["scenes"]) for owner in datasets)
    ahead.expect(dict.fromkeys(beds, SCORES) | {SCENES: pictures, METRIC_PICTURES: 2 * pictures})
    for study in writer.keep("tuning"):
        path = f"tuning/{escaped(study['name'])}"
        writer.keep(path)
        writer.keep(f"{path}/figures")
    selections: list[Selection] = []
    for name, base in beds.items():
        ahead.next(name)
        selections += _export_scope(writer, base)
    ahead.next(SCENES)
    scenes = [(base, about) for base in beds.values() for about in _export_scenes(writer, base)]
    ahead.next(METRIC_PICTURES)
    _export_metric_pictures(writer, scenes, {entry["id"] for entry in catalogue["metrics"] if entry["picture"]})
    return selections


def _export_scope(writer: _Writer, base: Params) -> list[Selection]:
    """The answers under a data set and a protocol: what can be chosen, each selection, and each purpose."""
    scope = writer.keep("scope", base)
    columns = scope["columns"]
    free = list(dict.fromkeys(one["region"] for one in columns if one["label"] != one["metric"]))
    selections = list(_selections(free, columns, base))
    purposes = list(_purposes(scope))
    for kind, names in (("metrics", (one["metric"].partition("@")[0] for one in columns)), ("regions", free)):
        for name in dict.fromkeys(names):
            writer.keep(f"catalogue/{kind}/{escaped(name)}.svg", suffix="svg")
    for _, params in selections:
        _export_selection(writer, params, purposes)
    for purpose in purposes:
        _export_answer(writer, base, purpose, scope)
    return selections


def _purposes(scope: dict[str, Any]) -> Iterator[Params]:
    """The weights that a visitor of a copy can choose: the default ones and every profile."""
    if scope["purpose"]["weights"]:
        yield tuple(("weights", f"{term}={weight:.4g}") for term, weight in scope["purpose"]["weights"].items())
    yield from ((("profile", name),) for name in shipped_profiles())


def _export_answer(writer: _Writer, base: Params, purpose: Params, scope: dict[str, Any]) -> None:
    """The answer for a purpose, why the first one leads, and the crops in which that shows."""
    found = writer.keep("answer", (*base, *purpose))
    if not found or not found.get("leader") or len(found["places"]) < 2:
        return
    _export_compared(writer, base, found["scenes"], scope)
    rival = (found["rivals"] or [found["places"][1]["algorithm"]])[0]
    pair = (("first", found["leader"]), ("second", rival))
    why = writer.keep("explain", (*base, *purpose, *pair))
    if why:
        _export_compared(writer, base, [piece["name"] for piece in why["scenes"]], scope)
    column = why and decisive_column(why["terms"], scope["columns"])
    if not column:
        return
    for scene in sorted(why["scenes"], key=lambda piece: -abs(piece["amount"]))[:CROPPED_SCENES]:
        path = f"scenes/{escaped(scene['name'])}"
        contrast = writer.keep(f"{path}/contrast", (*base, *pair, ("column", column["id"])))
        for crop in contrast["crops"][:1] if contrast else ():
            square: Params = (*base, ("crop", f"{crop['x']},{crop['y']},{crop['size']}"), ("width", CROP_WIDTH))
            for layer in ("left", "truth"):
                writer.keep_layer(scene["name"], layer, square)
            for name in (found["leader"], rival):
                own = (*square, ("algorithm", name))
                writer.keep_layer(scene["name"], "estimate", own)
                writer.keep_layer(scene["name"], "error", (*own, ("region", column["region"])))


def _export_compared(writer: _Writer, base: Params, scenes: list[str], scope: dict[str, Any]) -> None:
    """The scores over the scenes that were compared, where those are not all; hidden ones are named in the scope."""
    compared = [one["name"] for one in scope["scenes"] if one["hidden"] or one["name"] in scenes]
    if len(compared) < len(scope["scenes"]):
        writer.keep("table", (*base, *(("scenes", name) for name in compared)))


def decisive_column(terms: list[dict[str, Any]], columns: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The column whose pixels the page compares: of the terms that call pixels wrong the one that decides most."""
    able = [one for one in columns if parse_metric(one["metric"]).metric.wrong and one["label"] != one["metric"]]
    for term in sorted(terms, key=lambda term: -abs(term["amount"])):
        for one in able:
            if term["term"] in (one["id"], one["metric"]):
                return one
    return able[0] if able else None


def _selections(free: list[str], columns: list[dict[str, Any]], base: Params) -> Iterator[Selection]:
    """Everything, the usual sets of regions, each region, and each metric alone on the first region."""
    yield ("everything", base)
    for names in [*PRESETS, *((name,) for name in free)]:
        if set(names) <= set(free):
            yield (", ".join(names), (*base, *(("regions", name) for name in names)))
    first = "nonocc" if "nonocc" in free else next(iter(free), None)
    for metric in dict.fromkeys(one["metric"] for one in columns if one["label"] != one["metric"]):
        if first is not None:
            yield (f"{metric} on {first}", (*base, ("regions", first), ("metrics", metric)))


def _export_selection(writer: _Writer, params: Params, purposes: list[Params]) -> None:
    table = writer.keep("table", params)
    for column in table["columns"][:3]:
        writer.keep("table", (*params, ("column", column["id"])))
    one_metric = len({column["metric"] for column in table["columns"]}) == 1
    weighted = [(*purpose, ("model", "weighted")) for purpose in purposes]
    plain = [(("model", name),) for name in ("a-star", "extended", *(("middlebury",) if one_metric else ()))]
    for options in (*plain, *weighted):
        order = writer.keep("rank", (*params, *options))
        writer.keep("rank", (*params, *options, ("draws", str(DRAWS))))
        if order and len(order["scene_names"]) < len(table["scenes"]):
            writer.keep("table", (*params, *(("scenes", name) for name in order["scene_names"])))
        for form in ("csv", "tex"):
            writer.keep(f"rank.{form}", (*params, *options), suffix=form)
    for purpose in purposes:
        writer.keep("stability", (*params, *purpose))
        writer.keep("significance", (*params, *purpose))
        order = writer.keep("rank", (*params, *purpose, ("model", "weighted")))
        for segments in ("property", "term"):
            writer.keep("rank", (*params, *purpose, ("model", "weighted"), ("bars", segments)))
        if order and len(order["rows"]) > 1:
            names = (("first", order["rows"][0]["algorithm"]), ("second", order["rows"][1]["algorithm"]))
            writer.keep("significance", (*params, *purpose, *names))
    for path in ("significance", "shapes", "confidence", "correlation"):
        writer.keep(path, params)
    for column in table["columns"][:1]:
        writer.keep("histogram", (*params, ("metric", column["id"])))


def _export_scenes(writer: _Writer, base: Params) -> Iterator[dict[str, Any]]:
    """Every scene that can be shown, with its photographs, truth, regions, estimates and errors."""
    for scene in writer.keep("scenes", base):
        about = writer.keep(f"scenes/{escaped(scene['name'])}/about", base)
        if about is not None:
            for layer in filter(PICTURES_OF_SCENE.__contains__, about["layers"]):
                writer.keep_layer(about["name"], layer, base)
            for region in about["regions"]:
                writer.keep_layer(about["name"], "region", (*base, ("region", region)))
            for algorithm in about["algorithms"]:
                params = (*base, ("algorithm", algorithm))
                for layer in filter(PICTURES_OF_ALGORITHM.__contains__, about["layers"]):
                    writer.keep_layer(about["name"], layer, params)
                if not about["hidden"]:
                    writer.keep(f"scenes/{escaped(about['name'])}/blocks", params)
            yield about


def _export_metric_pictures(
    writer: _Writer, scenes: list[tuple[Params, dict[str, Any]]], drawn: Container[str]
) -> None:
    """Pictures of the metrics with scores, the first metric of every protocol first, up to MOST_METRIC_BYTES."""
    metrics = {}
    for base in dict.fromkeys(base for base, _ in scenes):
        names = dict.fromkeys(column["metric"] for column in writer.keep("table", base)["columns"])
        metrics[base] = [name for name in names if name.partition("@")[0] in drawn]
    room = MOST_METRIC_BYTES
    for index in range(max(map(len, metrics.values()), default=0)):
        for base, about in scenes:
            for algorithm in about["algorithms"] if "metric" in about["layers"] else ():
                for metric in metrics[base][index : index + 1]:
                    params = (*base, ("algorithm", algorithm), ("metric", metric))
                    room -= writer.keep_layer(about["name"], "metric", params)
                    if room <= 0:
                        return
