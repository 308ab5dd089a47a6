"""K. Honauer, L. Maier-Hein, D. Kondermann, "The HCI Stereo Metrics", ICCV 2015: the supplement."""

from __future__ import annotations

import numpy as np
from scipy.stats import kendalltau

from stereogauge.figures.analysis import scatter_matrix_data
from stereogauge.metrics.surfaces import circular_earth_movers_distance, direction_histogram
from stereogauge.reproduction.declaration import FurtherNumbers, Paper, Recorder
from stereogauge.reproduction.hci import METRICS, OTHER_DATA, column_of, metric_gallery, scores, with_fine_structures
from stereogauge.reproduction.material import Material
from stereogauge.scores.aggregation import usable_scores

PAPER = Paper(
    "hci-stereo-metrics-supplement",
    "Honauer, Maier-Hein, Kondermann: The HCI Stereo Metrics, supplement (2015)",
    OTHER_DATA,
)
FIGURE_5 = {
    "rms": 70, "bad@1": 80, "bad@4": 45, "d-fat": 0.6, "d-thin": 0.3, "d-fuz-rel": 3.4, "p-bump": 4.5, "p-off": 25,
    "p-mis": 60, "f-por": 1.2, "f-frag": 0.5, "f-fat": 0.7,
}  # fmt: skip
"""Heuristic maxima of full-size images; lengths (rms, p-bump, p-off) are four times as large there as here."""
SUBSETS = {
    "d-fat": "rms:disc-background",
    "d-thin": "rms:disc-foreground",
    "d-fuz-rel": "rms:disc-edge",
    "p-mis": "rms:planar",
    "f-por": "rms:fine",
    "f-fat": "rms:fine-surround",
}


@PAPER.item("figure 1", "Parts of images")
def figure_1(record: Recorder, material: Material) -> None:
    """Which parts of the images the paper shows."""
    record.unchecked("frames around parts of five images", None, "marks in pictures, without numbers")


@PAPER.item("figures 2, 3 and 4", "Pixel sets")
def figures_2_to_4(record: Recorder, material: Material) -> None:
    """The pixel sets of every scene."""
    cells = []
    for scene, regions in material.hci_regions.items():
        sets = regions.geometry
        structures = int(sets.fine_label.max(initial=0))
        cells.append(
            (
                scene,
                sets.foreground.size,
                sets.background.size,
                len(sets.planes),
                sets.planar.size,
                structures,
                sets.fine.size,
            )
        )
        record.other_data(
            f"{scene}: planes and fine structures found", f"{len(sets.planes)} and {structures}", "picture"
        )
    headings = ("scene", "foreground px", "background px", "planes", "planar px", "fine structures", "fine px")
    record.add([FurtherNumbers("Sets of each scene", headings, tuple(cells))])


@PAPER.item("figure 5", "Ranges of the metrics")
def figure_5(record: Recorder, material: Material) -> None:
    """The largest scores of real algorithms beside the paper's; theoretical maxima follow from the formulas."""
    cube = material.hci_scores
    usable = usable_scores(cube).values
    for name, heuristic in FIGURE_5.items():
        reached = float(np.nanmax(usable[:, :, column_of(cube, name)]))
        record.other_data(f"{name}: largest score of real algorithms", reached, float(heuristic))


@PAPER.item("figure 6", "Scatter plots and RMS on subsets")
def figure_6(record: Recorder, material: Material) -> None:
    """Metrics against each other, and RMS restricted to a metric's own pixels."""
    cube = material.hci_scores
    scene_names = with_fine_structures(material).scenes
    for metric, subset in SUBSETS.items():
        whole, bound = [], []
        for scene in scene_names:
            by_metric = list(scores(material, scene, metric).values())
            index = cube.scenes.index(scene)
            on_subset = cube.values[:, index, cube.column(subset)].tolist()
            whole.append(float(kendalltau(by_metric, list(scores(material, scene, "rms").values())).statistic))
            bound.append(float(kendalltau(by_metric, on_subset).statistic))
        record.other_data(
            f"mean τ-b of the order by {metric} with that by RMS, and with that by RMS on its own pixels",
            f"{np.mean(whole):.2f}, {np.mean(bound):.2f}",
            "more similar on the subset, yet not identical",
        )
    complete = with_fine_structures(material)
    name = {metric: str(complete.columns[column_of(complete, metric)]) for metric in METRICS}
    rows = [name[m] for m in ("bad@1", "bad@4", "d-thin", "f-frag", "p-mis")]
    record.add(figures={"hci-supplement-figure-6": scatter_matrix_data(complete, [name["rms"], name["d-fat"]], rows)})


@PAPER.item("figures 7 and 8", "Galleries by fattening and thinning")
def figures_7_and_8(record: Recorder, material: Material) -> None:
    """Results ranked by fattening and by thinning."""
    _galleries(record, material, {"d-fat": "Adirondack", "d-thin": "Motorcycle"})


def _galleries(record: Recorder, material: Material, chosen: dict[str, str]) -> None:
    for metric, scene in chosen.items():
        by_metric, by_rms = scores(material, scene, metric), scores(material, scene, "rms")
        agreement = float(kendalltau(list(by_metric.values()), list(by_rms.values())).statistic)
        record.other_data(
            f"{scene}: agreement of the orders by {metric} and by RMS (τ-b)", agreement, "pictures ranked by both"
        )
        record.figures[f"hci-supplement-{metric}"] = metric_gallery(material, scene, metric)


@PAPER.item("figures 9 and 10", "Gradient directions on planes")
def figures_9_and_10(record: Recorder, material: Material) -> None:
    """Gradient directions on planes against those of the ground truth."""
    cells = []
    for scene in ("Adirondack", "Piano"):
        distances = {}
        for name in material.hci_maps:
            found = direction_histogram(material.hci_measurement(name, scene), "planar")
            distances[name] = circular_earth_movers_distance(found.estimate, found.truth)
        cells.append((scene, *(round(value, 1) for value in distances.values())))
        nearest, farthest = min(distances, key=distances.__getitem__), max(distances, key=distances.__getitem__)
        record.other_data(
            f"{scene}: distance of the direction histograms from the ground truth's, nearest and farthest",
            f"{nearest} {distances[nearest]:.1f}°, {farthest} {distances[farthest]:.1f}°",
            "IDR, LDSM and SNCC like the ground truth, others much more diverse",
            f"planar pixels instead of cupboard and table of Playtable; {OTHER_DATA}",
        )
    headings = ("scene", *material.hci_maps)
    record.add([FurtherNumbers("Circular earth mover's distance of gradient directions, °", headings, tuple(cells))])


@PAPER.item("figures 11 and 12", "Galleries by fragmentation and porosity")
def figures_11_and_12(record: Recorder, material: Material) -> None:
    """Results ranked by fragmentation and by porosity."""
    _galleries(record, material, {"f-frag": "Pipes", "f-por": "Pipes"})
