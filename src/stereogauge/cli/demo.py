"""`stereogauge demo`.

Real matchers and damaged maps on the real Motorcycle pair, from nothing to table and pictures.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from stereogauge import store as stores
from stereogauge.cli.output import print_scores, progress, say
from stereogauge.datasets import load_dataset
from stereogauge.evaluation.run import make_plan, run_plan
from stereogauge.evaluation.stored_maps import store_origins
from stereogauge.figures.galleries import write_pictures
from stereogauge.io import write_disparity
from stereogauge.matching.run import match
from stereogauge.model import DisparityMap, ResultSet, Scene
from stereogauge.protocol import load_protocol
from stereogauge.ranking.profile import load_profile

MATCHERS = {"census SGM": "sgm", "OpenCV SGBM": "opencv-sgbm", "OpenCV BM": "opencv-bm"}
DAMAGES = {"truth, edges fattened": "fatten-foreground", "truth, blurred": "blur", "truth with holes": "holes"}
METRICS = ["bad@1", "bad@2", "rms", "quantile@95", "sze", "invalid"]
GEOMETRY = ["d-fat", "d-thin", "d-fuz-rel", "p-bump-clip@1", "p-off", "p-mis", "f-por", "f-frag", "f-fat"]
PICTURES = ["bad@2", "bias", "d-fat", "p-off"]
PROFILE = "driver-assistance"


def command(
    out: Annotated[Path, "Folder for maps, pictures and the store."] = Path("demo-output"),
) -> None:
    """Evaluate real matchers on the built-in Motorcycle pair.

    Runs a census SGM and OpenCV's SGBM and BM on the real pair that scikit-image ships, adds three damaged copies of
    the ground truth, evaluates all of them, prints the scores, leaves maps, pictures, a store and a report in a folder,
    and ends with the answer: which of the matchers to take for driver assistance.
    """
    dataset = load_dataset("motorcycle")
    scene = next(iter(dataset))
    protocol = load_protocol("default").replace(
        name="demo",
        description="The demonstration's choice of metrics.",
        metrics=list(dict.fromkeys([*METRICS, *GEOMETRY, *load_profile(PROFILE).weights])),
        regions=["nonocc"],
    )
    results = _maps(scene, out / "results")
    with stores.open_store(out / "demo.sqlite") as store:
        run_plan(make_plan(store, dataset, results, protocol), store, progress=progress())
        table = store.scores(dataset=dataset.name, protocol=protocol, algorithms=[result.name for result in results])
    print_scores(table, title=f"{scene.id}, visible pixels")
    maps = {result.name: result.maps[scene.id] for result in results if result.name in MATCHERS}
    write_pictures(out / "pictures", maps, scene, protocol.replace(metrics=PICTURES))
    sentence = _report(out, list(MATCHERS))
    say(f"maps, pictures, store and report in {out}/; open {out}/report/report.html")
    say(f"more: stereogauge answer {out}/demo.sqlite --profiles")
    sys.stdout.write(f"\n{sentence}\n")


def _report(out: Path, matchers: list[str]) -> str:
    """Write the report of the matchers, whose first page is the answer, and return its sentence."""
    from stereogauge.report.build import build
    from stereogauge.report.content import ReportOptions, write_report

    say("writing the report …")
    with stores.open_store(out / "demo.sqlite", read_only=True) as store:
        cube = store.cube(algorithms=matchers)
        protocol = store.protocol(cube.protocol, cube.columns)
        options = ReportOptions(title="Demonstration: three matchers on one scene", profiles=(PROFILE,))
        content = build(cube, options, protocol=protocol, origins=store_origins(store, cube, protocol))
        write_report(content, out / "report", formats=("png",))
    return "" if content.answer is None else content.answer.sentence


def _maps(scene: Scene, folder: Path) -> list[ResultSet]:
    """Every map as a file, as an algorithm's results would be."""
    from stereogauge.study.damage import damage_called, ground_truth_of

    truth = ground_truth_of(scene)
    ndisp = scene.calibration.ndisp or 70
    results = []

    def keep(name: str, disparity: DisparityMap, seconds: float | None) -> None:
        path = folder / name / f"{scene.id}.pfm"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_disparity(path, disparity)
        times = {} if seconds is None else {scene.id: seconds}
        results.append(ResultSet(name, {scene.id: path.absolute()}, seconds=times))

    for name, matcher in MATCHERS.items():
        say(f"running {name} …")
        matched = match(scene.left, scene.right, matcher=matcher, ndisp=ndisp)
        keep(name, matched.disparity, matched.seconds)
    for name, damage in DAMAGES.items():
        declared = damage_called(damage)
        keep(name, declared.apply(truth, declared.reference), None)
    return results
