"""The statements of Haeusler and Klette, each read at the density that it names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stereogauge as sg
from stereogauge.cli import main
from stereogauge.confidence_measures.paper import PAPER as MEASURES
from stereogauge.figures.pictures import PictureFigure
from stereogauge.reproduction.kitti_confidence import CLAIMS, FIGURES, curve_figures, frame_pictures
from stereogauge.reproduction.material import P2, PATH_MEAN, PRINTED, PRODUCTS, READINGS, Frame, frame_of, singles
from stereogauge.reproduction.run import reproduce


@pytest.fixture(scope="module")
def teddy(data_root: Path) -> Frame:
    return frame_of(sg.load_dataset("middlebury-v2", data_root / "middlebury-v2")["teddy"], "teddy", 60, 1.0)


def test_a_frame_knows_what_the_statements_are_about(teddy: Frame) -> None:
    assert set(teddy.further) == {PRINTED, PATH_MEAN, PRODUCTS[PRINTED], PRODUCTS[PATH_MEAN]}
    assert set(teddy.bounds) == set(READINGS)
    assert teddy.bounds[P2] == teddy.bound
    assert singles(PRINTED) == ("curvature", "perturbation", "peak-ratio", PRINTED, "lr-difference")
    assert teddy.worst(singles(PRINTED)[1:]) == PRINTED
    assert set(teddy.inside) == set(MEASURES)
    assert all(0.4 < area < 1 for area in teddy.inside.values())
    assert 0.5 < teddy.rank_correlation["peak-ratio", "entropy"] <= 1
    assert teddy.spread(MEASURES[1:], 1.0) == pytest.approx(0)
    assert 0 < teddy.relative_area("product") < 1


def test_every_claim_and_figure_says_where_it_is_read(teddy: Frame) -> None:
    assert len({claim.what for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.read_at
        assert claim.counted([teddy, teddy]) in ("0 of 2", "2 of 2")
        assert claim.verdict([teddy]) in ("holds", "does not hold")
    for figure in FIGURES:
        assert figure.read_at
        assert figure.value([teddy])


def test_figures_of_the_paper_come_from_its_frames(teddy: Frame) -> None:
    frames = [teddy._replace(name=f"frame {number}") for number in (8, 43, 128)]
    plots = curve_figures(frames)
    assert [len(set(plots[f"kitti-confidence-figure-{number}"].column("place"))) for number in (2, 3)] == [1, 2]
    pictures = frame_pictures(frames)
    assert [row[0].above for row in pictures.rows] == ["frame 8", "frame 43", "frame 128"]
    assert [len(row) for row in pictures.rows] == [3, 3, 3]


def test_figure_1_of_the_sigma_z_paper_is_drawn(data_root: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "sigma-z-error", "--item", "figure 1", "--data", str(data_root), "--out", str(tmp_path)])
    assert ended.value.code in (0, None)
    for suffix in ("png", "svg", "pdf"):
        assert (tmp_path / f"sigma-z-figure-1.{suffix}").stat().st_size > 10_000


@pytest.mark.slow
def test_verdicts_on_the_nine_frames(data_root: Path) -> None:
    redone = reproduce(data_root, ["kitti-confidence-measures"])
    ours = {row.what: row.ours for row in redone.rows}

    def said(start: str) -> str:
        (found,) = [str(value) for what, value in ours.items() if what.startswith(start) and "Middlebury" not in what]
        return found

    # By the reading of Γ3: as printed (T = 1), T = 8, T = P2.
    verdicts = {
        "of Γ1 … Γ4, the entropy is the worst": (9, 9, 1),
        "Γ0 is the worst single measure": (3, 7, 9),
        "Γ4 is the best single measure at high density": (7, 7, 7),
        "Γ4 does not help at high sparsification: it leaves more bad pixels than Γ1, Γ2 and Γ3": (2, 2, 9),
        "Γ leaves fewer bad pixels than every single measure": (0, 0, 3),
        "Γ has a smaller area than every single measure": (0, 0, 4),
        "Γ4 can be on a par with Γ (within 10 %)": (9, 7, 7),
    }
    for what, numbers in verdicts.items():
        for reading, number in zip(READINGS.values(), numbers, strict=True):
            found = said(f"{what}, Γ3 {reading} (")
            assert found.endswith(f": {number} of 9 frames")
            assert found.startswith("holds" if number > 4 else "does not hold")
    assert said("Γ performs best overall: bad pixels left, all frames together, Γ3 T = P2").startswith(
        "holds: Γ 45984, Γ1 46271, Γ3 49439, Γ4 49628"
    )
    assert said("Γ performs best overall: bad pixels left, all frames together, Γ3 as printed").startswith(
        "does not hold: Γ1 46271"
    )
    bound = "s / Γ: bad pixels that every measure keeps, relative to what Γ leaves; median and range, Γ3"
    assert [said(f"{bound} {reading} (")[:4] for reading in READINGS.values()] == ["0.38", "0.50", "0.46"]
    assert said("Γ1 … Γ4 within 10 % of each other, Γ3 T = P2 (") == "4 of 9"
    assert said("Γ1 … Γ4 within 15 % of each other, Γ3 T = P2 (") == "6 of 9"
    assert said("Γ0 is useful on frames 8 and 122 (the two largest of nine by gain").startswith("holds")
    assert said("Γ0 is useful on frames 8 and 122 (the two largest of nine by AURG").startswith("holds")
    names = set(redone.figures)
    assert names == {f"kitti-confidence-figure-{number}" for number in (1, 2, 3)}
    pictures = redone.figures["kitti-confidence-figure-1"]
    assert isinstance(pictures, PictureFigure)
    assert len(pictures.rows) == 9
    assert all(np.isfinite(panel.picture).all() for row in pictures.rows for panel in row)
