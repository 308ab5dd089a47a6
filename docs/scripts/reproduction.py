"""Write docs/reproduction.md and its figures from what `stereogauge reproduce` finds.

python docs/scripts/reproduction.py FOLDER_OF_DATA
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from stereogauge.figures.mpl.figure import draw, encoded
from stereogauge.reproduction.run import Reproduction, reproduce
from stereogauge.reproduction.text import markdown

DOCS = Path(__file__).parents[1]
PREFIX = "images/reproduction-"
HEAD = Path(__file__).with_name("reproduction-head.md")


def figures(redone: Reproduction) -> int:
    """Every figure as a small PNG file; the sum of their sizes."""
    total = 0
    for name, data in redone.figures.items():
        picture = Image.open(io.BytesIO(encoded(draw(data), "png", dpi=100))).convert("RGB").quantize(192)
        path = DOCS / f"{PREFIX}{name}.png"
        path.parent.mkdir(exist_ok=True)
        picture.save(path, optimize=True)
        total += path.stat().st_size
    return total


def main(data: Path) -> None:
    """Redo everything and write the page."""
    redone = reproduce(data, progress=lambda paper, item: sys.stderr.write(f"{paper}: {item}\n"))
    sys.stderr.write(f"{figures(redone) / 1e6:.1f} MB of figures\n")
    (DOCS / "reproduction.md").write_text(HEAD.read_text(encoding="utf-8") + markdown(redone, PREFIX), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
