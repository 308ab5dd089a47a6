"""The options by which commands choose scores from a store, and the scores that they choose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge.cli.options import listed
from stereogauge.errors import StereogaugeError
from stereogauge.tags import PREFIX

if TYPE_CHECKING:
    from stereogauge.scores.cube import ScoreCube
    from stereogauge.store import Store

EVERY_PIXEL, ONLY_SURE = "every-pixel", "sure"
StoreAddress = Annotated[str, typer.Argument(metavar="STORE", help="SQLite file or database URL, from `evaluate`.")]
Scenes = Annotated[
    list[str] | None, typer.Option(help="Only these scenes, by name or tag:weather=rain; repeat or separate by commas.")
]
Regions = Annotated[list[str] | None, typer.Option("--regions", "-r", help="Only these regions, e.g. nonocc,all,disc.")]
Metrics = Annotated[
    list[str] | None, typer.Option("--metrics", "-m", help="Only these metrics, e.g. bad@1,rms:nonocc.")
]
Algorithms = Annotated[
    list[str] | None,
    typer.Option(
        "--algorithms", "-a", help="Only these, by name or tag:technique=learned; repeat or separate by commas."
    ),
]
DatasetName = Annotated[str | None, typer.Option("--dataset", "-d", help="Only this dataset of the store.")]
ProtocolName = Annotated[
    str | None, typer.Option("--protocol", "-p", help="Name or hash, where the store holds several protocols.")
]
Missing = Annotated[
    str,
    typer.Option(
        help="What a missing score does: common (compare on what all have), drop-algorithm, drop-column, or worst."
    ),
]


LeastCoverage = Annotated[
    float, typer.Option(help="Share of its pixels that a score must cover to enter an order; below it is a gap.")
]
LeastSupport = Annotated[
    float | None, typer.Option(help="Pixels that a set must have; default: 200 at full size, at least 30.")
]
Need = Annotated[
    str | None,
    typer.Option(help="I need a value at: every-pixel, a share such as 90%, or sure (only where it is sure)."),
]


@contextmanager
def opened(
    address: str,
    scenes: list[str] | None,
    regions: list[str] | None,
    metrics: list[str] | None,
    algorithms: list[str] | None,
    dataset: str | None,
    protocol: str | None,
    need: str | None = None,
) -> Iterator[tuple[Store, ScoreCube]]:
    """The store and the selected scores."""
    from stereogauge.store import open_store

    tagged = any(text.startswith(PREFIX) for text in scenes or ())
    chosen = {
        "scenes": names(scenes) if tagged else listed(scenes),
        "metrics": listed(metrics),
        "regions": listed(regions),
    }
    with open_store(address, read_only=True) as store:
        cube = store.cube(dataset=dataset, protocol=_protocol(store, protocol, need))
        if not (cube.algorithms and cube.columns):
            raise StereogaugeError(f"{store.name} holds no scores; fill it with `stereogauge evaluate`.")
        yield store, cube.select(**chosen, algorithms=names(algorithms))


def _protocol(store: Store, protocol: str | None, need: str | None) -> str | None:
    """The protocol to read: for values at every pixel the one whose holes were filled first."""
    from stereogauge.decision.source import filled_protocol

    return filled_protocol(store, protocol) if need == EVERY_PIXEL else protocol


def coverage_needed(need: str | None, least_coverage: float) -> float:
    """The coverage that `--need` asks for, else `--least-coverage`; orders of sure pixels alone are refused."""
    from stereogauge.decision.source import least_coverage as share_needed

    if need is None:
        return least_coverage
    if need == ONLY_SURE:
        raise StereogaugeError(
            "Scores at different densities make no order, since leaving pixels out would win it; `stereogauge table "
            "--need sure` and `report --need sure` show them with their coverage and order them at equal density, and "
            "`stereogauge compare --common` measures maps on the pixels that all of them estimate."
        )
    return share_needed(need)


def names(values: list[str] | None) -> list[str] | None:
    """Repeated and comma-separated names as one list; unlike a metric, a name may hold blanks."""
    if values is None:
        return None
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def weights(values: list[str] | None) -> dict[str, float] | None:
    """`d-fat=2` and the like as weights."""
    from stereogauge.ranking.weighted_score import parse_weights

    return parse_weights(values)


def stated(**options: Any) -> dict[str, Any]:
    """Those options that were given."""
    return {name: value for name, value in options.items() if value is not None}
