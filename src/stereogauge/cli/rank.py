"""`stereogauge rank`: the algorithms of a store in order, under a model of your choice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from msgspec.structs import replace

from stereogauge import store as stores
from stereogauge.cli import options
from stereogauge.cli.output import print_json, print_rows, print_tables, say, working
from stereogauge.errors import StereogaugeError
from stereogauge.figures.chart import check_format
from stereogauge.figures.ranking import model_figure_data
from stereogauge.ranking.across import joined_orders
from stereogauge.ranking.bootstrap import Bootstrap
from stereogauge.ranking.bootstrap import bootstrap as draw
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.profile import composed_weights, parse_weights
from stereogauge.ranking.run import rank
from stereogauge.scores.scope import Scope
from stereogauge.scores.selection import in_words
from stereogauge.tables.ranking_tables import further_columns, ranking_table, weights_table


def command(
    store: options.StoreAddress,
    scope: Scope,
    model: Annotated[str, "middlebury, extended, a-star, weighted, or an installed one."] = "a-star",
    ties: Annotated[str | None, "Ranks of equal scores: min, average or dense."] = None,
    tau: Annotated[float | None, "Extended model: rank sums closer than this perform alike."] = None,
    profile: Annotated[str | None, "Weighted model: a shipped profile or the path of a TOML file."] = None,
    weight: Annotated[list[str] | None, "Weighted model: METRIC=NUMBER; repeatable."] = None,
    normalisation: Annotated[str | None, "Weighted model: heuristic, max, z-score or rank."] = None,
    missing_pixels: Annotated[
        Literal["charged", "left-out"],
        "Pixels that a score leaves out: charged, so that no algorithm gains by it, or left out.",
    ] = "charged",
    bootstrap: Annotated[int, "Draws of scenes for intervals of ranks; 0 for none."] = 0,
    seed: Annotated[int, "Seed of the draws."] = 0,
    across: Annotated[
        bool, typer.Option(help="Rank on each dataset of the store, then join the orders by Schulze's method.")
    ] = False,
    figure: Annotated[Path | None, "Write the model's figure: .png, .svg or .pdf."] = None,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Rank the algorithms of a store by a model of your choice.

    The selection, and what was left out and why, goes to standard error and into JSON.
    """
    if scope.aggregation is not None and model != "weighted":
        raise StereogaugeError(
            f"The model {model!r} compares scene by scene, so --aggregation changes nothing; it applies to --model "
            "weighted and to `stereogauge table`."
        )
    if figure is not None:
        check_format(figure.suffix.lstrip(".").lower())
    stated = {
        "ties": ties,
        "tau": tau,
        "profile": profile,
        "weights": parse_weights(weight),
        "normalisation": normalisation,
    }
    chosen: dict[str, Any] = {name: value for name, value in stated.items() if value is not None}
    chosen |= {"missing": scope.missing, "missing_pixels": missing_pixels}
    covered = options.ordering_coverage(scope)
    if across:
        _print_across(store, scope, model, covered, chosen, form)
        return
    with options.selected_scores(store, scope) as (_, cube):
        named = None if scope.metrics is None else [str(column) for column in cube.columns]
        cube = cube.limited(covered, scope.least_support)
        if scope.proportions is not None:
            chosen["weights"] = composed_weights(cube, scope.proportions, chosen.get("weights"), profile)
        with working("ranking"):
            ranking = rank(cube, model, named, **chosen)
            sure = draw(cube, model, named, draws=bootstrap, seed=seed, **chosen) if bootstrap else None
    say(ranking.selection.caption())
    if form in (options.Format.json, options.Format.csv):
        for sentence in (*ranking.notes, *in_words(ranking.selection.dropped)):
            say(f"note: {sentence}")
    _print(ranking, sure, form)
    if figure is not None:
        model_figure_data(ranking).save(figure)
        say(f"wrote {figure}")


def _print_across(
    store: str, scope: Scope, model: str, coverage: float, chosen: dict[str, Any], form: options.Format
) -> None:
    """The joined order of all datasets of a store; each may have a protocol of its own, since only ranks are joined."""
    with stores.open_store(store, read_only=True) as opened:
        datasets = [entry.name for entry in opened.datasets()]
    orders = {}
    for name in datasets:
        with options.selected_scores(store, replace(scope, dataset=name, protocol=None, need=None)) as (_, cube):
            orders[name] = rank(
                cube.limited(coverage, scope.least_support), model, proportions=scope.proportions, **chosen
            )
    if len(orders) < 2:
        raise StereogaugeError(f"An order across datasets needs at least two; {store} holds {', '.join(datasets)}.")
    frame = joined_orders(orders).to_pandas()
    print_rows([dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)], form)


def _print(ranking: Ranking, sure: Bootstrap | None, form: options.Format) -> None:
    further: dict[str, Any] = {name: [cell.value for cell in cells] for name, cells in further_columns(ranking).items()}
    if form is options.Format.json:
        document = ranking.to_dict()
        for place, row in enumerate(document["ranking"]):
            row |= {name: values[place] for name, values in further.items()}
        if sure is not None:
            document["bootstrap"] = {
                "level": sure.level,
                "draws": sure.draws,
                "seed": sure.seed,
                "intervals": sure.to_pandas().to_dict(orient="records"),
                "beats": sure.beats.tolist(),
                "order": list(sure.algorithms),
            }
        print_json(document)
    elif form is options.Format.csv:
        frame = ranking.to_pandas().assign(**further)
        if sure is not None:
            drawn = sure.to_pandas().drop(columns=["rank", "value"]).rename(columns={"first": "first in"})
            frame = frame.merge(drawn, on="algorithm", how="left")
        sys.stdout.write(frame.to_csv(index=False))
    else:
        weights = [weights_table(ranking)] if "break_even" in ranking.arrays else []
        print_tables([ranking_table(ranking, sure), *weights], form)
