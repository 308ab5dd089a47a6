"""`stereogauge schema`: the JSON Schema (draft 2020-12) of what a command prints with --format json.

msgspec generates a schema from the types that a document is made of; `record` gives the object as which a dataclass or
named tuple is printed. Schemas name what programs may rely on; documents may hold more.
"""

from __future__ import annotations

import enum
import functools
import importlib
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired

import typer

from stereogauge.cli.output import print_json
from stereogauge.errors import unknown_name
from stereogauge.loading import is_table

Value = float | Literal["inf", "-inf"] | None
"""A number as it is printed; null where there is none."""
Plain = dict[str, Any]
Rows = list[dict[str, float | str | bool | None]]
"""One object per row, all with the same keys."""


def command(
    name: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="A command, e.g. compare; without it they are listed.")
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --format json."""
    print_json(sorted(DOCUMENTS) if name is None else schema_of(name))


def schema_of(name: str) -> dict[str, Any]:
    """The schema of what a command prints."""
    import msgspec

    if name not in DOCUMENTS:
        raise unknown_name("command with --format json", name, DOCUMENTS)
    description, *kinds = DOCUMENTS[name]
    made = [one for kind in kinds for one in (kind() if isinstance(kind, types.FunctionType) else [kind])]
    schemas, definitions = msgspec.json.schema_components(made, ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"stereogauge {name} --format json",
        "description": description,
        **(schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}),
        "$defs": definitions,
    }


@functools.cache
def record(source: Any) -> Any:
    """The printed object of a struct or named tuple."""
    return fields(source.__name__, **_field_types(source))


def printed(path: str, name: str = "", **own: Any) -> Any:
    """The printed object of a class of ours, `package.module.Class`, with own fields in place of and beside its own."""
    module, _, source = path.rpartition(".")
    found = getattr(importlib.import_module(f"stereogauge.{module}"), source)
    return fields(name or source, **_field_types(found) | own) if own or name else record(found)


def fields(_name: str, /, **kinds: Any) -> Any:
    """An object with these fields."""
    make: Any = typing.TypedDict
    return make(_name, kinds)


def array(kind: Any) -> Any:
    """A list of one kind of values."""
    return types.GenericAlias(list, (kind,))


def optional(kind: Any) -> Any:
    """A field that may be absent."""
    make: Any = NotRequired
    return make[kind]


def by_name(kind: Any) -> Any:
    """An object with any names and one kind of values."""
    return types.GenericAlias(dict, (str, kind))


def _field_types(source: Any) -> dict[str, Any]:
    names = source.__struct_fields__ if is_table(source) else source._fields
    hints = typing.get_type_hints(source)
    return {name: _printed(hints[name]) for name in names}


def _printed(kind: Any) -> Any:
    """A type as it is printed: tuples are arrays, numbers may be null, and what has no plain form is anything."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is float:
        return Value
    if kind in (int, str, bool, type(None)) or origin is Literal:
        return kind
    if is_table(kind) or hasattr(kind, "_fields"):
        return record(kind)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return Literal[tuple(member.value for member in kind)]
    if origin in (typing.Union, types.UnionType):
        return functools.reduce(lambda one, other: one | other, map(_printed, inner))
    if origin in (tuple, list, Sequence):
        return array(_printed(inner[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return by_name(_printed(inner[1]))
    return Any


def texts(*names: str) -> dict[str, Any]:
    """Fields that hold text."""
    return dict.fromkeys(names, str)


TABLE = fields("Table", title=str, header=list[str], rows=list[list[float | str | None]], notes=list[str])
TABLES = "Tables by name.", by_name(TABLE)
DATASET = fields("Dataset", **texts("id", "name", "layout", "obtain", "terms", "citation"))
METRIC = fields("Metric", **texts("id", "name", "formula", "unit", "better", "source"))
REGION = fields("Region", scene=str, region=str, pixels=int | None, share=Value, note=str)
AGREEMENT = fields("Agreement", preset=str, column=str, how=str, value=float, own=bool)
NUMBER = fields("Number", name=str, printed=str, agreements=array(AGREEMENT))
DAMAGE = fields("Damage", id=str, strength=str, reference=float, metric=str, description=str)
MATCH = fields(
    "Match",
    matcher=str,
    **dict.fromkeys(("width", "height", "ndisp"), int),
    density=float,
    seconds=float,
    cpu_seconds=Value,
    peak_memory=int | None,
    threads=int | None,
    processor=str,
    parameters=dict[str, str],
)


def _answer() -> list[Any]:
    own = texts("headline", "detail", "sentence")
    return [printed("decision.answer.Answer", selection=Plain, requirements=Plain | None, unknown=list[str], **own)]


def _explanation() -> list[Any]:
    found: dict[str, Any] = {"scores": tuple[float, float], "pieces": list[list[list[Value]]], "difference": float}
    return [printed("decision.explain.Explanation", **found, better=str | None, text=str, undivided=list[str])]


def _packed() -> list[Any]:
    findings = array(printed("datasets.plausibility.Finding"))
    return [by_name(fields("Packed", ok=bool, files=list[str], findings=findings))]


def _protocols() -> list[Any]:
    one = printed("protocol.Protocol", hash=str, scoring_hash=str)
    return [one, array(one)]


def _ranking() -> list[Any]:
    intervals = fields("Bootstrap", level=float, draws=int, seed=int, intervals=list[Plain])
    place = fields("Place", algorithm=str, rank=int, value=Value, group=int | None)
    chosen = fields("Selection", **dict.fromkeys(("algorithms", "scenes", "columns"), list[str]))
    found = {"ranking": array(place), "selection": chosen, "bootstrap": optional(intervals), "notes": list[str]}
    computed = dict.fromkeys(("options", "arrays", "names"), Plain)
    return [fields("Ranking", model=str, value_name=str, **found, **computed)]


def _reproduction() -> list[Any]:
    value = float | str | None
    row = printed("reproduction.declaration.ReproducedNumber", "Row", ours=value, theirs=value, difference=float | None)
    further = fields("Further", title=str, headings=list[str], cells=array(array(value)))
    item = fields("Item", **texts("paper", "item", "title"), tables=array(further), figures=list[str])
    return [fields("Reproduction", rows=array(row), items=array(item))]


def _store() -> list[Any]:
    kinds = {"datasets": "Dataset", "algorithms": "Algorithm", "protocols": "Protocol", "runs": "Run"}
    lists = {name: array(printed(f"store.listing.Stored{kind}")) for name, kind in kinds.items()}
    return [fields("Store", store=str, counts=dict[str, int], **lists)]


def _studies() -> list[Any]:
    matrices = dict.fromkeys(("responses", "scaled", "selective"), list[list[Value]])
    sensitivity = fields("Sensitivity", metrics=list[str], damages=list[str], **matrices, strongest=dict[str, str])
    responses = array(printed("study.run.Response", strength=float))
    study = fields("Responses", scene=str, protocol=str, idle=list[str], responses=responses)
    of_images = fields("ImageStudies", images=by_name(study))
    return [fields("Study", study=study, sensitivity=sensitivity), of_images, array(DAMAGE)]


def _changes() -> list[Any]:
    named = texts("algorithm", "condition", "first", "second")
    return [array(printed("study.robustness.Robustness", "Change", **named, count=Value))]


def _tuning() -> list[Any]:
    from stereogauge.tuning.definition import Definition
    from stereogauge.tuning.objectives import Improvement
    from stereogauge.tuning.result import State, Trial

    of_search, of_improvement = _field_types(Definition), _field_types(Improvement)
    states = fields("States", **dict.fromkeys(typing.get_args(State), int))
    term = fields("Term", weight=float, unit=Value, origin=str)
    objective = fields("Objective", name=str, unit=str, direction=of_improvement["direction"], terms=by_name(term))
    improvement = array(fields("Improvement", **of_improvement))
    fold = fields("Fold", held_out=list[str], states=states, best=record(Trial) | None)
    kept = ("matcher", "dataset", "scenes", "columns", "sampler", "seed", "prune", "protocol", "space")
    return [
        fields(
            "Tuning",
            name=str,
            **{key: of_search[key] for key in kept},
            objectives=array(objective),
            groups=list[list[str]],
            judge=str | None,
            states=states,
            **dict.fromkeys(("baseline", "best"), int | None),
            parameters=_field_types(Trial)["parameters"] | None,
            **dict.fromkeys(("matcher_text", "toml"), str | None),
            trials=array(record(Trial)),
            front=list[int],
            importance=dict[str, dict[str, Value]],
            **dict.fromkeys(("seen", "held_out"), improvement),
            folds=array(fold),
        )
    ]


DOCUMENTS: Mapping[str, tuple[Any, ...]] = {
    "analyze": TABLES,
    "answer": ("Which algorithm to take, or with --profiles what each weighs.", _answer, Rows),
    "compare": (
        "Scores of one or more estimates, with the hash of the scenes' files and settings.",
        lambda: [
            fields(
                "Scores",
                protocol=fields("Protocol", **texts("name", "hash")) | None,
                scores=array(printed("scores.score.Score")),
                inputs=optional(str),
            )
        ],
    ),
    "confidence": ("One row per entry.", Rows),
    "datasets": ("Known datasets, or one of them.", DATASET, array(DATASET)),
    "evaluate": ("The scores over all scenes, or with --dry-run what would be computed.", by_name(TABLE), Rows),
    "explain": (
        "Why two algorithms differ, or how all of them compare.",
        _explanation,
        fields("Pairs", **{"pairs-covered": TABLE}),
    ),
    "filter": TABLES,
    "gate": ("What got worse than in the baseline.", fields("Gate", gate=TABLE)),
    "identify": ("Published numbers with the presets that give them.", fields("Identified", numbers=array(NUMBER))),
    "match": ("One run of a matcher, or with --list the parameters of all matchers.", MATCH, Rows),
    "metrics": ("The catalogue of metrics, or one of them.", METRIC, array(METRIC)),
    "pack": ("Archives for benchmarks by name, with what was found in the maps.", _packed),
    "protocols": ("The shipped protocols, or one.", _protocols),
    "rank": ("An order of algorithms with what it was computed from.", _ranking, Rows),
    "regions": ("Counts of pixels, one row per region and scene.", array(REGION)),
    "reproduce": ("The items of the papers and how they compare.", _reproduction),
    "robustness": ("Changes between maps of one place, one row per algorithm and pair of scenes.", _changes),
    "store": ("What a store holds (`store info`).", _store),
    "study": (
        "Responses and sensitivities, with --images the responses of matchers, or with --list the damages.",
        _studies,
    ),
    "table": TABLES,
    "tune": ("The result of a search over the parameters of a matcher.", _tuning),
    "validate": (
        "Findings about a map, a folder or a zip.",
        lambda: [
            printed("datasets.validation.Validation", ok=bool, report=optional(printed("io.inspection.FileReport")))
        ],
    ),
    "zero-shot": TABLES,
}
"""What each command prints: in words, and the alternative types of its document, or functions that list them."""
