"""Fenced snippets of Markdown pages, and how they are run.

Invisible comments right above a snippet say what a reader sees from the text around it:

    <!-- file: garden/stereogauge.toml -->   the snippet is the content of this file
    <!-- exit: 2 -->                         the commands end with this code
    <!-- slow -->                            run with the slow tests only
    <!-- not run: needs a cluster -->        only the options of the commands are checked
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*?$", re.MULTILINE | re.DOTALL
)
DIRECTIVE = re.compile(r"<!--\s*(?P<key>file|exit|slow|not run)(?::\s*(?P<value>.*?))?\s*-->\s*$")


@dataclass(frozen=True)
class Snippet:
    """One fenced block with its language and the directives above it."""

    page: Path
    line: int
    language: str
    text: str
    directives: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command line; lines that continue with a backslash are joined."""
        joined = self.text.replace("\\\n", " ")
        return [shlex.split(line[2:], comments=True) for line in joined.splitlines() if line.startswith("$ ")]


def snippets(page: Path) -> Iterator[Snippet]:
    """Every fenced block of a page."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        above = text[: match.start()].rstrip("\n").splitlines()
        directives = {}
        while above and (found := DIRECTIVE.search(above[-1])):
            directives[found["key"]] = found["value"] or ""
            above.pop()
        body = re.sub(rf"^{match['indent']}", "", match["body"], flags=re.MULTILINE)
        yield Snippet(page, text.count("\n", 0, match.start()) + 1, match["language"], body, directives)


def guide_pages() -> list[Path]:
    """The pages whose snippets are run."""
    named = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "docs/index.md", "docs/evaluators.md")]
    return [*named, *sorted((ROOT / "docs" / "guide").glob("*.md"))]
