"""Every link inside the repository's pages leads somewhere, and every picture exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .snippets import FENCE, ROOT

LINK = re.compile(r"!?\[[^\]]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
PAGES = sorted([*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").rglob("*.md") if "scripts" not in path.parts)])


def anchors(page: Path) -> set[str]:
    """Addresses of a page's headings, as the documentation's builder makes them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[\s_-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_pictures_exist(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for match in LINK.finditer(text):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{page.name} links to #{anchor}, which {path.name} does not have"


def test_the_guide_lists_every_page() -> None:
    named = set(re.findall(r'"((?:guide/)?[\w-]+\.md)"', (ROOT / "docs" / "hooks.py").read_text(encoding="utf-8")))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert {page for page in pages if not page.startswith(("decisions/", "scripts/"))} == named


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "guide" / "concepts" / "index.html").is_file()
