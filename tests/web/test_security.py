"""What a hostile visitor tries."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from tests.web.small import MARKUP, serving, serving_store

from stereogauge.errors import FileError, MissingLibrary, StoreError
from stereogauge.figures.chart import vega_file
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.refusals import register_refusals
from stereogauge.web.security import LOCAL_HOSTS
from stereogauge.web.server import LimitedProtocol, RarelyRepeated
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource

TRAVERSALS = (
    "../../../../etc/passwd",
    "/etc/passwd",
    "....//....//etc/passwd",
    "..\\..\\windows\\win.ini",
    "alpha/../../../data/alpha/disp.pfm",
    "file:///etc/passwd",
    "alpha\x00.png",
)
PLACES = (
    "scenes/{}/layers/left.png",
    "scenes/{}/about",
    "scenes/{}/pixel?x=1&y=1",
    "scenes/{}/cloud",
    "scenes/{}/blocks?algorithm=good",
    "scenes/alpha/layers/{}.png",
    "scenes/alpha/layers/estimate.png?algorithm={}",
    "scenes/alpha/layers/metric.png?algorithm=good&metric={}",
    "scenes/alpha/layers/region.png?region={}",
    "scenes/alpha/cloud?algorithm={}",
    "rank?model=weighted&profile={}",
    "rank?protocol={}",
    "rank?scenes={}",
    "table?column={}",
    "histogram?metric={}",
    "catalogue/metrics/{}.svg",
    "catalogue/{}/bad.svg",
    "confidence?scene={}",
    "tuning/{}",
)


@pytest.mark.parametrize("text", TRAVERSALS)
@pytest.mark.parametrize("place", PLACES)
def test_no_parameter_becomes_a_path(client: httpx.Client, place: str, text: str) -> None:
    answer = client.get(place.format(quote(text, safe="")))
    assert answer.status_code in (404, 422)
    assert "root:" not in answer.text
    assert os.getcwd() not in answer.text


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"]
)
def test_static_files_stay_in_their_folder(address: str, path: str) -> None:
    answer = httpx.request("GET", httpx.URL(address).copy_with(raw_path=f"/static/{path}".encode()))
    assert answer.status_code == 404


def test_every_answer_forbids_foreign_and_inline_scripts(address: str) -> None:
    for path in ("/", "/api/v1/rank", "/static/js/main.js", "/nothing", "/api/v1/scenes/alpha/layers/left.png"):
        headers = httpx.get(address + path).headers
        policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self'"
        assert policy["frame-ancestors"] == "'none'"
        assert headers["x-content-type-options"] == "nosniff"


def test_the_page_holds_no_inline_script(address: str) -> None:
    page = httpx.get(address + "/").text
    assert page.count("<script") == 1
    assert '<script type="module" src="static/js/main.js"></script>' in page
    assert " onclick=" not in page


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost@evil.example", "[::1"])
def test_other_host_names_are_refused(address: str, host: str) -> None:
    assert httpx.get(address + "/api/v1/rank", headers={"Host": host}).status_code in (400, 403)


def test_names_with_markup_are_plain_text_in_json(client: httpx.Client) -> None:
    answer = client.get("algorithms")
    assert answer.headers["content-type"] == "application/json"
    assert MARKUP in [one["name"] for one in answer.json()]


def test_a_refused_answer_shows_no_path_of_the_server(client: httpx.Client) -> None:
    for question in ("scenes/nowhere/about", "rank?scenes=x", "scenes/gamma/layers/estimate.png?algorithm=partial"):
        assert "/tmp" not in client.get(question).text


def test_a_site_that_is_only_read_imports_nothing_that_takes_uploads(small_store: Path) -> None:
    program = (
        "import sys\n"
        "from stereogauge.store import open_store\n"
        "from stereogauge.web.app import create_app\n"
        "from stereogauge.web.site import Site\n"
        "from stereogauge.web.source import StoreSource\n"
        f"create_app(Site(StoreSource(open_store({str(small_store)!r}, read_only=True))))\n"
        "print([name for name in sys.modules if 'submissions' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("text", ["[" * 2000, '{"a":' * 600, "[]", "{"])
def test_requirements_that_are_nested_too_deeply_are_refused(client: httpx.Client, text: str) -> None:
    answer = client.get("answer", params={"requirements": text})
    assert answer.status_code == 422 or answer.json()["refused"], answer.text


def test_a_proxy_with_its_default_host_passes_writes_of_the_site(opened: Store) -> None:
    """It sends the address of this server as Host; the browser says which site the page came from."""
    with serving(create_app(Site(StoreSource(opened)), (*LOCAL_HOSTS, "bench.example.org"))) as base:

        def status(**headers: str) -> int:
            return httpx.post(f"{base}/api/v1/rank", headers=headers).status_code

        assert status(Origin="https://bench.example.org") == 405  # refused for another reason: nothing is written there
        assert status(Origin="https://bench.example.org", **{"Sec-Fetch-Site": "same-origin"}) == 405
        assert status(Origin="https://evil.example") == 403
        assert status(Origin="http://localhost:9999") == 403
        assert status(Origin="https://bench.example.org", **{"Sec-Fetch-Site": "cross-site"}) == 403


def test_connections_are_limited_and_that_is_logged_once(
    opened: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(LimitedProtocol, "most", 8)
    monkeypatch.setattr(LimitedProtocol, "seconds", 2.0)
    with serving_store(opened) as base:
        place = ("127.0.0.1", int(base.rpartition(":")[2]))
        held = [socket.create_connection(place) for _ in range(60)]
        for one in held:
            one.settimeout(30)
        closed = 0
        for one in held:  # those beyond the limit at once, the silent ones after two seconds
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1) == b""
            closed += 1
            one.close()
        assert closed == 60
        assert httpx.get(f"{base}/api/v1/rank", timeout=60).status_code == 200
    assert len([one for one in caplog.records if "connections are open" in one.getMessage()]) == 1


def test_requests_that_are_none_fill_no_log(opened: Store, caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("uvicorn.error")
    with serving_store(opened) as base, caplog.at_level(logging.WARNING, log.name):
        log.addHandler(caplog.handler)
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", int(base.rpartition(":")[2]))) as one:
                one.sendall(b"\x16\x03\x01 no request\r\n\r\n")
                assert one.recv(100).startswith(b"HTTP/1.1 400")
        log.removeHandler(caplog.handler)
    assert len([one for one in caplog.records if "Invalid HTTP request" in one.getMessage()]) == 1


def test_a_log_repeats_nothing_for_a_minute_and_has_an_end() -> None:
    rarely = RarelyRepeated(seconds=0.3, most=3)

    def passes(text: str) -> bool:
        return rarely.filter(logging.LogRecord("site", logging.WARNING, "", 0, text, None, None))

    assert [passes(text) for text in ("a", "a", "b", "a", "c", "d")] == [True, False, True, False, True, False]
    time.sleep(0.4)
    assert passes("a")


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET / HTTP/1.1\r\n", id="half of a second request"),
        pytest.param(b"GET /static/vega.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 40, id="answers that nobody reads"),
    ],
)
def test_a_connection_that_neither_asks_nor_reads_is_closed(
    opened: Store, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(LimitedProtocol, "seconds", 1.0)
    closed = threading.Event()
    lost = LimitedProtocol.connection_lost

    def noticed(self: LimitedProtocol, problem: Exception | None) -> None:
        lost(self, problem)
        closed.set()

    monkeypatch.setattr(LimitedProtocol, "connection_lost", noticed)
    with serving_store(opened) as base, socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", int(base.rpartition(":")[2])))
        one.sendall(sent)
        assert closed.wait(30)


def test_an_answer_that_is_read_slowly_arrives_whole(opened: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "seconds", 0.5)
    with serving_store(opened) as base, socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.connect(("127.0.0.1", int(base.rpartition(":")[2])))
        one.sendall(b"GET /static/vega.js HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        size = 0
        while part := one.recv(1 << 16):
            size += len(part)
            time.sleep(0.002)
    assert size > vega_file().stat().st_size


@pytest.mark.parametrize(
    ("problem", "status"),
    [
        (FileError("/srv/private/alpha.pfm is truncated."), 410),
        (StoreError("/srv/private/scores.sqlite: disk I/O error."), 503),
        (MissingLibrary("The native library in /srv/private must be built again."), 503),
    ],
)
def test_failures_of_the_host_show_no_path(problem: Exception, status: int) -> None:
    app = FastAPI()
    register_refusals(app)

    @app.get("/")
    def fail() -> None:
        raise problem

    with serving(app) as base:
        answer = httpx.get(base)
    assert answer.status_code == status
    assert "log says" in answer.json()["detail"]
    assert "/srv" not in answer.text
