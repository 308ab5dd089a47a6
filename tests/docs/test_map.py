"""The map of the code names files and folders that exist."""

from __future__ import annotations

import re

from .snippets import ROOT


def test_every_path_of_the_page_on_architecture_exists() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`((?:[\w-]+/)+(?:[\w-]+\.\w+)?|[\w-]+\.py)`", page)
    assert len(paths) > 40
    homes = [ROOT / "src" / "stereogauge", ROOT]
    assert [path for path in paths if not any((home / path).exists() for home in homes)] == []


def test_every_package_is_in_the_picture() -> None:
    picture = (ROOT / "docs" / "images" / "architecture.svg").read_text(encoding="utf-8")
    folder = ROOT / "src" / "stereogauge"
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert {name for name in packages if f">{name}<" not in picture} == set()
