"""What `stereogauge confidence` writes into its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from stereogauge.cli.confidence_inputs import Judged
from stereogauge.confidence_measures.declaration import confidence_measures, measure_label
from stereogauge.confidence_measures.error_curves import sparsify_by
from stereogauge.confidence_measures.evaluation import SceneCurves, curve_rows, pooled_curves
from stereogauge.confidence_measures.files import file_stem, write_maps
from stereogauge.confidence_measures.run import SceneRun
from stereogauge.confidence_measures.sparsification import ErrorKind
from stereogauge.figures.chart import Chart
from stereogauge.figures.confidence import Kind, confidence_picture, error_data, reliability_data, sparsification_data
from stereogauge.figures.pictures import save_picture
from stereogauge.tables.table import of_records
from stereogauge.tables.text import csv_table

KINDS: tuple[Kind, ...] = ("counts", "rates", "normalised")


def write_files(
    folder: Path, runs: Sequence[SceneRun], curves: Sequence[SceneCurves], judged: Judged, kinds: Sequence[ErrorKind]
) -> int:
    """The curves as CSV, sparsification figures of all scenes (and pooled), a picture of every map, and the maps.

    The maps lie in `results/MATCHER` as a results folder that `stereogauge evaluate` reads. Returns how many files.
    """
    facts = judged.facts(runs)
    labels = {name: measure_label(name) for run in runs for name in run.maps}
    shown = [*curves, pooled_curves(curves)] if len(curves) > 1 else list(curves)
    caption = (
        f"{facts}; bad = error above {runs[0].threshold:g} px; the grey bar marks the share of good pixels; "
        "ties in expectation."
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "curves.csv").write_text(csv_table(of_records("curves", curve_rows(shown))), encoding="utf-8")
    drawn = {
        f"sparsification-{kind}": sparsification_data(
            shown, kind, labels=labels, caption=caption, title=f"Sparsification, {kind}"
        )
        for kind in KINDS
    }
    drawn |= {f"sparsification-{file_stem(str(kind))}": _by_error(runs, kind, labels, facts) for kind in kinds}
    reliabilities = [(run.scene, name, one) for run in runs for name, of in run.reliabilities().items() for one in of]
    if reliabilities:
        drawn["reliability"] = reliability_data(reliabilities, caption=facts)
    for name, data in drawn.items():
        for suffix in ("png", "svg", "csv"):
            data.save(folder / f"{name}.{suffix}")
    count = 1 + 3 * len(drawn)
    for run in runs:
        for name, values in run.maps.items():
            declared = confidence_measures().get(name.partition("@")[0])
            picture = confidence_picture(labels[name], values, None, "" if declared is None else declared.formula)
            save_picture(folder / run.scene / f"{file_stem(name)}.png", picture, subtitle=run.scene)
            count += 1
        count += write_maps(folder / "results" / file_stem(judged.title), run.scene, run.result.raw, run.maps)
    return count


def _by_error(runs: Sequence[SceneRun], kind: ErrorKind, labels: Mapping[str, str], facts: str) -> Chart:
    shown = [run for run in runs if kind.rule != "bad-z" or (run.calibration is not None and run.calibration.metric)]
    curves = {
        run.scene: {
            name: sparsify_by(
                kind, values, run.result.raw, run.gt, run.domain, calibration=run.calibration, missing="excluded"
            )
            for name, values in run.maps.items()
        }
        for run in shown
    }
    return error_data(curves, kind, labels=labels, caption=f"{facts}; {kind.words}; estimated pixels only.")
