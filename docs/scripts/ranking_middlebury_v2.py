"""Makes the figures and prints the tables of docs/ranking.md and docs/analysis.md from the Middlebury v2 results.

STEREOGAUGE_DATA=path/to/data python docs/scripts/ranking_middlebury_v2.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from small_images import save_small

import stereogauge as sg
from stereogauge.figures import analysis, ranking
from stereogauge.figures.galleries import gallery_data
from stereogauge.figures.palette import algorithm_styles
from stereogauge.figures.pictures import render, render_disparity
from stereogauge.ranking import ScoreCube
from stereogauge.ranking.bootstrap import bootstrap
from stereogauge.ranking.relations import determination, double_counting, subset_experiment
from stereogauge.ranking.significance import friedman
from stereogauge.ranking.stability import agreement, by_metric
from stereogauge.tables.formats import markdown_table
from stereogauge.tables.ranking_tables import double_counting_table, orders_table, subset_table

IMAGES = Path(__file__).parents[1] / "images"
SCALES = {"tsukuba": 16, "venus": 8, "teddy": 4, "cones": 4}
ALGORITHMS = ("PatchMatch-alg117", *(f"S0{number}" for number in range(1, 10)))
REGIONS = ("nonocc", "all", "disc")
GEOMETRY = ("d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat")
SUBSETS = ("disc-background", "disc-foreground", "disc-edge", "planar", "fine", "fine-surround")


def main() -> None:
    """Evaluate, rank, draw and print."""
    root = Path(os.environ["STEREOGAUGE_DATA"]) / "middlebury-v2"
    maps = {
        name: {
            scene: sg.read_disparity(root / "results" / name / f"{scene}.png", encoding="middlebury", scale=scale)
            for scene, scale in SCALES.items()
        }
        for name in ALGORITHMS
    }
    dataset = sg.load_dataset("middlebury-v2", root)
    metrics = ["bad@1", "bad@4", "rms", "sze", *GEOMETRY, *(f"rms:{region}" for region in SUBSETS)]
    regions = [*REGIONS, "boundary", "interior", "occluded"]
    cube = ScoreCube.of(sg.evaluate(maps, dataset, metrics=metrics, regions=regions, protocol="middlebury-v2"))
    styles = algorithm_styles(cube.algorithms)

    two = cube.select(metrics=["bad@1", "sze"], regions=REGIONS)
    orders, groups = by_metric(two), by_metric(two, "a-star")
    agreed = agreement(orders)
    first = {name: one.winners for name, one in groups.items()}
    counted = double_counting(cube, "bad@1")
    single = two.select(metrics=["bad@1"])
    columns = ["rms:all", "bad@1:all", "bad@4:all", *GEOMETRY]
    pictures = {
        name: (
            render_disparity(maps[name]["teddy"], (0.0, 60.0)),
            render(sg.picture(maps[name]["teddy"], dataset["teddy"], "d-fat", protocol="middlebury-v2")),
        )
        for name in ALGORITHMS
    }
    drawn = {
        "slopes": analysis.slopes_data(orders, first, "member of A*₁ by that metric", styles),
        "a-star-bmp": ranking.layers_data(groups["bad@1"], styles),
        "a-star-sze": ranking.layers_data(groups["sze"], styles),
        "critical-difference": ranking.critical_difference_data(friedman(single), styles),
        "intervals": ranking.intervals_data(bootstrap(single), styles),
        "double-counting": analysis.counted_errors_data(*counted),
        "determination": analysis.determination_data(determination(cube.select(metrics=columns))),
        "scatter": analysis.scatter_matrix_data(
            cube, ["rms:all", "rms:disc-background", "d-fat"], ["bad@4:all", "d-thin"], styles
        ),
        "gallery": gallery_data(
            cube, "teddy", "d-fat", pictures, ("disparity", "d-fat"), ("rms:all", "rms:disc-background")
        ),
    }
    for name, data in drawn.items():
        save_small(data, IMAGES / f"ranking-{name}.png")
    sys.stdout.write(f"{markdown_table(orders_table(agreed, groups))}\n\nKendall's τ-b {agreed.kendall[0, 1]:.2f}\n\n")
    sys.stdout.write(
        f"{markdown_table(double_counting_table(*counted))}\n\n{markdown_table(subset_table(subset_experiment(cube)))}\n"
    )


main()
