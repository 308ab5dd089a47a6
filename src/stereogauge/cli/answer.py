"""`stereogauge answer`: which algorithm of a store to take for an application, and how sure that is."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import Annotated, Literal

from stereogauge.cli import options
from stereogauge.cli.options import Format
from stereogauge.cli.output import print_json, print_rows, print_tables, say
from stereogauge.decision.answer import answered
from stereogauge.decision.source import Source, compatibility, purpose_of
from stereogauge.decision.verdict import Settings
from stereogauge.ranking.profile import load_profile, parse_weights, shipped_profiles
from stereogauge.scores.scope import DRAWS, LEAST_COVERAGE, Scope
from stereogauge.tables.decision_tables import answer_html, answer_tables

Form = Literal["text", "json", "csv", "html"]


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}}
.answer{{font-size:1.3rem}} table{{border-collapse:collapse}} th,td{{padding:.2rem .7rem;text-align:left;
border-bottom:1px solid #ddd}} .number{{text-align:right}} figcaption{{font-weight:600}} figure{{margin:1.5rem 0}}
.note{{color:#5c5c5c;font-size:.9rem}} pre{{background:#f6f6f6;padding:.6rem;overflow-x:auto}}</style></head>
<body>{body}</body></html>
"""


def command(
    store: options.StoreAddress,
    scope: Annotated[Scope, options.without("regions", "metrics", "least_coverage", "least_support")],
    profile: options.Profile = None,
    weight: options.Weight = None,
    requirements: Annotated[
        Path | None, "A TOML file with camera, distances, tolerance, smallest object and time limit."
    ] = None,
    profiles: Annotated[bool, "List the profiles and what is measured of each."] = False,
    alpha: options.Alpha = 0.05,
    tolerance: options.Tolerance = 0.05,
    draws: Annotated[int, "Draws of weights and of scenes."] = DRAWS,
    seed: Annotated[int, "Seed of the draws."] = 0,
    form: Annotated[Form, "text, json, csv or html."] = "text",
) -> None:
    """Say which algorithm to take for an application, how sure that is, and what is not known.

    Without a profile, weights or requirements, all properties weigh the same. No winner is named where the evidence
    does not support one.
    """
    with options.selected_scores(store, scope) as (opened, cube):
        source = Source(cube, opened.protocol(cube.protocol, cube.columns), store)
    if profiles:
        _print_profiles(source, form)
        return
    found = answered(
        source,
        Settings(LEAST_COVERAGE if scope.need is None else scope.need, alpha, draws, seed, scope.missing, tolerance),
        purpose_of(source.cube, profile, parse_weights(weight), scope.proportions),
        requirements,
    )
    if form == "json":
        print_json(found)
    elif form == "csv":
        print_tables(answer_tables(found), Format.csv)
    elif form == "html":
        sys.stdout.write(PAGE.format(title=escape(found.purpose), body=answer_html(found)))
    else:
        if found.description:
            say(found.description)
        sys.stdout.write(f"{found.text}\n\n")
        print_tables(answer_tables(found))


def _print_profiles(source: object, form: Form) -> None:
    assert isinstance(source, Source)
    shown = [compatibility(source, load_profile(name)) for name in shipped_profiles()]
    if form in ("json", "csv"):
        rows = [
            {
                "profile": one.profile.id,
                "measured": one.share,
                "not measured": ", ".join(missing.term for missing in one.not_measured),
                "weighs": one.profile.summary,
                "command": one.command,
            }
            for one in shown
        ]
        print_rows(rows, Format(form))
        return
    print_rows([{"profile": one.profile.id, "measured": one.sentence, "weighs": one.profile.summary} for one in shown])
    for one in shown:
        if one.command:
            say(f"to measure all of {one.profile.id}: {one.command}")
