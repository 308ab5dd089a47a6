"""JSON Schemas of the commands that run experiments: study, tune and reproduce."""

from __future__ import annotations

from stereogauge.cli.schema_types import (
    FLAG,
    REAL,
    TEXT,
    TEXTS,
    VALUE,
    WHOLE,
    Schema,
    by_name,
    either,
    record,
    several,
)

MATRIX: Schema = {**several(several(VALUE)), "description": "one row per metric, one column per damage"}
RESPONSE = record(
    "a metric of a map with one damage",
    damage=TEXT,
    strength=REAL,
    metric=TEXT,
    region=TEXT,
    value=VALUE,
    truth=VALUE,
    response={**VALUE, "description": "how much worse the value is than that of the ground truth"},
)
STUDY = record(
    "how metrics respond to damages",
    study=record(
        "every metric, damage and strength", scene=TEXT, protocol=TEXT, idle=TEXTS, responses=several(RESPONSE)
    ),
    sensitivity=record(
        "every metric and damage at the damage's reference strength",
        metrics=TEXTS,
        damages=TEXTS,
        responses=MATRIX,
        scaled=MATRIX,
        selective=MATRIX,
        strongest=by_name(TEXT),
    ),
)
DAMAGES = several(record("one damage", id=TEXT, strength=TEXT, reference=REAL, metric=TEXT, description=TEXT))

SETTING = by_name({"type": ["number", "string", "boolean"]})
STATES = ("complete", "pruned", "failed", "running", "waiting")
COUNTS = record("trials by state", **dict.fromkeys(STATES, WHOLE))
TRIAL = record(
    "one set of parameters and its outcome",
    number=WHOLE,
    position=WHOLE,
    state={"enum": list(STATES)},
    parameters=SETTING,
    values=either(several(VALUE)),
    seconds=VALUE,
    failure=TEXT,
    scores={**by_name(several(VALUE)), "description": "by scene, in the order of the columns"},
)
DIRECTION: Schema = {"enum": ["minimize", "maximize"]}
IMPROVEMENT = record(
    "an objective with the default and with the tuned parameters",
    goal=TEXT,
    unit=TEXT,
    direction=DIRECTION,
    default=VALUE,
    tuned=VALUE,
    difference=VALUE,
    low=VALUE,
    high=VALUE,
    percent=VALUE,
    level=REAL,
    draws=WHOLE,
    better=WHOLE,
    compared=WHOLE,
    scenes=TEXTS,
    scene_default=several(VALUE),
    scene_tuned=several(VALUE),
)
TUNING = record(
    "a search over the parameters of a matcher",
    name=TEXT,
    matcher=TEXT,
    dataset=TEXT,
    scenes=TEXTS,
    groups={**several(TEXTS), "description": "scenes that share a ground truth"},
    columns=TEXTS,
    objectives=several(
        record(
            "one objective",
            name=TEXT,
            unit=TEXT,
            direction=DIRECTION,
            terms=by_name(record("a weighed metric", weight=REAL, unit=VALUE, origin=TEXT)),
        )
    ),
    judge=either(TEXT),
    sampler=TEXT,
    seed=WHOLE,
    prune=FLAG,
    protocol=TEXT,
    space={"type": "object"},
    states=COUNTS,
    baseline=either(WHOLE),
    best=either(WHOLE),
    parameters=either(SETTING),
    matcher_text=either(TEXT),
    toml=either(TEXT),
    trials=several(TRIAL),
    front=several(WHOLE),
    importance=by_name(by_name(VALUE)),
    seen=several(IMPROVEMENT),
    held_out=several(IMPROVEMENT),
    folds=several(record("a search without some scenes", held_out=TEXTS, states=COUNTS, best=either(TRIAL))),
)

PRINTED: Schema = {"type": ["number", "string", "null"]}
REPRODUCTION = record(
    "numbers of the papers beside ours",
    rows=several(
        record(
            "one published number or claim",
            paper=TEXT,
            item=TEXT,
            what=TEXT,
            status={"enum": ["reproduced", "same experiment on other data", "cannot be checked"]},
            ours=PRINTED,
            theirs=PRINTED,
            difference=either(REAL),
            reason=TEXT,
        )
    ),
    items=several(
        record(
            "a table, figure or claim of a paper",
            paper=TEXT,
            item=TEXT,
            title=TEXT,
            tables=several(record("further numbers", title=TEXT, headings=TEXTS, cells=several(several(PRINTED)))),
            figures=TEXTS,
        )
    ),
)
