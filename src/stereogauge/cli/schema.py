"""`stereogauge schema`: the JSON Schema (draft 2020-12) of what a command prints with --format json.

msgspec generates a schema from the types that a document is made of; `record` gives the object as which a dataclass or
named tuple is printed. Schemas name what programs may rely on; documents may hold more.
"""

from __future__ import annotations

import enum
import functools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
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
    schemas, definitions = msgspec.json.schema_components(DOCUMENTS[name](), ref_template="#/$defs/{name}")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"stereogauge {name} --format json",
        "description": DOCUMENTS[name].__doc__,
        **(schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}),
        "$defs": definitions,
    }


@functools.cache
def record(source: Any) -> Any:
    """The printed object of a struct or named tuple."""
    return fields(source.__name__, **_field_types(source))


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


TABLE = fields("Table", title=str, header=list[str], rows=list[list[float | str | None]], notes=list[str])


def _tables() -> Sequence[Any]:
    """Tables by name."""
    return [by_name(TABLE)]


def _rows() -> Sequence[Any]:
    """One row per entry."""
    return [Rows]


def _evaluate() -> Sequence[Any]:
    """The scores over all scenes, or with --dry-run what would be computed."""
    return [*_tables(), Rows]


def _gate() -> Sequence[Any]:
    """What got worse than in the baseline."""
    return [fields("Gate", gate=TABLE)]


def _answer() -> Sequence[Any]:
    """Which algorithm to take, or with --profiles what each weighs."""
    from stereogauge.decision.answer import Answer

    own = {"selection": Plain, "requirements": Plain | None, "unknown": list[str]}
    written = dict.fromkeys(("headline", "detail", "sentence"), str)
    return [fields("Answer", **_field_types(Answer) | own | written), Rows]


def _compare() -> Sequence[Any]:
    """Scores of one or more estimates, with the hash of the scenes' files and settings."""
    from stereogauge.scores.score import Score

    protocol = fields("Protocol", name=str, hash=str)
    return [fields("Scores", protocol=protocol | None, scores=array(record(Score)), inputs=optional(str))]


def _datasets() -> Sequence[Any]:
    """Known datasets, or one of them."""
    dataset = fields("Dataset", **dict.fromkeys(("id", "name", "layout", "obtain", "terms", "citation"), str))
    return [dataset, array(dataset)]


def _explain() -> Sequence[Any]:
    """Why two algorithms differ, or how all of them compare."""
    from stereogauge.decision.explain import Explanation

    own = {"scores": tuple[float, float], "pieces": list[list[list[Value]]], "difference": float, "better": str | None}
    written = {"text": str, "undivided": list[str]}
    return [
        fields("Explanation", **_field_types(Explanation) | own | written),
        fields("Pairs", **{"pairs-covered": TABLE}),
    ]


def _identify() -> Sequence[Any]:
    """Published numbers with the presets that give them."""
    agreement = fields("Agreement", preset=str, column=str, how=str, value=float, own=bool)
    number = fields("Number", name=str, printed=str, agreements=array(agreement))
    return [fields("Identified", numbers=array(number))]


def _match() -> Sequence[Any]:
    """One run of a matcher, or with --list the parameters of all matchers."""
    sizes = dict.fromkeys(("width", "height", "ndisp"), int)
    times = {"density": float, "seconds": float, "cpu_seconds": Value}
    computer = {"peak_memory": int | None, "threads": int | None, "processor": str}
    return [fields("Match", matcher=str, **sizes, **times, **computer, parameters=dict[str, str]), Rows]


def _metrics() -> Sequence[Any]:
    """The catalogue of metrics, or one of them."""
    metric = fields("Metric", **dict.fromkeys(("id", "name", "formula", "unit", "better", "source"), str))
    return [metric, array(metric)]


def _pack() -> Sequence[Any]:
    """Archives for benchmarks by name, with what was found in the maps."""
    from stereogauge.datasets.plausibility import Finding

    return [by_name(fields("Packed", ok=bool, files=list[str], findings=array(record(Finding))))]


def _rank() -> Sequence[Any]:
    """An order of algorithms with what it was computed from."""
    intervals = fields("Bootstrap", level=float, draws=int, seed=int, intervals=list[Plain])
    place = fields("Place", algorithm=str, rank=int, value=Value, group=int | None)
    chosen = fields("Selection", **dict.fromkeys(("algorithms", "scenes", "columns"), list[str]))
    ranking = {"ranking": array(place), "selection": chosen, "bootstrap": optional(intervals), "notes": list[str]}
    computed = dict.fromkeys(("options", "arrays", "names"), Plain)
    return [fields("Ranking", model=str, value_name=str, **ranking, **computed), Rows]


def _regions() -> Sequence[Any]:
    """Counts of pixels, one row per region and scene."""
    return [array(fields("Region", scene=str, region=str, pixels=int | None, share=Value, note=str))]


def _reproduce() -> Sequence[Any]:
    """The items of the papers and how they compare."""
    from stereogauge.reproduction.declaration import PublishedNumber

    printed = float | str | None
    own = {"ours": printed, "theirs": printed, "difference": float | None}
    row = fields("Row", **_field_types(PublishedNumber) | own)
    further = fields("Further", title=str, headings=list[str], cells=array(array(printed)))
    item = fields("Item", paper=str, item=str, title=str, tables=array(further), figures=list[str])
    return [fields("Reproduction", rows=array(row), items=array(item))]


def _robustness() -> Sequence[Any]:
    """Changes between maps of one place, one row per algorithm and pair of scenes."""
    from stereogauge.study.robustness import Robustness

    names = dict.fromkeys(("algorithm", "condition", "first", "second"), str)
    return [array(fields("Change", **names, **_field_types(Robustness) | {"count": Value}))]


def _store() -> Sequence[Any]:
    """What a store holds (`store info`)."""
    from stereogauge.store.listing import StoredAlgorithm, StoredDataset, StoredProtocol, StoredRun

    kinds = {"datasets": StoredDataset, "algorithms": StoredAlgorithm, "protocols": StoredProtocol, "runs": StoredRun}
    lists = {name: array(record(kind)) for name, kind in kinds.items()}
    return [fields("Store", store=str, counts=dict[str, int], **lists)]


def _study() -> Sequence[Any]:
    """Responses and sensitivities, with --images the responses of matchers, or with --list the damages."""
    from stereogauge.study.run import Response

    damage = fields("Damage", id=str, strength=str, reference=float, metric=str, description=str)
    texts = list[str]
    responses = array(fields("Response", **_field_types(Response) | {"strength": float}))
    study = fields("Responses", scene=str, protocol=str, idle=texts, responses=responses)
    matrices = dict.fromkeys(("responses", "scaled", "selective"), list[list[Value]])
    sensitivity = fields("Sensitivity", metrics=texts, damages=texts, **matrices, strongest=dict[str, str])
    of_images = fields("ImageStudies", images=by_name(study))
    return [fields("Study", study=study, sensitivity=sensitivity), of_images, array(damage)]


def _tune() -> Sequence[Any]:
    """The result of a search over the parameters of a matcher."""
    from stereogauge.tuning.definition import Definition
    from stereogauge.tuning.objectives import Improvement
    from stereogauge.tuning.result import State, Trial

    of_search, of_improvement = _field_types(Definition), _field_types(Improvement)
    states = fields("States", **dict.fromkeys(typing.get_args(State), int))
    term = fields("Term", weight=float, unit=Value, origin=str)
    objective = fields("Objective", name=str, unit=str, direction=of_improvement["direction"], terms=by_name(term))
    improvement = array(fields("Improvement", **of_improvement, better=int, compared=int))
    fold = fields("Fold", held_out=list[str], states=states, best=record(Trial) | None)
    kept = ("matcher", "dataset", "scenes", "columns", "sampler", "seed", "prune", "protocol", "space")
    found = {
        "objectives": array(objective),
        "groups": list[list[str]],
        "judge": str | None,
        "states": states,
        **dict.fromkeys(("baseline", "best"), int | None),
        "parameters": _field_types(Trial)["parameters"] | None,
        **dict.fromkeys(("matcher_text", "toml"), str | None),
        "trials": array(record(Trial)),
        "front": list[int],
        "importance": dict[str, dict[str, Value]],
        **dict.fromkeys(("seen", "held_out"), improvement),
        "folds": array(fold),
    }
    return [fields("Tuning", name=str, **{key: of_search[key] for key in kept}, **found)]


def _protocols() -> Sequence[Any]:
    """The shipped protocols, or one."""
    from stereogauge.protocol import Protocol

    protocol = fields("Protocol", **_field_types(Protocol), hash=str, scoring_hash=str)
    return [protocol, array(protocol)]


def _validate() -> Sequence[Any]:
    """Findings about a map, a folder or a zip."""
    from stereogauge.datasets.validation import Validation
    from stereogauge.io.inspection import FileReport

    return [fields("Validation", **_field_types(Validation), ok=bool, report=optional(record(FileReport)))]


DOCUMENTS: Mapping[str, Callable[[], Sequence[Any]]] = {
    "analyze": _tables,
    "answer": _answer,
    "compare": _compare,
    "confidence": _rows,
    "datasets": _datasets,
    "evaluate": _evaluate,
    "explain": _explain,
    "filter": _tables,
    "gate": _gate,
    "identify": _identify,
    "match": _match,
    "metrics": _metrics,
    "pack": _pack,
    "protocols": _protocols,
    "rank": _rank,
    "regions": _regions,
    "reproduce": _reproduce,
    "robustness": _robustness,
    "store": _store,
    "study": _study,
    "table": _tables,
    "tune": _tune,
    "validate": _validate,
    "zero-shot": _tables,
}
"""What each command prints: alternative types of its document."""
