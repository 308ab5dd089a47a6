"""The scores that the scope of a command selects from a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stereogauge import store as stores
from stereogauge.cli.options import listed
from stereogauge.errors import StereogaugeError
from stereogauge.scores.scope import ONLY_SURE, Names, Scope
from stereogauge.tags import PREFIX

if TYPE_CHECKING:
    from stereogauge.scores.cube import ScoreCube
    from stereogauge.store import Store

StoreAddress = Annotated[str, typer.Argument(metavar="STORE", help="SQLite file or database URL, from `evaluate`.")]
Profile = Annotated[str | None, typer.Option(help="A shipped profile or the path of a TOML file.")]
Weight = Annotated[list[str] | None, typer.Option(help="METRIC=NUMBER instead of a profile; repeatable.")]
Alpha = Annotated[float, typer.Option(help="Level of significance of tests over scenes.")]


@contextmanager
def opened(address: str, scope: Scope) -> Iterator[tuple[Store, ScoreCube]]:
    """The store and the selected scores."""
    from stereogauge.decision.source import needed_cube

    with stores.open_store(address, read_only=True) as store:
        cube = needed_cube(store, scope.need, dataset=scope.dataset, protocol=scope.protocol)
        if not (cube.algorithms and cube.columns):
            raise StereogaugeError(f"{store.name} holds no scores; fill it with `stereogauge evaluate`.")
        yield store, cube.select(**_names(scope))


def _names(scope: Scope) -> dict[str, Sequence[str] | None]:
    """The selected names; those of algorithms and selectors by tag may hold blanks."""
    tagged = any(text.startswith(PREFIX) for text in scope.scenes or ())
    return {
        "scenes": names(scope.scenes) if tagged else listed(scope.scenes),
        "regions": listed(scope.regions),
        "metrics": listed(scope.metrics),
        "algorithms": names(scope.algorithms),
    }


def ordering_coverage(scope: Scope) -> float:
    """The coverage that a score needs to enter an order; refuses to order scores at different densities."""
    if scope.need == ONLY_SURE:
        raise StereogaugeError(
            "Scores at different densities make no order, since leaving pixels out would win it; `stereogauge table "
            "--need sure` and `report --need sure` show them with their coverage and order them at equal density, and "
            "`stereogauge compare --common` measures maps on the pixels that all of them estimate."
        )
    return scope.coverage


def names(values: Names | list[str]) -> list[str] | None:
    """Repeated and comma-separated names as one list; unlike a metric, a name may hold blanks."""
    if values is None:
        return None
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def weights(values: list[str] | None) -> dict[str, float] | None:
    """`d-fat=2` and the like as weights."""
    from stereogauge.ranking.profile import parse_weights

    return parse_weights(values)


def stated(**options: Any) -> dict[str, Any]:
    """Those options that were given."""
    return {name: value for name, value in options.items() if value is not None}
