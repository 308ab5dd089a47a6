"""The files of docs/guide/hosting: the unit as systemd reads it, and a page and an upload through each proxy."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
import yaml
from tests.web import uploads
from tests.web.submitters import RULES, SameProcess

from stereogauge import open_store
from stereogauge.cli.serve import command
from stereogauge.web.app import create_app
from stereogauge.web.security import LOCAL_HOSTS
from stereogauge.web.server import SOCKETS_CLIENT, server_config
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource
from stereogauge.web.submissions.api import HostedSubmissions

RECIPES = Path(__file__).parents[2] / "docs" / "guide" / "hosting"
SITE = "bench.example.org"
SOCKET = "/run/stereogauge/site.sock"
NGINX = """{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def installed(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def site_behind(place: Path, store: Path) -> Iterator[HostedSubmissions]:
    """A site with submissions on a socket of the file system, as the unit starts it."""
    with open_store(store) as opened:
        source = StoreSource(opened)
        taken = HostedSubmissions(opened, source, store.parent / "submissions", RULES, make_worker=SameProcess)
        app = create_app(Site(source, RULES.hidden, taken), (*LOCAL_HOSTS, SITE))
        options = {"uds": str(place), "log_level": "error", "timeout_graceful_shutdown": 1}
        server = uvicorn.Server(server_config(app, [SOCKETS_CLIENT], **options))
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            yield taken
        finally:
            server.should_exit = True
            thread.join()


def caddy(folder: Path, port: int, place: Path) -> list[str]:
    text = (RECIPES / "Caddyfile").read_text(encoding="utf-8")
    text = text.replace(f"{SITE} {{", f"http://127.0.0.1:{port}, http://{SITE}:{port} {{").replace(SOCKET, str(place))
    text = text.replace("{\n", "{\n\tadmin off\n\tstorage file_system %s\n" % folder, 1)  # noqa: UP031 - braces
    (folder / "Caddyfile").write_text(text, encoding="utf-8")
    return [installed("caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def nginx(folder: Path, port: int, place: Path) -> list[str]:
    text = (RECIPES / "nginx.conf").read_text(encoding="utf-8")
    text = re.sub(r"listen 443 ssl;", f"listen 127.0.0.1:{port};", text).replace(SOCKET, str(place))
    text = re.sub(r"^\s*ssl_.*\n", "", text, flags=re.MULTILINE)
    (folder / "site.conf").write_text(text, encoding="utf-8")
    (folder / "nginx.conf").write_text(
        NGINX.format(folder=folder, user="user root;" if os.geteuid() == 0 else ""), encoding="utf-8"
    )
    return [installed("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]


@pytest.mark.parametrize("proxy", [caddy, nginx])
@pytest.mark.parametrize("host", [SITE, ""])
def test_a_page_and_an_upload_through_a_proxy(small_store: Path, tmp_path: Path, proxy: object, host: str) -> None:
    """`host` is what the visitor's browser sends; "" stands for a proxy that sends its own default."""
    place, port = tmp_path / "site.sock", free_port()
    shutil.copy(small_store, tmp_path / "scores.sqlite")
    words = proxy(tmp_path, port, place)  # type: ignore[operator]
    if not host:
        changed = tmp_path / ("site.conf" if proxy is nginx else "Caddyfile")
        text = changed.read_text(encoding="utf-8")
        text = text.replace("proxy_set_header Host $host;", "proxy_set_header Host 127.0.0.1;")
        text = text.replace("flush_interval -1", "flush_interval -1\n\t\theader_up Host 127.0.0.1")
        changed.write_text(text, encoding="utf-8")
    with site_behind(place, tmp_path / "scores.sqlite") as taken, (tmp_path / "log").open("wb") as log:
        running = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=log)
        try:
            base = f"http://127.0.0.1:{port}"
            headers = {"Host": SITE}
            with httpx.Client(base_url=base, timeout=60, headers=headers) as client:
                _wait_for(client, running, tmp_path / "log")
                assert "<html" in client.get("/").text
                assert client.get("/api/v1/rank").status_code == 200
                token = {"Authorization": f"Bearer {taken.tokens.issue('ada')}", "Origin": f"https://{SITE}"}
                params = {"name": "through a proxy"}
                sent = client.post("/api/v1/submissions", params=params, headers=token, content=uploads.good())
                assert sent.status_code == 202, sent.text
                address = f"/api/v1/submissions/{sent.json()['id']}/events"
                with client.stream("GET", address, headers=token) as events:
                    last = [line for line in events.iter_lines() if line.startswith("data:")][-1]
                assert '"state":"done"' in last
                huge = client.post("/api/v1/submissions", params=params, headers=token, content=bytes(5 << 20))
                assert huge.status_code == 413
                foreign = {**token, "Origin": "https://evil.example"}
                assert client.post("/api/v1/submissions", params=params, headers=foreign).status_code == 403
                # Wrong tokens are counted by the visitor's address, which the proxy states.
                assert client.get("/api/v1/submissions", headers={"Authorization": "Bearer no"}).status_code == 401
                assert list(taken.tokens._failures) == ["127.0.0.1"]
        finally:
            running.terminate()
            running.wait(30)


def _wait_for(client: httpx.Client, running: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        assert running.poll() is None, log.read_text(encoding="utf-8")
        try:
            if client.get("/api/v1/health").status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(log.read_text(encoding="utf-8"))


def test_the_unit_is_one_that_systemd_reads_and_calls_safe(tmp_path: Path) -> None:
    analyze = installed("systemd-analyze")
    unit = tmp_path / "stereogauge.service"
    program = Path(sys.executable).with_name("stereogauge")
    text = (RECIPES / "stereogauge.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/stereogauge/bin/stereogauge", str(program)), encoding="utf-8")
    verified = subprocess.run([analyze, "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr.strip()) == (0, "")
    judged = subprocess.run(
        [analyze, "security", "--offline=yes", str(unit)], capture_output=True, text=True, check=False
    )
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)", judged.stdout)
    assert level is not None, judged.stderr
    assert float(level[1]) <= 1.0
    for wanted in ("DynamicUser=yes", "PrivateNetwork=yes", "ProtectSystem=strict", "KillMode=control-group"):
        assert f"\n{wanted}\n" in text
    assert re.search(r"\nMemoryMax=\d+G\nTasksMax=\d+\n", text)
    assert "\nOOMPolicy=continue\n" in text  # otherwise one evaluation that takes too much ends the site


def test_recipes_name_options_that_exist() -> None:
    known = {f"--{name.replace('_', '-')}" for name in command.__annotations__}
    unit = (RECIPES / "stereogauge.service").read_text(encoding="utf-8")
    compose = yaml.safe_load((RECIPES / "compose.yaml").read_text(encoding="utf-8"))
    site = compose["services"]["site"]
    for text in (re.search(r"ExecStart=(.*)", unit)[1], site["command"]):  # type: ignore[index]
        assert set(re.findall(r"--[a-z-]+", text)) <= known
    assert site["network_mode"] == "none"
    assert site["read_only"] is True
    assert site["cap_drop"] == ["ALL"]
    image = (RECIPES / site["build"]["context"] / site["build"]["dockerfile"]).read_text(encoding="utf-8")
    own = re.search(r"install -d -o stereo (.*)", image)[1].split()  # type: ignore[index]
    mounted = [volume.split(":")[:2] for volume in site["volumes"]]
    assert {place for volume, place in mounted if volume in compose["volumes"]} <= set(own)


def test_a_visitor_behind_a_socket_chooses_no_address(small_store: Path, tmp_path: Path) -> None:
    """A proxy that appends to X-Forwarded-For passes on what the visitor wrote before its own entry."""
    place = tmp_path / "site.sock"
    store = Path(shutil.copy(small_store, tmp_path))
    with (
        site_behind(place, store) as taken,
        httpx.Client(transport=httpx.HTTPTransport(uds=str(place)), base_url=f"http://{SITE}/api/v1/") as client,
    ):
        for number in range(3):
            stated = {"X-Forwarded-For": f"6.6.6.{number}, 10.0.0.9", "Authorization": "Bearer sg_wrong"}
            assert client.get("submissions", headers=stated, timeout=60).status_code == 401
        assert list(taken.tokens._failures) == ["10.0.0.9"]
