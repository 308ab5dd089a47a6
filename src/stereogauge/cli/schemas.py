"""JSON Schemas (draft 2020-12) of the documents that commands print with --format json.

They name what programs may rely on; documents may hold more.
"""

from __future__ import annotations

from collections.abc import Mapping

from stereogauge.cli.schema_types import (
    ANY,
    FLAG,
    REAL,
    ROWS,
    TABLES,
    TEXT,
    TEXTS,
    VALUE,
    WHOLE,
    Schema,
    either,
    record,
    several,
    tables_called,
)
from stereogauge.cli.schemas_of_experiments import DAMAGES, REPRODUCTION, STUDY, TUNING
from stereogauge.errors import unknown_name

SCORE = record(
    "one score",
    dataset=TEXT,
    scene=TEXT,
    algorithm=TEXT,
    metric=TEXT,
    region=TEXT,
    value=VALUE,
    sum=VALUE,
    count=WHOLE,
    missing=WHOLE,
    protocol=TEXT,
    note=TEXT,
    rule=TEXT,
)
SCORES = record(
    "scores under one protocol",
    {"inputs": {**TEXT, "description": "hash of the scenes' files and settings"}},
    protocol=either(record("every choice of the protocol", name=TEXT, hash=TEXT)),
    scores=several(SCORE),
)
METRIC = record("one metric", id=TEXT, name=TEXT, formula=TEXT, unit=TEXT, better=TEXT, source=TEXT)
DATASET = record("one dataset", id=TEXT, name=TEXT, layout=TEXT, obtain=TEXT, terms=TEXT, citation=TEXT)
RANKING = record(
    "an order with what it was computed from",
    {
        "bootstrap": record(
            "intervals of ranks", level=REAL, draws=WHOLE, seed=WHOLE, intervals=several({"type": "object"})
        )
    },
    model=TEXT,
    value_name=TEXT,
    options={"type": "object"},
    selection=record("what was ranked", algorithms=TEXTS, scenes=TEXTS, columns=TEXTS),
    ranking=several(record("one algorithm", algorithm=TEXT, rank=WHOLE, value=VALUE, group=either(WHOLE))),
    arrays={"type": "object"},
    names={"type": "object"},
    notes=TEXTS,
)
MATCH = record(
    "one run of a matcher",
    matcher=TEXT,
    width=WHOLE,
    height=WHOLE,
    ndisp=WHOLE,
    density=REAL,
    seconds=REAL,
    cpu_seconds=VALUE,
    peak_memory=either(WHOLE),
    threads=either(WHOLE),
    processor=TEXT,
    parameters={"type": "object", "additionalProperties": TEXT},
)
VALIDATION = record(
    "what is wrong with a file or folder",
    {
        "report": record(
            "facts about a map", name=TEXT, width=WHOLE, height=WHOLE, valid_share=REAL, problems=several(ANY)
        )
    },
    path=TEXT,
    ok=FLAG,
    maps=WHOLE,
    algorithms=several(ANY),
    findings=several({"type": "object"}),
)
STORE = record(
    "what a store holds",
    store=TEXT,
    counts={"type": "object", "additionalProperties": WHOLE},
    datasets=several(record("one dataset", name=TEXT, scenes=TEXTS)),
    algorithms=several(record("one algorithm", name=TEXT, seconds=either(REAL))),
    protocols=several(record("one protocol", name=TEXT, hash=TEXT, scoring_hash=TEXT, text=TEXT)),
    runs=several({"type": "object"}),
)
ROBUSTNESS = several(
    record(
        "one algorithm and pair of scenes",
        algorithm=TEXT,
        condition=TEXT,
        first=TEXT,
        second=TEXT,
        changed=VALUE,
        mean=VALUE,
        median=VALUE,
        lost=VALUE,
        gained=VALUE,
        count=VALUE,
    )
)
REGIONS = several(
    record("one region of one scene", scene=TEXT, region=TEXT, pixels=either(WHOLE), share=VALUE, note=TEXT)
)

ANSWER = record(
    "which algorithm to take, and how sure that is",
    purpose=TEXT,
    sentence=TEXT,
    winner=either(TEXT),
    leader=either(TEXT),
    rivals=TEXTS,
    places=several(record("one algorithm", algorithm=TEXT, rank=WHOLE, score=VALUE, first=VALUE)),
    terms=several(record("one weighed metric", term=TEXT, words=TEXT, weight=REAL, effective_weight=VALUE)),
    measured_share=VALUE,
    not_measured=several(record("one metric without scores", term=TEXT, command=TEXT)),
    unknown=TEXTS,
    scenes=TEXTS,
)

PIECES = several(record("a part of the difference", name=TEXT, amount=REAL))
EXPLANATION = record(
    "why the first algorithm scores better or worse than the second; lower scores are better",
    first=TEXT,
    second=TEXT,
    purpose=TEXT,
    scores={**several(REAL), "minItems": 2, "maxItems": 2},
    difference={**REAL, "description": "score of the first − score of the second"},
    better=either(TEXT),
    text=TEXT,
    terms=several(
        record(
            "a weighed metric and its part of the difference",
            term=TEXT,
            words=TEXT,
            property=TEXT,
            weight=REAL,
            first=VALUE,
            second=VALUE,
            amount=VALUE,
        )
    ),
    scenes=PIECES,
    regions=PIECES,
    pieces={**several(several(several(VALUE))), "description": "the difference by term, scene and region"},
    undivided=TEXTS,
    command=TEXT,
)

SCHEMAS: Mapping[str, tuple[str, Schema]] = {
    "analyze": ("The tables of the analyses by name.", TABLES),
    "answer": ("Which algorithm to take, or with --profiles what each weighs.", {"anyOf": [ANSWER, ROWS, TABLES]}),
    "compare": ("Scores of one or more estimates.", SCORES),
    "confidence": ("One row per scene and measure.", {"anyOf": [ROWS, TABLES]}),
    "datasets": ("Known datasets, or one of them.", {"anyOf": [several(DATASET), DATASET]}),
    "evaluate": ("The scores over all scenes, or with --dry-run what would be computed.", {"anyOf": [TABLES, ROWS]}),
    "explain": (
        "Why two algorithms differ, or how all of them compare.",
        {"anyOf": [EXPLANATION, tables_called("pairs-covered")]},
    ),
    "filter": ("What filtering by confidence gains.", TABLES),
    "gate": ("What got worse than in the baseline.", tables_called("gate")),
    "match": ("One run, or with --list the parameters of all matchers.", {"anyOf": [MATCH, ROWS]}),
    "metrics": ("The catalogue of metrics, or one of them.", {"anyOf": [several(METRIC), METRIC]}),
    "rank": ("An order of algorithms.", {"anyOf": [RANKING, ROWS]}),
    "regions": ("Counts of pixels.", REGIONS),
    "reproduce": ("The items of the papers and how they compare.", REPRODUCTION),
    "robustness": ("Changes between maps of one place.", ROBUSTNESS),
    "store": ("What a store holds (`store info --json`).", STORE),
    "study": ("Responses and sensitivities, or with --list the damages.", {"anyOf": [STUDY, DAMAGES]}),
    "table": ("The scores of a store over its scenes.", TABLES),
    "tune": ("The result of a search.", TUNING),
    "validate": ("Findings about a map, a folder or a zip.", VALIDATION),
}


def schema_of(command: str) -> Schema:
    """The schema of what a command prints."""
    if command not in SCHEMAS:
        raise unknown_name("command with --format json", command, SCHEMAS)
    description, schema = SCHEMAS[command]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"stereogauge {command} --format json",
        "description": description,
        **{key: value for key, value in schema.items() if key != "description"},
    }
