"""What a hostile visitor tries."""

from __future__ import annotations

import os
from urllib.parse import quote

import httpx
import pytest
from tests.web.small import MARKUP

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
