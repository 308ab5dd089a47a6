"""Scores of a training loop: the same digits as at once, for every shape and kind of batch."""

from __future__ import annotations

import multiprocessing
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import stereogauge as sg

METRICS = ["epe", "bad@3", "d1", "rms", "quantile@90"]


def made(count: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    truth = np.stack([np.tile(np.linspace(4, 40 + 5 * k, 80, dtype=np.float32), (48, 1)) for k in range(count)])
    truth[random.random(truth.shape) < 0.3] = np.nan
    estimate = truth + random.normal(0, 2, truth.shape).astype(np.float32)
    estimate[random.random(truth.shape) < 0.05] = np.nan
    return estimate, truth


def at_once(estimate: np.ndarray, truth: np.ndarray, **options: Any) -> sg.ScoreTable:
    scenes = [sg.Scene(str(k), gt=one) for k, one in enumerate(truth)]
    maps = {"estimate": {scene.id: one for scene, one in zip(scenes, estimate, strict=True)}}
    return sg.evaluate(maps, scenes, **options)


@pytest.mark.parametrize("protocol", ["default", "kitti-2015", "middlebury-v3"])
@pytest.mark.parametrize("regions", [["all"], ["all", "nonocc"]])
def test_the_digits_are_those_of_evaluating_at_once(protocol: str, regions: list[str]) -> None:
    estimate, truth = made()
    options: dict[str, Any] = {
        "metrics": METRICS,
        "regions": regions,
        "protocol": sg.load_protocol(protocol).replace(clip_to_range=False, **{"region_rules.rule": "z-buffer"}),
    }
    running = sg.Running(**options)
    running.update(estimate[0], truth[0])
    running.update(estimate[1:3], truth[1:3])
    running.update(estimate[3:, None], truth[3:, None])
    whole, found = at_once(estimate, truth, **options), running.compute()
    assert list(found) == list(whole)
    assert [found.value(metric, regions[-1]) for metric in METRICS] == [
        whole.value(metric, regions[-1]) for metric in METRICS
    ]


def test_a_mask_and_other_precisions() -> None:
    estimate, truth = made(2)
    running = sg.Running(["epe"], ["all"])
    valid = np.isfinite(truth)
    running.update(estimate, np.nan_to_num(truth), mask=valid)
    assert list(running.compute()) == list(at_once(estimate, truth, metrics=["epe"], regions=["all"]))
    for kind in (np.float16, np.float64, np.int32):
        running.reset()
        running.update(np.nan_to_num(estimate).astype(kind), np.nan_to_num(truth), mask=valid.astype(np.uint8))
        wanted = at_once(np.nan_to_num(estimate).astype(kind), truth, metrics=["epe"], regions=["all"])
        assert running.compute().value("epe") == wanted.value("epe")
    running.reset()
    running.update(np.ma.masked_invalid(estimate), np.ma.masked_invalid(truth))
    assert running.compute().value("epe") == at_once(estimate, truth, metrics=["epe"], regions=["all"]).value("epe")


def measured(seed: int) -> sg.Running:
    running = sg.Running(METRICS, ["all"], "kitti-2015")
    running.update(*made(3, seed), scene=[f"{seed}-{k}" for k in range(3)])
    return running


def test_objects_of_two_processes_are_merged() -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        first, second = pool.map(measured, [1, 2])
    alone = measured(1).merge(measured(2))
    merged = first.merge(second)
    assert list(merged.compute()) == list(alone.compute())
    assert len(merged) == 6
    merged.merge(pickle.loads(pickle.dumps(second)))  # repeated images count once
    assert len(merged) == 6
    with pytest.raises(sg.StereogaugeError, match="same metrics"):
        merged.merge(sg.Running(["epe"]))
    numbered = sg.Running(["epe"], ["all"])
    numbered.update(*made(2))
    assert len(numbered.merge(pickle.loads(pickle.dumps(numbered)))) == 4


def test_images_may_be_named_by_their_numbers_in_the_dataset() -> None:
    estimate, truth = made(2)
    running = sg.Running(["epe"], ["all"])
    running.update(estimate, truth, scene=np.array([7, 9]))
    running.update(estimate[1:], truth[1:], scene=[9])  # a sampler repeats an image to fill a batch
    assert [score.scene for score in running.compute()] == ["7", "9"]


def test_what_cannot_be_measured_is_one_sentence() -> None:
    estimate, truth = made(2)
    running = sg.Running(["epe"], ["all"])
    for words, said in (
        ((estimate, truth[:1]), "found 2 predictions, 1 truths"),
        ((estimate[:, :, :, None], truth), r"\(B, 1, H, W\); found \(2, 48, 80, 1\)"),
        ((estimate[0], truth[0, :-1]), "The map has 80 × 48 pixels, the ground truth 80 × 47"),
    ):
        with pytest.raises(sg.StereogaugeError, match=said):
            running.update(*words)
    with pytest.raises(sg.StereogaugeError, match="Nothing was measured yet"):
        running.compute()
    running.update(estimate[0], truth[0], scene="a")
    with pytest.raises(sg.StereogaugeError, match="'a' was measured already, with other scores"):
        running.update(estimate[1], truth[1], scene="a")


def test_the_first_image_is_looked_at() -> None:
    estimate, truth = made(2)
    running = sg.Running(["epe"], ["all"])
    with pytest.warns(sg.StereogaugeWarning, match="16 times too large"):
        running.update(estimate * 16, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        running.update(estimate * 16, truth)


def test_it_can_be_logged() -> None:
    estimate, truth = made(2)
    running = sg.Running(["epe"], ["all"])
    running.update(estimate, truth)

    class Tracker:
        def log(self, values: dict[str, float], step: int | None = None) -> None:
            self.values = values

    tracker = Tracker()
    assert sg.log_scores(running, tracker, step=1) == sg.log_scores(running.compute(), Tracker(), step=1)
    assert tracker.values == {"estimate/mae/all": running.compute().value("epe")}


def test_a_batch_for_evaluate_names_the_accumulator() -> None:
    with pytest.raises(sg.StereogaugeError, match=r"sg\.Running takes batches"):
        sg.evaluate(made(2))


@pytest.mark.slow
class TestTensors:
    """With PyTorch, where it is installed."""

    def test_every_kind_of_tensor(self) -> None:
        torch = pytest.importorskip("torch")
        estimate, truth = made(3)
        wanted = at_once(estimate, truth, metrics=METRICS, regions=["all"])
        for prediction in (
            torch.from_numpy(estimate),
            torch.from_numpy(estimate).requires_grad_(),
            torch.from_numpy(estimate)[:, None].double(),
            torch.from_numpy(np.ascontiguousarray(estimate.transpose(2, 1, 0))).permute(2, 1, 0),  # not contiguous
        ):
            running = sg.Running(METRICS, ["all"])
            shape = prediction.shape
            running.update(
                prediction,
                torch.from_numpy(truth).reshape(shape),
                mask=torch.isfinite(torch.from_numpy(truth)).reshape(shape),
            )
            assert list(running.compute()) == list(wanted)
        for kind in (torch.float16, torch.bfloat16):
            low = torch.from_numpy(estimate).to(kind)
            running = sg.Running(METRICS, ["all"])
            running.update(low.requires_grad_(), torch.from_numpy(truth))
            assert list(running.compute()) == list(
                at_once(low.detach().float().numpy(), truth, metrics=METRICS, regions=["all"])
            )

    def test_evaluate_takes_tensors(self) -> None:
        torch = pytest.importorskip("torch")
        estimate, truth = made(1)
        pair = torch.from_numpy(estimate[0]).requires_grad_(), torch.from_numpy(truth[0])
        assert sg.evaluate(pair, metrics=["epe"]).value("epe", "all") == sg.evaluate(
            (estimate[0], truth[0]), metrics=["epe"]
        ).value("epe", "all")
        with pytest.raises(sg.StereogaugeError, match=r"device meta cannot be read; .* tensor\.cpu\(\)"):
            sg.evaluate((torch.empty(4, 4, device="meta"), pair[1]))
        with pytest.raises(sg.StereogaugeError, match=r"Tensor cannot be read as an array: .*to_dense"):
            sg.evaluate((pair[1].to_sparse(), pair[1]))
