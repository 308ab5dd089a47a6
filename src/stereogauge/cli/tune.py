"""`stereogauge tune`: search a matcher's parameters for an application."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from stereogauge.cli import options
from stereogauge.cli.output import print_json, print_tables, progress, say
from stereogauge.cli.running import chosen_scenes, executor_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from stereogauge.tuning.definition import Prepared
    from stereogauge.tuning.result import TuningResult

FAILURES_SHOWN = 5


def command(
    matcher: Annotated[
        str, "sgm, opencv-sgbm, 'cmd:./run {left} {right} {out} {smoothness}'; parameters after a colon are fixed."
    ],
    dataset: Annotated[
        str, typer.Option("--dataset", "-d", metavar="DATASET[:ROOT]", help="A dataset and the folder that holds it.")
    ],
    profile: Annotated[str | None, "A shipped profile or a TOML file with weights; default: balanced."] = None,
    trials: Annotated[int, "Parameter sets to try in each search."] = 100,
    objective: Annotated[
        list[str] | None, "A metric or profile to make better, e.g. f-por; repeat it to trade several off."
    ] = None,
    sampler: Annotated[
        str | None, "tpe, nsga2, random, grid or sweep; default: tpe, nsga2 for several objectives."
    ] = None,
    folds: Annotated[int | None, "Searches that each hold some scenes out; 0 for none. Default: 3."] = None,
    space: Annotated[Path | None, "TOML file with the parameters to search."] = None,
    scenes: options.Scenes = None,
    protocol: Annotated[str | None, "A preset or a TOML file. Default: hci, with gaps filled."] = None,
    override: Annotated[list[str] | None, "Change one choice of the protocol."] = None,
    ndisp: options.SearchRange = None,
    store: Annotated[str, "SQLite file or postgresql+psycopg://user@host/name."] = "stereogauge.sqlite",
    name: Annotated[str | None, "Name of the study; default: made from the request."] = None,
    jobs: options.Jobs = None,
    cluster: Annotated[str | None, "A Dask scheduler, tcp://host:8786; 'auto' takes Dask's configuration."] = None,
    seed: Annotated[int, "The same seed and number of jobs give the same result."] = 0,
    time_limit: Annotated[float | None, "Seconds for one trial; a longer one has failed."] = None,
    prune: Annotated[bool, typer.Option(help="End trials that lose on the first scenes.")] = True,
    out: Annotated[Path | None, "Folder for best.toml, trials.csv, result.json and figures."] = None,
    form: Annotated[Literal["table", "json", "csv", "toml"], "How to print the result."] = "table",
) -> None:
    """Search matcher parameters for an application profile.

    The default parameters always run first. One search uses all scenes; the others each hold some out, and measure
    what the tuning gains on scenes that it has not seen. The command may be stopped at any time; the same command
    continues where it stopped, and several processes may work on one study at once.
    """
    from stereogauge.tuning import tune, tuning_protocol

    chosen = options.chosen_protocol(protocol or tuning_protocol(), override)

    def workers(prepared: Prepared) -> Executor:
        options.make_folder(out)
        scenes_used, folds_used = prepared.definition.scenes, len(prepared.definition.folds)
        held = f", then {folds_used} that each hold some out" if folds_used else "; no scene is held out"
        names = ", ".join(prepared.space.names)
        say(f"{prepared.planned} trials on {len(scenes_used)} scenes{held}; searched: {names}")
        reason = "since each keeps all scenes and more do not fit into memory"
        # Worker processes even for one job, so that a crash of a matcher costs a trial and not the run.
        return executor_of(jobs, cluster, lambda: prepared.pixels, reason, apart=True)

    result = tune(
        matcher,
        chosen_scenes(dataset, scenes),
        profile,
        trials,
        objectives=objective or (),
        sampler=sampler,
        folds=folds,
        space=space,
        protocol=chosen,
        store=store,
        name=name,
        seed=seed,
        prune=prune,
        time_limit=time_limit,
        ndisp=ndisp,
        executor=workers,
        progress=progress("trial"),
    )
    if form == "json":
        print_json(result)
    elif form == "csv":
        sys.stdout.write(result.to_csv())
    elif form == "toml":
        sys.stdout.write(result.to_toml())
    else:
        _print_table(result)
    say(f"protocol {chosen.name} {chosen.hash}, scoring {chosen.scoring_hash}")
    if out is not None:
        from stereogauge.tuning.figures import write_result

        for path in write_result(result, out):
            say(f"{path} written")


def _print_table(result: TuningResult) -> None:
    from stereogauge.tuning.result import gain_table, gain_words, parameter_table, state_words

    print_tables([gain_table(result)], boxed=False)
    sys.stdout.write("\n")
    print_tables([parameter_table(result)], boxed=False)
    sys.stdout.write(f"\n--matcher {result.matcher!r}\n")
    say(f"study {result.name}: {state_words(result)}")
    for words in gain_words(result):
        say(words)
    for trial in [trial for trial in result.trials if trial.state == "failed"][:FAILURES_SHOWN]:
        say(f"failed: trial {trial.number}: {trial.failure}")
