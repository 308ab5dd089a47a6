"""I. Cabezas, M. Trujillo, M. Florian, "An evaluation methodology for stereo correspondence algorithms", 2013.

Ingeniería y Competitividad 15(2). Its test-bed is Middlebury v2, so the masks and the published percentages of one
entry of that benchmark are listed here too.
"""

from __future__ import annotations

import numpy as np

from stereogauge.evaluation.evaluate import evaluate
from stereogauge.figures.analysis import counted_errors_data
from stereogauge.figures.ranking import alike_data, layers_data
from stereogauge.masks.scene_regions import regions as pixel_sets
from stereogauge.masks.standard import PARTITION, check_partition
from stereogauge.ranking.model import Ranking
from stereogauge.ranking.relations import double_counting, nested
from stereogauge.ranking.run import rank
from stereogauge.reproduction.declaration import Paper, Recorder
from stereogauge.reproduction.material import SCALES, Material
from stereogauge.study.damage import damage_called, ground_truth_of

PAPER = Paper(
    "evaluation-methodology",
    "Cabezas, Trujillo, Florian: An evaluation methodology for stereo correspondence algorithms (2013)",
)
NO_MAPS = "the maps of all entries of Middlebury v2 (2013) are no longer public"
TEN_ALGORITHMS = "ten available algorithms"
FIVE_METRICS = ["bad@1", "sze", "mae", "mse", "mre"]
THRESHOLDS, REGIONS = ("0.5", "0.75", "1", "1.5", "2"), ("nonocc", "all", "disc")
PATCHMATCH = {
    "tsukuba": "15.0 15.4 20.3  15.0 15.4 20.3  2.09 2.33 9.31  2.09 2.33 9.31  1.77 1.92 7.85",
    "venus": "1.00 1.34 7.75  0.41 0.64 4.38  0.21 0.39 2.62  0.13 0.24 1.76  0.12 0.20 1.72",
    "teddy": "5.66 11.8 16.5  3.84 9.48 12.0  2.99 8.16 9.62  2.28 6.56 7.53  1.80 5.36 5.99",
    "cones": "3.80 10.2 10.2  2.81 8.55 7.95  2.47 7.80 7.11  2.19 6.86 6.46  1.99 6.17 5.93",
}
TABLE_1 = {  # disc, nonocc, all, total; boundary, interior, occluded, total
    "AdaptingBP": ((152, 152, 319, 623), (152, 0, 197, 319)),
    "CoopRegion": ((162, 163, 310, 635), (162, 1, 147, 310)),
    "SurfaceStereo": ((275, 275, 418, 968), (275, 0, 143, 418)),
    "ADCensus": ((121, 129, 382, 632), (121, 8, 253, 382)),
    "WarpMat": ((257, 267, 367, 891), (257, 10, 100, 367)),
}
SIGMA_Z_PERCENTAGES = {"AdaptingBP": 0.212, "CoopRegion": 0.206}
GROUP_SIZES = (9, 24, 23, 14, 9, 11, 8, 7, 6)


@PAPER.item("test-bed", f"Middlebury v2: the published percentages of one entry on {len(SCALES)} scenes")
def test_bed(record: Recorder, material: Material) -> None:
    """The published bad-pixel percentages of the PatchMatch entry of Middlebury v2."""
    for scene, printed in PATCHMATCH.items():
        table = evaluate(
            material.published_maps["PatchMatch-alg117"][scene], material.middlebury[scene], protocol="middlebury-v2"
        )
        columns = [(threshold, region) for threshold in THRESHOLDS for region in REGIONS]
        for (threshold, region), text in zip(columns, printed.split(), strict=True):
            digits = len(text.partition(".")[2])
            record.printed(
                f"PatchMatch, {scene}, bad@{threshold} {region}, %",
                table.value(f"bad@{threshold}", region),
                float(text),
                digits,
                publication="the table of Middlebury v2, not the paper",
            )


PAPER.unchecked(
    "figures 1 and 2",
    "Diagrams",
    "steps of an evaluation; disparity against triangulation error",
    "drawings without numbers",
)


@PAPER.item("figure 3", "Small and large errors in Tsukuba")
def figure_3(record: Recorder, material: Material) -> None:
    """Bad pixels do not tell small errors from large ones; PSNR does."""
    scene = material.middlebury["tsukuba"]
    truth = ground_truth_of(scene)
    maps = {name: damage_called(name).apply(truth, 0.1) for name in ("salt-pepper-small", "salt-pepper-large")}
    table = evaluate(maps, scene, ["bad@1", "psnr"], ["all"], protocol="middlebury-v2")
    values = {name: (table.value("bad@1", algorithm=name), table.value("psnr", algorithm=name)) for name in maps}
    small, large = values["salt-pepper-small"], values["salt-pepper-large"]
    reason = "their damaged maps and the values in the picture are not available as text; Tsukuba, 10 % salt and pepper"
    record.other_data(
        "BMP of small and of large salt and pepper, %", f"{small[0]:.2f} and {large[0]:.2f}", "alike", reason
    )
    record.other_data("PSNR of the two, dB", f"{small[1]:.1f} and {large[1]:.1f}", "far apart", reason)


@PAPER.item("figure 4", "Middlebury's regions")
def figure_4(record: Recorder, material: Material) -> None:
    """Middlebury's regions, pixel for pixel, and that they are nested."""
    for scene in material.middlebury:
        masks = pixel_sets(scene, REGIONS, rule="middlebury-v2")
        for name, mask in masks.items():
            record.equal(
                f"{scene.id} {name}: pixels that differ from the official mask",
                int(np.count_nonzero(mask != scene.mask(name))),
                0,
            )
        chain = bool((masks["disc"] <= masks["nonocc"]).all() and (masks["nonocc"] <= masks["all"]).all())
        record.own(f"{scene.id}: disc ⊂ nonocc ⊂ all", "yes" if chain else "no", "yes")


@PAPER.item("table 1", "Errors counted more than once on Venus")
def table_1(record: Recorder, material: Material) -> None:
    """Errors counted more than once by nested regions, and once by a partition."""
    pixels = int(pixel_sets(material.middlebury["venus"], ["all"], rule="middlebury-v2")["all"].sum())
    for name, (chain, parts) in TABLE_1.items():
        counted = nested([name], ("disc", "nonocc", "all"), np.array([chain[:3]]))
        record.arithmetic(f"{name}: total of the conventional regions", int(counted.counted[0]), chain[3])
        record.arithmetic(f"{name}: interior = nonocc − disc", chain[1] - chain[0], parts[1])
        occluded = chain[2] - chain[1]
        if occluded == parts[2]:
            record.arithmetic(f"{name}: occluded = all − nonocc", occluded, parts[2])
            record.arithmetic(f"{name}: total of the partition", sum(parts[:3]), parts[3])
        else:
            reason = f"{parts[0]} + {parts[1]} + {parts[2]} = {sum(parts[:3])}, but the table's total is {parts[3]}"
            record.unchecked(f"{name}: occluded = all − nonocc", parts[2], reason, occluded)
    for name, percentage in SIGMA_Z_PERCENTAGES.items():
        record.printed(
            f"{name}: errors over the pixels of our mask, % (Sigma-Z paper, table 3)",
            100 * TABLE_1[name][0][2] / pixels,
            percentage,
            3,
            publication="table 3 of the Sigma-Z paper",
        )
    record.unchecked("the counts themselves", None, NO_MAPS)
    venus = material.methodology_scores.select(scenes=["venus"])
    chained, parted = double_counting(venus)
    shares = chained.counted / chained.distinct
    record.other_data(
        "total score ÷ erroneous pixels, nested regions",
        f"{shares.min():.2f} … {shares.max():.2f}",
        f"{632 / 382:.2f} … {891 / 367:.2f}",
        f"{TEN_ALGORITHMS}, Venus",
    )
    record.other_data(
        "the same, partition", f"{np.max(parted.counted / parted.distinct):.2f}", "1.00", f"{TEN_ALGORITHMS}, Venus"
    )
    headings = ("algorithm", "disc", "nonocc", "all", "total", "boundary", "interior", "occluded", "total of partition")
    cells = [
        tuple(map(int, (*chained.errors[row], chained.counted[row], *parted.errors[row], parted.counted[row])))
        for row in range(len(chained.algorithms))
    ]
    named = ((name, *own) for name, own in zip(chained.algorithms, cells, strict=True))
    record.table(f"Venus, error > 1 px: {TEN_ALGORITHMS}", headings, named)
    record.figures["methodology-table-1"] = counted_errors_data(chained, parted)


@PAPER.item("figure 5", "A partition of the pixels")
def figure_5(record: Recorder, material: Material) -> None:
    """Boundary, interior and occluded are a partition."""
    cells = []
    for scene in material.middlebury:
        masks = pixel_sets(scene, [*PARTITION, "all"], rule="middlebury-v2")
        check_partition({name: masks[name] for name in PARTITION}, masks["all"], scene.id)
        sizes = {name: int(mask.sum()) for name, mask in masks.items()}
        record.own(
            f"{scene.id}: boundary + interior + occluded, px", sum(sizes[name] for name in PARTITION), sizes["all"]
        )
        cells.append((scene.id, *(sizes[name] for name in (*PARTITION, "all"))))
    record.table("Pixels by region", ("scene", *PARTITION, "all"), cells)


def _add_ranking(record: Recorder, title: str, ranking: Ranking) -> None:
    frame = ranking.to_pandas().drop(columns=["dominated by"], errors="ignore").dropna(axis="columns", how="all")
    cells = (
        [round(float(one), 3) if isinstance(one, int | float | np.number) else str(one) for one in row]
        for row in frame.itertuples(index=False)
    )
    record.table(title, map(str, frame.columns), cells)


@PAPER.item("section 4, scenario 1 (table 2)", "Extended model on boundary")
def scenario_1(record: Recorder, material: Material) -> None:
    """Visible pixels near discontinuities, five metrics, the extended model; and Middlebury's model for comparison."""
    record.unchecked("the fifteen best of all entries", None, NO_MAPS)
    cube = material.methodology_scores
    extended = rank(cube, "extended", metrics=FIVE_METRICS, regions=["boundary"])
    plain = rank(cube, "middlebury", metrics=["bad@1"], regions=["boundary"])
    record.other_data("τ = number of metrics", float(extended.arrays["tau"]), 5.0, f"{TEN_ALGORITHMS}, four scenes")
    record.other_data(
        "best by the extended model, and by Middlebury's",
        "; ".join(" and ".join(ranking.winners) for ranking in (extended, plain)),
        None,
        f"{TEN_ALGORITHMS}, boundary, {', '.join(FIVE_METRICS)}",
    )
    alike = int(extended.arrays["alike"].sum() - len(extended)) // 2
    record.other_data(
        "pairs that perform alike", f"{alike} of {len(extended) * (len(extended) - 1) // 2}", None, TEN_ALGORITHMS
    )
    _add_ranking(record, "Extended model on boundary", extended)
    _add_ranking(record, "Middlebury's model on boundary, bad@1", plain)
    record.figures["methodology-scenario-1"] = alike_data(extended)


@PAPER.item("section 4, scenario 2", "A* groups on occluded pixels")
def scenario_2(record: Recorder, material: Material) -> None:
    """Occluded pixels, MRE and SZE, A* groups."""
    record.unchecked("members of the groups of all entries", None, NO_MAPS)
    reason = "the text says eight groups and lists the sizes of nine"
    record.unchecked("number of A* groups", 8.0, reason, float(len(GROUP_SIZES)))
    groups = rank(material.methodology_scores, "a-star", metrics=["mre", "sze"], regions=["occluded"])
    sizes = [len(members) for members in groups.groups()]
    record.other_data(
        "sizes of A*₁, A*₂, …", ", ".join(map(str, sizes)), ", ".join(map(str, GROUP_SIZES)), TEN_ALGORITHMS
    )
    record.other_data("members of A*₁", ", ".join(groups.winners), None, TEN_ALGORITHMS)
    _add_ranking(record, "A* groups on occluded, MRE and SZE", groups)
    record.figures["methodology-scenario-2"] = layers_data(groups)
