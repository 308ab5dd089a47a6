"""The statements of Haeusler and Klette, each read at the density that it names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stereogauge.cli import main
from stereogauge.confidence_measures.paper import PAPER as MEASURES
from stereogauge.datasets import load_dataset
from stereogauge.figures.galleries import PictureRows
from stereogauge.reproduction.kitti_confidence import CLAIMS, FIGURES, curve_figures, frame_pictures
from stereogauge.reproduction.material import PATH_MEAN, PRINTED, Frame, frame_of, singles
from stereogauge.reproduction.run import reproduce


@pytest.fixture(scope="module")
def teddy(data_root: Path) -> Frame:
    return frame_of(load_dataset("middlebury-v2", data_root / "middlebury-v2")["teddy"], "teddy", 60, 1.0)


def test_a_frame_knows_what_the_statements_are_about(teddy: Frame) -> None:
    assert set(teddy.further) == {PRINTED, PATH_MEAN}
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
    assert [row.heading for row in pictures.rows] == ["frame 8", "frame 43", "frame 128"]
    assert len(pictures.figure().axes) == 9


def test_figure_1_of_the_sigma_z_paper_is_drawn(data_root: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "sigma-z-error", "--item", "figure 1", "--data", str(data_root), "--out", str(tmp_path)])
    assert ended.value.code in (0, None)
    assert (tmp_path / "sigma-z-figure-1.png").stat().st_size > 10_000


@pytest.mark.slow
def test_verdicts_on_the_nine_frames(data_root: Path) -> None:
    redone = reproduce(data_root, ["kitti-confidence-measures"])
    ours = {row.what: row.ours for row in redone.rows}

    def said(start: str) -> str:
        (found,) = [str(value) for what, value in ours.items() if what.startswith(start) and "Middlebury" not in what]
        return found

    assert said("of Γ1 … Γ4, the entropy Γ3 is the worst, as printed") == "holds: 9 of 9 frames"
    assert said("of Γ1 … Γ4, the entropy Γ3 is the worst, T = 8") == "holds: 9 of 9 frames"
    assert said("of Γ1 … Γ4, the entropy Γ3 is the worst, T = P2") == "does not hold: 1 of 9 frames"
    assert said("Γ0 is the worst single measure, Γ3 T = 8") == "holds: 7 of 9 frames"
    assert said("Γ4 is the best single measure at high density") == "holds: 7 of 9 frames"
    assert said("Γ4 does not help at high sparsification") == "holds: 9 of 9 frames"
    assert said("Γ leaves fewer bad pixels than every single measure") == "does not hold: 3 of 9 frames"
    assert said("Γ has a smaller area than every single measure") == "does not hold: 4 of 9 frames"
    assert said("Γ1 … Γ4 within 10 %") == "4 of 9"
    assert said("Γ1 … Γ4 within 15 %") == "6 of 9"
    assert said("Γ0 is useful on frames 8 and 122 (the two largest of nine by gain").startswith("holds")
    assert said("Γ0 is useful on frames 8 and 122 (the two largest of nine by AURG").startswith("holds")
    names = set(redone.figures)
    assert names == {f"kitti-confidence-figure-{number}" for number in (1, 2, 3)}
    pictures = redone.figures["kitti-confidence-figure-1"]
    assert isinstance(pictures, PictureRows)
    assert len(pictures.rows) == 9
    assert all(np.isfinite(frame).all() for row in pictures.rows for frame in row.pictures)
