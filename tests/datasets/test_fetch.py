"""Downloads from a server on this machine that also breaks off, lies and leads astray."""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from stereogauge import StereogaugeError
from stereogauge.datasets import Archive, DatasetFamily, families
from stereogauge.datasets.download import RECORD, download, fetch, official_archives
from stereogauge.errors import DatasetError

CONTENT = bytes(range(256)) * 4000


class Handler(BaseHTTPRequestHandler):
    """Answers each path with the behaviour registered for it, and remembers what was asked."""

    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Range"), self.headers.get("If-Range")))
        self.server.behaviours[self.path](self)

    def log_message(self, *values: object) -> None:
        """Say nothing."""

    def reply(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        """One answer, exactly as given."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """Behaviours by path; `asked` holds (path, Range, If-Range) of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behaviours: dict[str, Callable[[Handler], None]] = {}
        self.asked: list[tuple[str, str | None, str | None]] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is nothing to report."""

    def url(self, path: str) -> str:
        """The address of `path`."""
        return f"http://127.0.0.1:{self.server_port}{path}"

    def serve(
        self,
        path: str,
        content: bytes,
        *,
        tag: str | None = '"1"',
        ranges: bool = True,
        break_after: list[int] | None = None,
        length: int | str | None = "true",
    ) -> None:
        """Serve `content`; a number in `break_after` cuts one answer after so many bytes; `length` lies about size."""
        cuts = break_after if break_after is not None else []

        def behave(handler: Handler) -> None:
            asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range") or "")
            valid = handler.headers.get("If-Range") in (None, tag)
            start = int(asked.group(1)) if asked and ranges and valid else 0
            if start and start >= len(content):
                return handler.reply(416, {"Content-Range": f"bytes */{len(content)}"})
            body = content[start:]
            headers = {"ETag": tag} if tag else {}
            if length is not None:
                headers["Content-Length"] = str(len(body) if length == "true" else length)
            if start:
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            return handler.reply(206 if start else 200, headers, body[: cuts.pop(0)] if cuts else body)

        self.behaviours[path] = behave

    def answer(self, path: str, *statuses: int, then: Callable[[Handler], None] | None = None, **headers: str) -> None:
        """Answer with each status once, then as `then` does; with one status only, always with it."""
        left = list(statuses)

        def behave(handler: Handler) -> None:
            if then is not None and not left:
                return then(handler)
            status = left.pop(0) if then is not None else statuses[0]
            return handler.reply(status, {name.replace("_", "-"): value for name, value in headers.items()})

        self.behaviours[path] = behave


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def _get(server: Server, path: Path, name: str = "/file", **options: object) -> Path:
    download(server.url(name), path, **{"pause": 0.0, "attempts": 3, "timeout": 10.0, **options})  # type: ignore[arg-type]
    return path


def test_a_file_arrives_with_its_hash(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT)
    digest = hashlib.sha256(CONTENT).hexdigest()
    seen: list[tuple[int, int | None]] = []
    path = tmp_path / "deep" / "file"
    done = download(
        server.url("/file"),
        path,
        size=len(CONTENT),
        sha256=digest,
        progress=lambda got, total: seen.append((got, total)),
    )
    assert path.read_bytes() == CONTENT
    assert (done.size, done.sha256, done.verified) == (len(CONTENT), digest, True)
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [one.name for one in path.parent.iterdir()] == ["file"]


def test_an_unknown_hash_is_recorded_but_not_called_verified(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT)
    done = download(server.url("/file"), tmp_path / "file")
    assert not done.verified
    assert done.sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_a_download_that_breaks_off_continues_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT, break_after=[300_000, 100_000])
    assert _get(server, tmp_path / "file").read_bytes() == CONTENT
    assert [ranges for _, ranges, _ in server.asked] == [None, "bytes=300000-", "bytes=400000-"]
    assert [tag for _, _, tag in server.asked] == [None, '"1"', '"1"']


def test_a_later_call_continues_an_earlier_one(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT, break_after=[500_000] + [0] * 5)
    with pytest.raises(DatasetError, match=r"broke off after 500,000 of 1,024,000 bytes; what arrived is kept"):
        _get(server, tmp_path / "file")
    assert (tmp_path / "file.part").stat().st_size == 500_000
    assert not (tmp_path / "file").exists()
    server.asked.clear()
    server.serve("/file", CONTENT)
    assert _get(server, tmp_path / "file").read_bytes() == CONTENT
    assert server.asked[0][1] == "bytes=500000-"


def test_a_file_that_changed_meanwhile_is_fetched_anew(server: Server, tmp_path: Path) -> None:
    server.serve("/file", b"old" * 1000, break_after=[1000, 0, 0, 0])
    with pytest.raises(DatasetError):
        _get(server, tmp_path / "file")
    server.serve("/file", CONTENT, tag='"2"')
    assert _get(server, tmp_path / "file").read_bytes() == CONTENT


def test_a_server_that_ignores_ranges_is_noticed(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT, ranges=False, break_after=[200_000])
    assert _get(server, tmp_path / "file").read_bytes() == CONTENT


def test_a_server_that_always_breaks_at_the_same_place_ends_with_one_error(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT, ranges=False, break_after=[1000] * 50)
    with pytest.raises(DatasetError, match="could not be downloaded"):
        _get(server, tmp_path / "file")
    assert len(server.asked) == 4


def test_a_part_that_is_whole_already_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    server.serve("/file", CONTENT)
    assert _get(server, tmp_path / "file").read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT + b"more")
    server.serve("/file", CONTENT)
    assert _get(server, tmp_path / "file").read_bytes() == CONTENT


def test_a_size_other_than_published_stops_before_anything_is_stored(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT)
    with pytest.raises(DatasetError, match="offers 1,024,000 bytes, expected 7"):
        _get(server, tmp_path / "file", size=7)
    assert not list(tmp_path.iterdir())


def test_a_promise_of_more_than_is_sent_ends_with_one_error(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT, length=len(CONTENT) + 5, ranges=False)
    with pytest.raises(DatasetError, match="broke off after 1,024,000 of 1,024,005"):
        _get(server, tmp_path / "file")


def test_an_endless_answer_is_stopped_at_the_published_size(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT, length=None)
    with pytest.raises(DatasetError, match="more than the expected 1,000 bytes"):
        _get(server, tmp_path / "file", size=1000)


def test_a_promise_larger_than_the_disk_is_refused(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT, length=1 << 60)
    with pytest.raises(DatasetError, match="are free"):
        _get(server, tmp_path / "file")


def test_a_wrong_hash_deletes_the_file(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT)
    with pytest.raises(DatasetError, match="SHA-256"):
        _get(server, tmp_path / "file", sha256="0" * 64)
    assert not list(tmp_path.iterdir())


def test_redirects_are_followed_but_not_in_circles_and_not_to_files(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT)
    server.answer("/moved", 302, Location="/file")
    assert _get(server, tmp_path / "a", "/moved").read_bytes() == CONTENT
    server.answer("/there", 302, Location="/back")
    server.answer("/back", 302, Location="/there")
    server.answer("/local", 302, Location="file:///etc/hostname")
    server.answer("/other", 302, Location="ftp://127.0.0.1/x")
    for name in ("/there", "/local", "/other"):
        with pytest.raises(DatasetError, match="could not be downloaded"):
            _get(server, tmp_path / "b", name)
    assert not (tmp_path / "b").exists()


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(server: Server, tmp_path: Path) -> None:
    server.serve("/file", CONTENT)
    server.answer("/busy", 503, 429, then=server.behaviours["/file"])
    assert _get(server, tmp_path / "a", "/busy").read_bytes() == CONTENT
    server.answer("/gone", 404)
    server.asked.clear()
    with pytest.raises(DatasetError, match="answered 404"):
        _get(server, tmp_path / "b", "/gone")
    assert len(server.asked) == 1


def test_a_machine_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with Server() as closed:
        address = closed.url("/file")
    with pytest.raises(DatasetError, match="could not be downloaded"):
        download(address, tmp_path / "file", attempts=2, pause=0.0, timeout=1.0)


def _zipped(files: dict[str, bytes]) -> bytes:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return memory.getvalue()


@pytest.fixture
def family(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def declare(*archives: Archive) -> None:
        declared = DatasetFamily(
            **dict.fromkeys(("name", "layout", "terms", "citation", "obtain"), "some text"),
            id="far",
            load=lambda root, variant: None,  # type: ignore[arg-type,return-value]
            archives={"": archives},
        )
        monkeypatch.setattr("stereogauge.datasets.download.family_of", lambda name: (declared, ""))

    return declare


def test_archives_and_single_files_end_where_they_belong_and_are_recorded(
    server: Server, family: Callable[..., None], tmp_path: Path
) -> None:
    server.serve("/scene.zip", _zipped({"Art/im0.png": b"left"}))
    server.serve("/disp.pgm", b"P5")
    family(
        Archive(server.url("/scene.zip"), target="HalfSize"),
        Archive(server.url("/disp.pgm"), target="venus/disp2.pgm", unpack=False),
    )
    done = fetch("far", tmp_path)
    assert (tmp_path / "HalfSize" / "Art" / "im0.png").read_bytes() == b"left"
    assert (tmp_path / "venus" / "disp2.pgm").read_bytes() == b"P5"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["HalfSize", RECORD, "venus"]
    assert [(file.verified, file.already) for file in done] == [(False, False)] * 2
    record = json.loads((tmp_path / RECORD).read_text())
    assert record[1]["sha256"] == hashlib.sha256(b"P5").hexdigest()
    server.asked.clear()
    assert all(file.already for file in fetch("far", tmp_path))
    assert not server.asked


def test_what_was_finished_before_a_failure_is_not_fetched_again(
    server: Server, family: Callable[..., None], tmp_path: Path
) -> None:
    server.serve("/one.zip", _zipped({"one": b"1"}))
    server.serve("/two.zip", _zipped({"../two": b"2"}))
    family(Archive(server.url("/one.zip")), Archive(server.url("/two.zip")))
    with pytest.raises(DatasetError, match="outside the folder"):
        fetch("far", tmp_path / "in")
    assert not (tmp_path / "two").exists()
    server.serve("/two.zip", _zipped({"two": b"2"}))
    server.asked.clear()
    (tmp_path / "in" / ".downloads" / "two.zip").unlink()
    assert [file.already for file in fetch("far", tmp_path / "in", keep_archives=True)] == [True, False]
    assert [path for path, _, _ in server.asked] == ["/two.zip"]
    assert (tmp_path / "in" / ".downloads" / "two.zip").exists()


def test_something_that_is_no_archive_is_told(server: Server, family: Callable[..., None], tmp_path: Path) -> None:
    server.serve("/page.zip", b"<html>please log in</html>")
    family(Archive(server.url("/page.zip")))
    with pytest.raises(StereogaugeError, match="not a zip or tar"):
        fetch("far", tmp_path)


def test_a_damaged_record_is_told(server: Server, family: Callable[..., None], tmp_path: Path) -> None:
    family(Archive(server.url("/x.zip")))
    (tmp_path / RECORD).write_text("{")
    with pytest.raises(DatasetError, match="delete it"):
        fetch("far", tmp_path)


def test_only_datasets_whose_terms_allow_it_are_fetched() -> None:
    fetchable = {name for name, family in families().items() if family.archives}
    assert fetchable == {"sintel", *(name for name in families() if name.startswith("middlebury"))}
    with pytest.raises(DatasetError, match=r"cannot be fetched automatically.*registration.*cvlibs"):
        official_archives("kitti-2015")
    _, archives = official_archives("middlebury-v3:H")
    assert archives[0].url == "https://vision.middlebury.edu/stereo/submit3/zip/MiddEval3-data-H.zip"
    assert len(official_archives("middlebury-2006:ThirdSize")[1]) == 21
