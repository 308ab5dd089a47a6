"""Pictures of the real program: a terminal and the site for the README, and pages of the site for its description.

    python docs/scripts/screenshots.py          writes docs/images/readme-*.{svg,png}
    python docs/scripts/screenshots.py STORE    writes docs/images/site-*.png from what scripts/evaluate-data.sh made

The terminal is what the commands print, drawn by Rich; the site is a served store, seen by headless Chromium.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text
from small_images import save_small

IMAGES = Path(__file__).parents[1] / "images"
DEMO = "stereogauge demo --out ."
RANK = "stereogauge rank demo.sqlite --model middlebury --metrics bad@2"
FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)  # no picture asks another site for a font
READY = 60  # seconds that a server has to answer
PAIR = "first=census%20SGM&second=OpenCV%20SGBM&profile=driver-assistance"
PAGES = {
    "site-answer": ("#answer?profile=driver-assistance", 1400, 900, "light"),
    "site-versus": (f"#versus?{PAIR}", 1400, 900, "dark"),
    "site-board": ("#leaderboard?profile=driver-assistance", 1400, 700, "light"),
    "site-phone": ("#answer?profile=driver-assistance", 390, 844, "light"),
}
"""Address, width, height and theme of each picture of the site's own description."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def run(command: str, folder: Path) -> str:
    """What a command prints on a terminal."""
    words = [sys.executable, "-m", "stereogauge.cli", *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def terminal(printed: dict[str, str]) -> None:
    """Commands and their output as one SVG."""
    width = max(len(line) for text in printed.values() for line in text.splitlines())
    console = Console(record=True, width=width, file=io.StringIO())
    for command, text in printed.items():
        console.print(Text("$ ", style="bold green"), Text(command, style="bold"), sep="")
        console.print(Text.from_ansi(text), "")
    svg = FONT_FACE.sub("", console.export_svg(title="stereogauge", clear=False))
    (IMAGES / "readme-terminal.svg").write_text(svg, encoding="utf-8")


@contextlib.contextmanager
def served(store: Path) -> Iterator[str]:
    """The address of the site while it runs on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [sys.executable, "-m", "stereogauge.cli", "serve", str(store), "--port", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    try:
        _wait(address, server)
        yield address
    finally:
        server.terminate()
        server.wait(timeout=20)


def _wait(address: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(READY * 4):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(address, timeout=5).close()
            return
        if server.poll() is not None:
            break
        time.sleep(0.25)
    raise SystemExit(f"The site did not answer at {address}.")


def site(store: Path) -> None:
    """The first page of the site as a PNG."""
    from playwright.sync_api import sync_playwright

    with served(store) as address, sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(address, wait_until="networkidle")
        page.wait_for_timeout(1500)
        save_small(page.screenshot(), IMAGES / "readme-site.png")
        browser.close()


def pages(store: Path) -> None:
    """The pages that docs/site.md shows, as a visitor who has seen the tour sees them."""
    from playwright.sync_api import sync_playwright

    with served(store) as address, sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (state, width, height, theme) in PAGES.items():
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
            context.add_init_script("localStorage.setItem('stereogauge-tour', 'seen')")
            page = context.new_page()
            page.goto(f"{address}{state}", wait_until="networkidle")
            page.wait_for_timeout(1500)
            save_small(page.screenshot(), IMAGES / f"{name}.png")
            context.close()
        browser.close()


def main() -> None:
    """Take the pictures of the README of a demonstration store, or those of the site of the store that is named."""
    IMAGES.mkdir(exist_ok=True)
    if len(sys.argv) > 1:
        pages(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        terminal({command: run(command, folder) for command in (DEMO, RANK)})
        if CHROMIUM is None:
            sys.stderr.write("no Chromium found: the site was not photographed\n")
        else:
            site(folder / "demo.sqlite")


if __name__ == "__main__":
    main()
