"""Write docs/reproduction.md and its figures from what `stereogauge reproduce` finds.

python docs/scripts/reproduction.py FOLDER_OF_DATA
"""

from __future__ import annotations

import sys
from pathlib import Path

from small_images import save_small

from stereogauge.reproduction.run import Reproduction, markdown, reproduce

DOCS = Path(__file__).parents[1]
PREFIX = "images/reproduction-"
HEAD = Path(__file__).with_name("reproduction-head.md")


def figures(redone: Reproduction) -> int:
    """Every figure as a small PNG file; the sum of their sizes."""
    return sum(save_small(data, DOCS / f"{PREFIX}{name}.png", colours=192) for name, data in redone.figures.items())


def main(data: Path) -> None:
    """Redo everything and write the page."""
    redone = reproduce(data, progress=lambda paper, item: sys.stderr.write(f"{paper}: {item}\n"))
    sys.stderr.write(f"{figures(redone) / 1e6:.1f} MB of figures\n")
    (DOCS / "reproduction.md").write_text(HEAD.read_text(encoding="utf-8") + markdown(redone, PREFIX), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
