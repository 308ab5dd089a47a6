"""The small store and the site on it, reached over loopback as a browser reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.web.small import make_store, serving
from tests.web.visitor import CHROMIUM, FLAGS, Visitor

from stereogauge import open_store
from stereogauge.store import Store
from stereogauge.web.app import create_app
from stereogauge.web.export import export_site
from stereogauge.web.site import Site
from stereogauge.web.source import StoreSource


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a store that no test changes."""
    return Path(make_store(tmp_path_factory.mktemp("small")))


@pytest.fixture(scope="session")
def opened(small_store: Path) -> Iterator[Store]:
    with open_store(small_store, read_only=True) as store:
        yield store


@pytest.fixture(scope="session")
def site(opened: Store) -> Site:
    return Site(StoreSource(opened), hidden=["beta"])


@pytest.fixture(scope="session")
def address(site: Site) -> Iterator[str]:
    """The site with one hidden scene, beta."""
    with serving(create_app(site)) as base:
        yield base


@pytest.fixture(scope="session")
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{address}/api/v1/", timeout=60) as one:
        yield one


@pytest.fixture(scope="session")
def exported(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static copy of the site; made in another thread, since Playwright's event loop may run in this one."""
    folder = tmp_path_factory.mktemp("exported")
    with ThreadPoolExecutor(1) as elsewhere:
        written = elsewhere.submit(export_site, site, folder).result()
    assert written == sum(1 for file in folder.rglob("*") if file.is_file())
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visitor(chromium: Any, address: str) -> Iterator[Visitor]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, accept_downloads=True)
    one = Visitor(context.new_page(), address)
    yield one
    assert one.complaints == []
    context.close()
