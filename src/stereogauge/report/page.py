"""The report as one HTML file that needs nothing else: scripts, styles, pictures and data are all inside."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from importlib import resources

import cv2
import numpy as np
from plotly.offline import get_plotlyjs

from stereogauge.figures import mpl, plotly
from stereogauge.figures.data.galleries import Colours, heading
from stereogauge.report.content import Content, FigureEntry, GalleryEntry, Provenance, Section
from stereogauge.tables.html import html_table
from stereogauge.tables.table import Table

CARD_WIDTH, PICTURE_QUALITY = 360, 82  # pixels; per cent of WebP


def to_html(content: Content, made: str = "", drawn: Mapping[str, bytes] | None = None) -> str:
    """The whole page; `made` says when and with what it was made, `drawn` holds the SVG of figures drawn before."""
    links = "".join(f'<li><a href="#{section.id}">{escape(section.title)}</a></li>' for section in content.sections)
    sections = "".join(_section(section, drawn or {}) for section in content.sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(content.title)}</title><style>{_asset('page.css')}</style>"
        f"<script>{get_plotlyjs()}</script></head><body>"
        f"<header><h1>{escape(content.title)}</h1>{_about(content)}</header>"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav><main>{sections}</main>'
        f"<footer>{escape(made)}</footer><script>{_asset('page.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return resources.files("stereogauge.report").joinpath("assets", name).read_text(encoding="utf-8")


def _about(content: Content) -> str:
    selection, origin = content.selection, content.provenance
    facts = {
        "algorithms": ", ".join(selection.algorithms),
        "scenes": ", ".join(selection.scenes),
        "metrics": ", ".join(selection.metrics),
        "regions": ", ".join(selection.regions),
        "protocol": " ".join(part for part in (origin.protocol_name, selection.protocol) if part),
        "store": origin.store,
    }
    listed = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items() if value)
    return f"<dl>{listed}</dl>{_protocol(origin)}{_algorithms(origin)}{_failures(origin)}"


def _protocol(origin: Provenance) -> str:
    if not origin.protocol_text:
        return ""
    return f"<details><summary>Protocol in full</summary><pre>{escape(origin.protocol_text)}</pre></details>"


def _algorithms(origin: Provenance) -> str:
    described = [(name, words, link) for name, words, link in origin.algorithms if words or link]
    if not described:
        return ""
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)} {_link(link)}</dd>" for name, words, link in described)
    return f"<details><summary>About the algorithms</summary><dl>{rows}</dl></details>"


def _link(address: str) -> str:
    """A link only to the web: an address from a submitter may hold anything."""
    if not address.startswith(("https://", "http://")):
        return escape(address)
    return f'<a href="{escape(address)}" rel="noopener nofollow">{escape(address)}</a>'


def _failures(origin: Provenance) -> str:
    if not origin.failures:
        return ""
    rows = "".join(f"<li>{escape(sentence)}</li>" for sentence in origin.failures)
    return f"<details open><summary>{len(origin.failures)} evaluations failed</summary><ul>{rows}</ul></details>"


def _section(section: Section, drawn: Mapping[str, bytes]) -> str:
    entries = "".join(_entry(entry, drawn) for entry in section.entries)
    notes = "".join(f'<p class="note">Not shown: {escape(note)}</p>' for note in section.notes)
    return (
        f'<section id="{escape(section.id)}"><h2>{escape(section.title)}</h2><p>{escape(section.prose)}</p>'
        f"{entries}{notes}</section>"
    )


def _entry(entry: Table | FigureEntry | GalleryEntry, drawn: Mapping[str, bytes]) -> str:
    if isinstance(entry, Table):
        return html_table(entry)
    return _gallery(entry) if isinstance(entry, GalleryEntry) else _figure(entry, drawn)


def _figure(entry: FigureEntry, drawn: Mapping[str, bytes]) -> str:
    """The interactive figure for the screen, the drawn one for paper and for readers without scripts."""
    svg = drawn[entry.name] if entry.name in drawn else mpl.encoded(mpl.draw(entry.data), "svg")
    values = plotly.draw(entry.data).to_json().replace("</", "<\\/")
    name = escape(entry.name)
    picture = f'<img class="static" alt="{escape(entry.data.title)}" src="data:image/svg+xml;base64,{_base64(svg)}">'
    return (
        f'<figure id="figure-{name}"><div class="plot" data-figure="data-{name}"></div>{picture}'
        f'<script type="application/json" id="data-{name}">{values}</script>'
        f"<noscript><style>.static{{display:block}}.plot{{display:none}}</style></noscript>"
        f'<figcaption class="reading">{escape(entry.reading)}</figcaption></figure>'
    )


def _gallery(entry: GalleryEntry) -> str:
    cards = "".join(
        f'<div class="card"><p>{"<br>".join(escape(line) for line in heading(entry.data, item).splitlines())}</p>'
        + "".join(
            _picture(picture, f"{kind} of {item.algorithm}")
            for kind, picture in zip(entry.data.rows, item.pictures, strict=True)
        )
        + "</div>"
        for item in entry.data.items
    )
    return (
        f'<figure id="gallery-{escape(entry.name)}"><figcaption>{escape(entry.data.title)}</figcaption>'
        f'<div class="cards">{cards}</div><p class="note">{escape(entry.data.caption)}</p></figure>'
    )


def _picture(colours: Colours, words: str) -> str:
    height, width = colours.shape[:2]
    if width > CARD_WIDTH:
        size = (CARD_WIDTH, round(height * CARD_WIDTH / width))
        colours = np.asarray(cv2.resize(colours, size, interpolation=cv2.INTER_AREA), np.uint8)
    options = [cv2.IMWRITE_WEBP_QUALITY, PICTURE_QUALITY]
    encoded = np.asarray(cv2.imencode(".webp", cv2.cvtColor(colours, cv2.COLOR_RGB2BGR), options)[1])
    return f'<img alt="{escape(words)}" src="data:image/webp;base64,{_base64(encoded.tobytes())}">'


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
