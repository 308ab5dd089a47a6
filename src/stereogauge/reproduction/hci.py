"""K. Honauer, L. Maier-Hein, D. Kondermann, "The HCI Stereo Metrics", ICCV 2015: the paper and its supplement.

Its results of 13 algorithms on 12 full-size images are not available; the same experiments run on those of its scenes
that are, at a quarter of their size, with eleven settings of our census SGM and OpenCV's matchers. The paper's D_fuz is
compared with `d-fuz-rel`: the printed values have that size, and only they do not depend on the resolution.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

import numpy as np
from scipy.stats import kendalltau

from stereogauge.figures.analysis import determination_data, histograms_data, scatter_matrix_data
from stereogauge.figures.galleries import Gallery, gallery_data
from stereogauge.figures.pictures import disparity_limits, render, render_disparity
from stereogauge.figures.ranking import radar_data, stacked_bars_data
from stereogauge.metrics.registry import parse_metric
from stereogauge.metrics.surfaces import circular_earth_movers_distance, direction_histogram
from stereogauge.ranking.relations import determination, scatter, score_histogram
from stereogauge.ranking.run import rank
from stereogauge.reproduction.declaration import Paper, Recorder
from stereogauge.reproduction.material import HCI_METRICS, Material
from stereogauge.scores.aggregation import usable_scores
from stereogauge.scores.cube import ScoreCube

METRICS = HCI_METRICS[:12]
NINE = METRICS[3:]
NOTHING = "no such pixels"
OTHER_DATA = (
    "eleven settings of three matchers on those of the paper's twelve scenes that are available, at a quarter of their "
    "size; the paper's full-size results of 13 algorithms are not available"
)
LITTLE, STRONG = 0.25, 0.5
"""r² up to which two metrics have little correlation, and from which they are correlated."""
PAPER = Paper("hci-stereo-metrics", "Honauer, Maier-Hein, Kondermann: The HCI Stereo Metrics (2015)", OTHER_DATA)
FIGURE_11 = {
    "rms": "0.14 0.26 0.04 0.08 0.71 0.00 0.00 0.01 0.14 0.04 0.25",
    "bad@1": "- 0.66 0.14 0.05 0.03 0.05 0.07 0.35 0.06 0.10 0.26",
    "d-fat": "0.14 0.35 - 0.03 0.00 0.07 0.12 0.73 0.10 0.10 0.07",
    "f-por": "0.05 0.06 0.07 0.01 0.00 - 0.62 0.13 0.09 0.02 0.00",
    "p-bump": "0.06 0.27 0.10 0.05 0.14 0.09 0.00 0.02 - 0.68 0.61",
}
FIGURE_11_COLUMNS = (*METRICS[1:6], *METRICS[9:], *METRICS[6:9])


def scores(material: Material, scene: str, metric: str) -> dict[str, float]:
    """One metric's score of each algorithm on one scene."""
    cube = material.hci_scores
    values = cube.values[:, cube.scenes.index(scene), cube.column(column_of(cube, metric))]
    return dict(zip(cube.algorithms, values.tolist(), strict=True))


def column_of(cube: ScoreCube, metric: str) -> str:
    """The column of a metric: on visible pixels, or on the pixels that it is bound to."""
    return next(str(c) for c in cube.columns if c.metric == metric and c.label in (metric, f"{metric}:nonocc"))


def agreement(first: dict[str, float], second: dict[str, float]) -> float:
    """Kendall's τ-b between the orders of algorithms by two metrics."""
    return float(kendalltau(list(first.values()), list(second.values())).statistic)


def add_scores(record: Recorder, title: str, found: dict[str, dict[str, float]], algorithms: Iterable[str]) -> None:
    """Add a table of the scores of algorithms by metric, to three decimals."""
    cells = ((name, *(round(values[name], 3) for values in found.values())) for name in algorithms)
    record.table(title, ("algorithm", *found), cells)


def with_fine_structures(material: Material) -> ScoreCube:
    """The paper's twelve metrics on the scenes on which every one has a score that may enter an order."""
    cube = material.hci_scores
    cube = cube.select(metrics=[column_of(cube, metric) for metric in METRICS])
    usable = usable_scores(cube).values
    full = [scene for i, scene in enumerate(cube.scenes) if np.isfinite(usable[:, i]).all()]
    return cube.select(scenes=full)


def scene_of(material: Material, wanted: str, instead: str) -> str:
    """The scene that the paper shows where it is available, else another one."""
    return wanted if wanted in material.hci_data else instead


def metric_gallery(material: Material, scene: str, metric: str, most: int = 5) -> Gallery:
    """Disparity and metric picture of up to `most` algorithms on a scene, evenly chosen from best to worst."""
    cube = material.hci_scores
    index = next(i for i, column in enumerate(cube.columns) if column.metric == metric)
    order = np.argsort(cube.values[:, cube.scenes.index(scene), index], kind="stable")
    chosen = [
        cube.algorithms[order[i]] for i in np.linspace(0, len(order) - 1, min(most, len(order))).round().astype(int)
    ]
    limits = disparity_limits(material.hci_data[scene].gt)
    bound = parse_metric(metric)
    pictures = {
        name: (
            render_disparity(material.hci_maps[name][scene], limits),
            render(bound.picture(material.hci_measurement(name, scene))),
        )
        for name in chosen
    }
    return gallery_data(cube, scene, str(cube.columns[index]), pictures, others=("rms:nonocc",))


def swapped_pair(first: dict[str, float], second: dict[str, float]) -> tuple[str, str] | None:
    """Two algorithms that two metrics order the other way round, those that differ most."""
    pairs = itertools.permutations(first, 2)
    found = [(a, b) for a, b in pairs if first[a] < first[b] and second[a] > second[b]]
    if not found:
        return None
    spread = [np.ptp(list(values.values())) or 1.0 for values in (first, second)]
    return max(found, key=lambda p: (first[p[1]] - first[p[0]]) / spread[0] * (second[p[0]] - second[p[1]]) / spread[1])


def _swap(record: Recorder, material: Material, scene: str, metrics: tuple[str, str], theirs: str) -> None:
    first, second = (scores(material, scene, metric) for metric in metrics)
    pair = swapped_pair(first, second)
    ours = "no pair is ordered differently"
    if pair is not None:
        a, b = pair
        ours = (
            f"{a} before {b} by {metrics[0]} ({first[a]:.3g}, {first[b]:.3g}), "
            f"after it by {metrics[1]} ({second[a]:.3g}, {second[b]:.3g})"
        )
    pairs = list(itertools.combinations(first, 2))
    swapped = sum((first[a] - first[b]) * (second[a] - second[b]) < 0 for a, b in pairs)
    ours += f"; {swapped} of {len(pairs)} pairs"
    record.other_data(f"{scene}: {metrics[0]} and {metrics[1]} order algorithms differently", ours, theirs)


@PAPER.item("figure 1", "The best algorithm depends on the metric")
def figure_1(record: Recorder, material: Material) -> None:
    """The best algorithm depends on the metric."""
    cells = []
    for scene in ("Adirondack", "ArtL"):
        found = {metric: scores(material, scene, metric) for metric in METRICS}
        known = {metric: [name for name in own if np.isfinite(own[name])] for metric, own in found.items()}
        best = {metric: min(names, key=found[metric].__getitem__, default=NOTHING) for metric, names in known.items()}
        record.other_data(
            f"{scene}: algorithms that are best by some metric", float(len(set(best.values()) - {NOTHING})), None
        )
        cells.append((scene, *best.values()))
    _swap(record, material, "Adirondack", ("rms", "d-thin"), "A1 is best by RMS and worst at discontinuities")
    record.table("Best algorithm by metric", ("scene", *METRICS), cells)


@PAPER.item("figures 2 and 3", "Discontinuities: phenomena and pixel sets")
def figures_2_and_3(record: Recorder, material: Material) -> None:
    """Fattening, thinning and fuzziness, and the pixel sets behind them."""
    cells = []
    for scene, regions in material.hci_regions.items():
        sets = regions.geometry
        cells.append((scene, sets.discontinuity.size, sets.foreground.size, sets.background.size))
    record.other_data("pixel sets at discontinuities", "table below", "picture of Playroom")
    record.other_data("pictures of d-fat, d-thin and d-fuz-rel", "figures", "picture of Playroom")
    for metric in ("d-fat", "d-thin", "d-fuz-rel"):
        gallery = metric_gallery(material, "Adirondack", metric, 3)
        record.figures[f"hci-figure-2-{metric.removesuffix('-rel')}"] = gallery
    record.table("Pixels of the sets", ("scene", "discontinuity", "foreground band", "background band"), cells)


@PAPER.item("figure 4", "Planar surfaces")
def figure_4(record: Recorder, material: Material) -> None:
    """Smooth planes may be misoriented, and well oriented ones bumpy."""
    theirs = "LPS before TSGO by P_mis (9.52°, 20.03°), after it by P_bump (1.82, 0.45)"
    _swap(record, material, "Adirondack", ("p-mis", "p-bump"), theirs)
    scene = scene_of(material, "PlaytableP", "Piano")
    _swap(record, material, scene, ("p-off", "p-bump"), "b) and c) of the figure, on Playtable")
    found = {metric: scores(material, scene, metric) for metric in ("p-mis", "p-bump", "p-off")}
    title = f"{scene}; the paper prints P_mis 9.52, 20.03 and P_bump 1.82, 0.45 of two algorithms on Playtable"
    record.figures["hci-figure-4"] = metric_gallery(material, scene, "p-mis", 3)
    add_scores(record, title, found, found["p-mis"])


@PAPER.item("figure 5", "Fine structures")
def figure_5(record: Recorder, material: Material) -> None:
    """Fine structures: similar RMS, different porosity."""
    values = {metric: scores(material, "Pipes", metric) for metric in ("rms", "f-por", "f-frag", "f-fat")}
    rms, porosity = values["rms"], values["f-por"]
    near = [(a, b) for a, b in itertools.combinations(rms, 2) if abs(rms[a] - rms[b]) < 0.05 * rms[a]]
    most = max(near, key=lambda pair: abs(porosity[pair[0]] - porosity[pair[1]]), default=())
    ours = "; ".join(f"{name}: RMS {rms[name]:.2f}, F_por {porosity[name]:.2f}" for name in most)
    record.other_data(
        "Pipes: two algorithms of similar RMS and different porosity",
        ours or "no two within 5 %",
        "LCU: RMS 33.86, F_por 1.87; LDSM: RMS 34.15, F_por 2.66",
    )
    add_scores(record, "Pipes", values, rms)


@PAPER.item("figure 6", "Thinning against fuzziness")
def figure_6(record: Recorder, material: Material) -> None:
    """Adirondack: ranks by thinning and by fuzziness."""
    _swap(
        record, material, "Adirondack", ("d-thin", "d-fuz-rel"), "LDSM, SNCC, SGM by D_thin; SNCC, SGM, LDSM by D_fuz"
    )
    found = {metric: scores(material, "Adirondack", metric) for metric in ("d-thin", "d-fuz-rel", "d-fuz")}
    printed = {"d-thin": "0.01, 0.05, 0.13", "d-fuz-rel": "0.63, 0.72, 0.75"}
    for metric, theirs in printed.items():
        values = list(found[metric].values())
        what = f"Adirondack: {metric}, least and largest of our settings; three algorithms of the paper"
        record.other_data(what, f"{min(values):.2f} … {max(values):.2f}", theirs)
    order = sorted(found["d-thin"], key=found["d-thin"].__getitem__)
    add_scores(record, "Adirondack, best by d-thin first", found, order)


@PAPER.item("figure 7", "Weighted combination")
def figure_7(record: Recorder, material: Material) -> None:
    """Weighted combination: all nine metrics alike, and with fine structures first."""
    cube = with_fine_structures(material)
    even = rank(cube, "weighted", weights=dict.fromkeys(NINE, 1.0))
    fine = rank(cube, "weighted", weights={metric: 5.0 if metric.startswith("f-") else 1.0 for metric in NINE})
    record.other_data("order with equal weights", ", ".join(even.algorithms), "Cens5 first")
    record.other_data(
        "order with fine structures at five times the weight", ", ".join(fine.algorithms), "SGBM1 before BSM and Cens5"
    )
    moved = sum(name != other for name, other in zip(even.algorithms, fine.algorithms, strict=True))
    record.other_data("places that change", f"{moved} of {len(even)}", "the order changes")
    record.figures["hci-figure-7-even"] = stacked_bars_data(even, "nine metrics alike")
    record.figures["hci-figure-7-fine"] = stacked_bars_data(fine, "fine structures first")


PAPER.unchecked(
    "figure 8",
    "Surgery",
    "reconstruction of sutures",
    "pictures of another group's surgical data, no numbers",
)


@PAPER.item("figure 9", "Radar chart")
def figure_9(record: Recorder, material: Material) -> None:
    """Radar chart of ArtL."""
    cube = with_fine_structures(material)
    scene = "ArtL" if "ArtL" in cube.scenes else cube.scenes[0]
    _swap(record, material, scene, ("rms", "f-frag"), "SGM and LCU: similar RMS, LCU without fragmentation")
    columns = [column_of(cube, metric) for metric in ("rms", "bad@1", "bad@4", "f-por", "f-frag", "f-fat")]
    chosen = ["SGM filled", "SGM weak", "SGBM", "BM"]
    record.figures["hci-figure-9"] = radar_data(cube.select(scenes=[scene], algorithms=chosen), columns)


@PAPER.item("figure 10", "RMS against other metrics")
def figure_10(record: Recorder, material: Material) -> None:
    """RMS against bad pixels and against geometry on one scene."""
    scene = scene_of(material, "Jadeplant", "Pipes")
    where = OTHER_DATA if scene == "Jadeplant" else f"{scene} instead of Jadeplant; {OTHER_DATA}"
    cube = material.hci_scores.select(scenes=[scene])
    name = {metric: column_of(cube, metric) for metric in METRICS}
    theirs = {"bad@4": "correlated", "d-fat": "little", "p-mis": "little", "f-frag": "little"}
    for metric, claim in theirs.items():
        ours = scatter(cube, name["rms"], name[metric]).r_squared
        record.other_data(f"{scene}: r² of RMS and {metric}", ours, claim, where)
    others = [name[metric] for metric in theirs]
    record.figures["hci-figure-10"] = scatter_matrix_data(cube, [name["rms"]], others)


@PAPER.item("figure 11", "Coefficients of determination")
def figure_11(record: Recorder, material: Material) -> None:
    """r² of linear fits between metrics over images and algorithms."""
    cube = material.hci_scores
    name = {metric: column_of(cube, metric) for metric in METRICS}
    found = determination(cube).r_squared
    for row, text in FIGURE_11.items():
        for column, printed in zip(FIGURE_11_COLUMNS, text.split(), strict=True):
            if printed != "-":
                ours = float(found[cube.column(name[row]), cube.column(name[column])])
                record.other_data(f"r² of {row} and {column}", ours, float(printed))
    record.figures["hci-figure-11"] = determination_data(determination(cube.select(metrics=list(name.values()))))


@PAPER.item("section 4.4", "The claims, as stated")
def claims(record: Recorder, material: Material) -> None:
    """Orthogonality: what the paper says of its figures 10 and 11, judged with one threshold for all."""
    cube = material.hci_scores
    found = determination(cube).r_squared
    index = {metric: cube.column(column_of(cube, metric)) for metric in METRICS}
    with_rms = [float(found[index["rms"], index[metric]]) for metric in NINE]
    printed = [float(text) for text in FIGURE_11["rms"].split()[2:]]
    average, theirs = float(np.nanmean(with_rms)), float(np.mean(printed))
    record.claim(
        f"“our metrics show little correlation with the RMS” (mean r² of the nine at most {LITTLE:g})",
        average <= LITTLE,
        f"{average:.2f}",
        f"{theirs:.2f}",
    )
    pairs = [float(found[index[a], index[b]]) for a, b in itertools.combinations(NINE, 2)]
    low = int(np.sum(np.array(pairs) <= LITTLE))
    record.claim(
        f"“most of our metrics are highly uncorrelated” (pairs of the nine with r² up to {LITTLE:g})",
        2 * low > len(pairs),
        f"{low} of {len(pairs)}",
        "most",
    )
    for first, second, printed_r in (("bad@1", "bad@4", 0.66), ("d-fat", "f-fat", 0.73), ("rms", "d-fuz-rel", 0.71)):
        ours = float(found[index[first], index[second]])
        what = f"{first} and {second} are correlated (r² from {STRONG:g} on)"
        record.claim(what, ours >= STRONG, f"{ours:.2f}", f"{printed_r:.2f}")


@PAPER.item("figure 12", "Histograms")
def figure_12(record: Recorder, material: Material) -> None:
    """Score histograms."""
    cube = with_fine_structures(material)
    columns = [column_of(cube, metric) for metric in METRICS]
    record.other_data("distribution of scores by metric", "figure", "figure")
    histograms = [score_histogram(cube, column, ("SGM filled",)) for column in columns]
    record.figures["hci-figure-12"] = histograms_data(histograms)


SUPPLEMENT = Paper(
    "hci-stereo-metrics-supplement",
    "Honauer, Maier-Hein, Kondermann: The HCI Stereo Metrics, supplement (2015)",
    OTHER_DATA,
)
LARGEST = {
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


SUPPLEMENT.unchecked(
    "figure 1", "Parts of images", "frames around parts of five images", "marks in pictures, without numbers"
)


@SUPPLEMENT.item("figures 2, 3 and 4", "Pixel sets")
def figures_2_to_4(record: Recorder, material: Material) -> None:
    """The pixel sets of every scene."""
    cells = []
    for scene, regions in material.hci_regions.items():
        sets = regions.geometry
        structures = int(sets.fine_label.max(initial=0))
        bands = sets.foreground.size, sets.background.size
        cells.append((scene, *bands, len(sets.planes), sets.planar.size, structures, sets.fine.size))
        found = f"{len(sets.planes)} and {structures}"
        record.other_data(f"{scene}: planes and fine structures found", found, "picture")
    headings = ("scene", "foreground px", "background px", "planes", "planar px", "fine structures", "fine px")
    record.table("Sets of each scene", headings, cells)


@SUPPLEMENT.item("figure 5", "Ranges of the metrics")
def supplement_figure_5(record: Recorder, material: Material) -> None:
    """The largest scores of real algorithms beside the paper's; theoretical maxima follow from the formulas."""
    cube = material.hci_scores
    usable = usable_scores(cube).values
    for name, heuristic in LARGEST.items():
        reached = float(np.nanmax(usable[:, :, cube.column(column_of(cube, name))]))
        record.other_data(f"{name}: largest score of real algorithms", reached, float(heuristic))


@SUPPLEMENT.item("figure 6", "Scatter plots and RMS on subsets")
def supplement_figure_6(record: Recorder, material: Material) -> None:
    """Metrics against each other, and RMS restricted to a metric's own pixels."""
    cube = material.hci_scores
    complete = with_fine_structures(material)
    for metric, subset in SUBSETS.items():
        whole, bound = [], []
        for scene in complete.scenes:
            by_metric = scores(material, scene, metric)
            on_subset = cube.values[:, cube.scenes.index(scene), cube.column(subset)]
            whole.append(agreement(by_metric, scores(material, scene, "rms")))
            bound.append(agreement(by_metric, dict(zip(cube.algorithms, on_subset.tolist(), strict=True))))
        record.other_data(
            f"mean τ-b of the order by {metric} with that by RMS, and with that by RMS on its own pixels",
            f"{np.mean(whole):.2f}, {np.mean(bound):.2f}",
            "more similar on the subset, yet not identical",
        )
    rms, fat, *rows = (column_of(complete, m) for m in ("rms", "d-fat", "bad@1", "bad@4", "d-thin", "f-frag", "p-mis"))
    record.figures["hci-supplement-figure-6"] = scatter_matrix_data(complete, [rms, fat], rows)


def _galleries(record: Recorder, material: Material, chosen: dict[str, str]) -> None:
    """Results on the chosen scene of each metric, ranked by it."""
    for metric, scene in chosen.items():
        ours = agreement(scores(material, scene, metric), scores(material, scene, "rms"))
        what = f"{scene}: agreement of the orders by {metric} and by RMS (τ-b)"
        record.other_data(what, ours, "pictures ranked by both")
        record.figures[f"hci-supplement-{metric}"] = metric_gallery(material, scene, metric)


SUPPLEMENT.item("figures 7 and 8", "Galleries by fattening and thinning")(
    functools.partial(_galleries, chosen={"d-fat": "Adirondack", "d-thin": "Motorcycle"})
)


@SUPPLEMENT.item("figures 9 and 10", "Gradient directions on planes")
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
    record.table("Circular earth mover's distance of gradient directions, °", headings, cells)


SUPPLEMENT.item("figures 11 and 12", "Galleries by fragmentation and porosity")(
    functools.partial(_galleries, chosen={"f-frag": "Pipes", "f-por": "Pipes"})
)
