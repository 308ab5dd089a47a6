"""A matcher and its confidence measures on the scenes of a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.confidence_measures.calibration import (
    DISTRIBUTIONS,
    Reliability,
    calibrate_probability,
    calibrate_sigma,
)
from stereogauge.confidence_measures.evaluation import SceneCurves, evaluate_maps
from stereogauge.confidence_measures.files import ConfidenceSource
from stereogauge.confidence_measures.learned import FEATURES, Example, Trees, cross_validated, learning_folds, train
from stereogauge.confidence_measures.measures import confidence, right_map_hint
from stereogauge.confidence_measures.paper import PAPER
from stereogauge.confidence_measures.sparsification import ErrorKind, areas, is_bad
from stereogauge.datasets.declaration import search_range
from stereogauge.datasets.places import independent_units, truth_hash
from stereogauge.errors import NotApplicable
from stereogauge.masks.scene_regions import regions
from stereogauge.matching.postprocess import OCCLUDED, left_right_check
from stereogauge.matching.result import MatchResult
from stereogauge.matching.run import match
from stereogauge.model import Calibration, DisparityMap, Mask, Scene, as_disparity
from stereogauge.tags import Tags


def evaluation_domain(result: MatchResult, gt: NDArray[Any]) -> Mask:
    """Known ground truth; x ≥ ndisp + r, so that costs exist for every disparity; r pixels inside the border.

    Not occluded.

    r is the radius of the matching window. Occluded is what the matcher's own left-right check says (|D − D_r| > 1
    and no match elsewhere on the epipolar line, before post-processing); mismatched pixels stay.
    """
    truth = as_disparity(gt, "ground truth")
    domain = np.isfinite(truth) & inner_pixels(truth.shape, result.ndisp, result.window_radius)
    if result.right_disparity is None:
        raise NotApplicable(
            f"The domain haeusler-klette leaves out what {result.matcher} finds occluded, and it gave no right map; "
            f"{right_map_hint(result)}, or choose another domain, such as all or nonocc."
        )
    right = result.right_disparity if result.right_raw is None else result.right_raw
    labels = left_right_check(result.raw, right, result.ndisp, 1.0)
    domain &= labels != OCCLUDED
    return domain


def inner_pixels(shape: tuple[int, ...], ndisp: int, radius: int) -> Mask:
    """Pixels with a measured cost for every disparity: x ≥ ndisp + radius, and `radius` pixels from every border."""
    height, width = shape
    inside = np.zeros((height, width), np.bool_)
    inside[radius : height - radius, ndisp + radius : width - radius] = True
    return inside


PAPER_DOMAIN = "haeusler-klette"
LEARNED = "learned"


class ConfidenceChoices(Struct, frozen=True):
    """All that the numbers depend on.

    `domain` is "haeusler-klette" (see `evaluation_domain`; of ground truth with an occlusion mask only visible
    pixels) or the name of a region. `ndisp` None takes the scene's or its dataset's own, or else the largest true
    disparity; `sigma` and `temperature` None take P2 of the matcher.
    """

    matcher: str = "sgm"
    ndisp: int | None = None
    measures: tuple[str, ...] = (*PAPER, "product")
    threshold: float = 3.0
    domain: str = PAPER_DOMAIN
    literal: bool = False
    sigma: float | None = None
    temperature: float | None = None
    model: Trees | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


class SceneRun(Struct, frozen=True, eq=False):
    """One scene: the matcher's result, the pixels that count, the maps, and features for learning on request.

    `region` names these pixels. `meant` are the sources of maps that are standard deviations or probabilities.
    `truth` is the hash of the scene's whole ground truth.
    """

    scene: str
    result: MatchResult
    gt: DisparityMap
    domain: Mask
    maps: Mapping[str, NDArray[np.floating[Any]]]
    features: Mapping[str, NDArray[np.float32]]
    threshold: float
    calibration: Calibration | None = None
    region: str = ""
    meant: Mapping[str, ConfidenceSource] = field(default_factory=dict)
    dataset: str = ""
    truth: str = ""
    tags: Tags = field(default_factory=dict)

    def curves(self) -> SceneCurves:
        """Sparsification by every map."""
        return evaluate_maps(
            self.scene, self.maps, self.result.raw, self.gt, threshold=self.threshold, mask=self.domain
        )

    def areas(self, kinds: Sequence[ErrorKind]) -> dict[str, dict[str, float]]:
        """AUSE and AURG of every map by other errors, over the estimated pixels."""
        return {
            name: areas(kinds, values, self.result.raw, self.gt, self.domain, calibration=self.calibration)
            for name, values in self.maps.items()
        }

    def reliabilities(self) -> dict[str, list[Reliability]]:
        """Calibration of the maps that are standard deviations (Gaussian, Laplace) or probabilities, by name.

        The learned combination is one: the probability of a bad pixel.
        """
        found: dict[str, list[Reliability]] = {}
        if LEARNED in self.maps and LEARNED not in self.meant:
            good = 1 - self.maps[LEARNED]
            maps = (good, self.result.raw, self.gt, self.domain)
            found[LEARNED] = [calibrate_probability(*maps, threshold=self.threshold)]
        for name, source in self.meant.items():
            maps = (source.values(), self.result.raw, self.gt, self.domain)
            if source.kind == "sigma":
                found[name] = [calibrate_sigma(*maps, distribution=one) for one in DISTRIBUTIONS]
            else:
                found[name] = [calibrate_probability(*maps, threshold=self.threshold)]
        return found

    def without_costs(self) -> SceneRun:
        """The same without the matcher's volume, which many scenes together could not keep."""
        return replace(self, result=replace(self.result, costs=None, summary=None))


def run_scene(scene: Scene, choices: ConfidenceChoices, *, with_features: bool = False) -> SceneRun:
    """Match the pair, compute the maps, and find the pixels that count."""
    ndisp = search_range(scene, choices.ndisp, by_truth=True)
    result = match(scene.left, scene.right, choices.matcher, ndisp, **choices.parameters)
    maps = confidence(
        result,
        choices.measures,
        gt=scene.gt,
        literal=choices.literal,
        sigma=choices.sigma,
        temperature=choices.temperature,
        model=choices.model,
    )
    truth, domain = domain_of(scene, result, choices.domain)
    if not (domain & np.isfinite(truth)).any():
        raise NotApplicable(
            f"No pixel of scene {scene.id!r} lies in the domain {choices.domain!r} with {result.ndisp} disparities at "
            f"a width of {scene.shape[1]}; search fewer (ndisp), or choose another domain."
        )
    features = confidence(result, FEATURES) if with_features else {}
    return SceneRun(
        scene=scene.id,
        result=result,
        gt=truth,
        domain=domain,
        maps=maps,
        features=features,
        threshold=choices.threshold,
        calibration=scene.calibration,
        region=choices.domain,
        dataset=scene.dataset,
        truth=truth_hash(scene.gt),
        tags=scene.tags,
    )


def domain_of(scene: Scene, result: MatchResult, domain: str) -> tuple[DisparityMap, Mask]:
    """Ground truth and the pixels that count."""
    if domain != PAPER_DOMAIN:
        return scene.gt, regions(scene, [domain])[domain]
    truth = scene.gt
    if "nonocc" in scene.masks:
        truth = np.where(scene.mask("nonocc"), truth, np.float32(np.nan))
    return truth, evaluation_domain(result, truth)


def examples(runs: Sequence[SceneRun]) -> list[Example]:
    """What the learned combination sees of scenes; those of one place are one group."""
    units = independent_units(
        [run.scene for run in runs],
        [run.truth for run in runs],
        [run.tags for run in runs],
        [run.dataset for run in runs],
    )
    return [
        Example(
            run.scene, run.features, is_bad(run.result.raw, run.gt, run.threshold), run.domain, str(unit), run.dataset
        )
        for run, unit in zip(runs, units, strict=True)
    ]


def with_learned(runs: Sequence[SceneRun]) -> list[SceneRun]:
    """Each run with the map of a combination that was trained on scenes of other places."""
    maps = cross_validated(examples(runs))
    return [replace(run, maps={**run.maps, LEARNED: maps[run.scene]}) for run in runs]


def held_out_together(runs: Sequence[SceneRun]) -> list[list[str]]:
    """The scenes of each fold of `with_learned`."""
    return [[runs[place].scene for place in fold] for fold in learning_folds(examples(runs))]


def trained(runs: Sequence[SceneRun]) -> Trees:
    """A combination trained on all the runs."""
    model = train(examples(runs))
    return replace(model, facts={**model.facts, "bad_above": runs[0].threshold})
