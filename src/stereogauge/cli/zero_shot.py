"""`stereogauge zero-shot`: one table of algorithms on several datasets, as papers on generalization print it."""

from __future__ import annotations

from typing import Annotated

import typer

from stereogauge import store as stores
from stereogauge.cli import options
from stereogauge.cli.output import print_tables, say, working
from stereogauge.datasets.declaration import open_dataset
from stereogauge.datasets.results.find import find_results
from stereogauge.errors import StereogaugeError
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.protocol import load_protocol
from stereogauge.tables.ranking_tables import REGIONS, zero_shot_metrics, zero_shot_table


def command(
    pairs: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATASET:ROOT=RESULTS", help="A dataset and the folder with maps of algorithms on it."),
    ] = None,
    store: options.StorePlace = "stereogauge.sqlite",
    protocol: Annotated[
        str, typer.Option(help="The preset whose rules are used, such as stereo-toolbox or raft-stereo.")
    ] = ("stereo-toolbox"),
    by: Annotated[str, "The region that ranks are computed from: all, nonocc or occluded."] = "all",
    epe: Annotated[bool, "Add mean errors."] = False,
    form: options.OutputFormat = options.Format.table,
) -> None:
    """Evaluate algorithms on several datasets and print occluded, visible and all outliers, mean ranks, size and time.

    Scores are kept in the store, so that the next call computes only what is new; without pairs the table is that of
    the datasets in the store. Thresholds are those of the datasets: 3 px on KITTI, DrivingStereo, Virtual KITTI 2,
    ApolloScape, SCARED and Scene Flow, 2 px on Middlebury and Booster, else 1 px. Parameters, device and run time come
    from matchers that state them (`evaluate --matcher`) or from the tags `parameters`, `device` and `seconds` of a
    results.toml.
    """
    if by not in REGIONS:
        raise StereogaugeError(f"Ranks are by one of the regions {', '.join(REGIONS)}; found {by!r}.")
    chosen = load_protocol(protocol)
    with stores.open_store(store) as opened:
        for pair in pairs or []:
            name, equals, results = pair.rpartition("=")
            if not equals:
                raise StereogaugeError(f"A dataset and its results are written DATASET:ROOT=RESULTS; found {pair!r}.")
            dataset = open_dataset(name)
            found = find_results(results, dataset).results
            if not found:
                raise StereogaugeError(f"{results} has no results on {dataset.name}; see `stereogauge validate`.")
            own = chosen.replace(metrics=list(zero_shot_metrics(dataset.name)))
            with working(f"evaluating {len(found)} algorithms on {dataset.name}"):
                summary = run_plan(make_plan(opened, dataset, found, own), opened)
            say(f"{dataset.name}: {len(found)} algorithms, {summary.done} maps evaluated, {summary.stored} known")
            for failure in summary.failures:
                say(f"{failure.algorithm} on {failure.scene}: {failure.reason}")
        names = [entry.name for entry in opened.datasets()]
        cubes = {name: opened.cube(dataset=name, protocol=chosen.scoring_hash) for name in names}
    if not cubes:
        raise StereogaugeError(f"The store {store} has no dataset; give pairs DATASET:ROOT=RESULTS.")
    made = zero_shot_table(cubes, chosen.aggregation, by=by, epe=epe)
    print_tables([made], form, boxed=form is not options.Format.latex)
