"""The data of the reproduction, and the scores that several items share; computed at their first use."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stereogauge.confidence_measures.run import search_range
from stereogauge.datasets import load_dataset
from stereogauge.errors import DatasetError
from stereogauge.evaluation.evaluate import evaluate
from stereogauge.io.files import DisparityFile
from stereogauge.masks.scene_regions import SceneRegions
from stereogauge.matching.run import match
from stereogauge.metrics.measurement import Measurement
from stereogauge.model import Dataset, DisparityMap
from stereogauge.protocol import load_protocol
from stereogauge.reproduction.frames import Frame, frame_of
from stereogauge.scores.cube import ScoreCube
from stereogauge.scores.table import ScoreTable

SCALES = {"tsukuba": 16, "venus": 8, "teddy": 4, "cones": 4}
ALGORITHMS = ("PatchMatch-alg117", *(f"S0{number}" for number in range(1, 10)))
HCI_SCENES = ("Adirondack", "ArtL", "Motorcycle", "Piano", "Pipes", "Teddy")
KITTI_FRAMES = (8, 43, 82, 87, 94, 120, 122, 128, 180)
FEW_ERRORS = (8, 128)
KITTI_RANGE, KITTI_THRESHOLD = 128, 3.0
PAIR_THRESHOLD = 1.0
DENSE = "lr_check=1,fill=true"
MATCHERS = {
    "SGM": "sgm",
    "SGM filled": f"sgm:{DENSE},median=3",
    "SGM weak": f"sgm:p1=5,p2=20,{DENSE}",
    "SGM strong": f"sgm:p1=60,p2=180,{DENSE}",
    "SGM 5x5": f"sgm:window=5x5,adapt=true,{DENSE}",
    "SGBM": f"opencv-sgbm:right_view=second-run,{DENSE}",
    "SGBM 3way": f"opencv-sgbm:mode=3way,block=3,p1=72,p2=288,right_view=second-run,{DENSE}",
    "BM": f"opencv-bm:right_view=second-run,{DENSE}",
    "BM wide": f"opencv-bm:block=31,right_view=second-run,{DENSE}",
}
HCI_METRICS = (
    "rms", "bad@1", "bad@4", "d-fat", "d-thin", "d-fuz-rel", "p-bump", "p-off", "p-mis", "f-por", "f-frag", "f-fat",
    "d-fuz", "rms:disc-background", "rms:disc-foreground", "rms:disc-edge", "rms:planar", "rms:fine",
    "rms:fine-surround",
)  # fmt: skip


@dataclass(frozen=True)
class Material:
    """The folder that holds `middlebury-v2`, `middlebury-2014` and `kitti2012`."""

    root: Path

    def folder(self, name: str) -> Path:
        """One dataset's folder."""
        path = self.root / name
        if not path.is_dir():
            raise DatasetError(
                f"{path} does not exist; the reproduction needs a folder with middlebury-v2, middlebury-2014 and "
                "kitti2012: name it with --data or in STEREOGAUGE_DATA."
            )
        return path

    @functools.cached_property
    def middlebury(self) -> Dataset:
        """Tsukuba, Venus, Teddy and Cones: the test-bed of the two papers by Cabezas et al."""
        return load_dataset("middlebury-v2", self.folder("middlebury-v2"))

    @functools.cached_property
    def published_maps(self) -> Mapping[str, Mapping[str, DisparityFile]]:
        """Maps of ten algorithms on the four scenes."""
        results = self.folder("middlebury-v2") / "results"
        return {
            name: {
                scene: DisparityFile(results / name / f"{scene}.png", encoding="middlebury", scale=scale)
                for scene, scale in SCALES.items()
            }
            for name in ALGORITHMS
        }

    @functools.cached_property
    def off_by_one(self) -> ScoreTable:
        """Ground truth − 1 px on the four scenes: smooth, and wrong everywhere (figure 1 of the Sigma-Z paper)."""
        maps = {scene.id: scene.gt - 1 for scene in self.middlebury}
        return evaluate({"gt - 1": maps}, self.middlebury, protocol="sigma-z-2011")

    @functools.cached_property
    def methodology_scores(self) -> ScoreCube:
        """Ten algorithms × four scenes under the protocol of the methodology paper, with Middlebury's regions too."""
        protocol = load_protocol("cabezas").replace(
            regions=["boundary", "interior", "occluded", "nonocc", "all", "disc"],
            metrics=["bad@1", "sze", "mae", "mse", "mre", "mape"],
        )
        return ScoreCube.of(evaluate(self.published_maps, self.middlebury, protocol=protocol))

    @functools.cached_property
    def hci_data(self) -> Dataset:
        """The six quarter-size scenes of Middlebury 2014 that are available and that the paper would keep."""
        return load_dataset("middlebury-v3", self.folder("middlebury-2014")).subset(list(HCI_SCENES))

    @functools.cached_property
    def hci_maps(self) -> Mapping[str, Mapping[str, DisparityMap]]:
        """Dense maps of nine matcher settings on the six scenes."""
        return {
            name: {
                scene.id: match(scene.left, scene.right, text, scene.calibration.ndisp or 64).disparity
                for scene in self.hci_data
            }
            for name, text in MATCHERS.items()
        }

    @functools.cached_property
    def hci_scores(self) -> ScoreCube:
        """Nine settings × six scenes × the paper's metrics, and RMS on the metrics' own pixels."""
        protocol = load_protocol("hci").replace(metrics=list(HCI_METRICS))
        return ScoreCube.of(evaluate(self.hci_maps, self.hci_data, protocol=protocol))

    @functools.cached_property
    def hci_regions(self) -> Mapping[str, SceneRegions]:
        """The pixel sets of each scene."""
        protocol = load_protocol("hci")
        return {scene.id: SceneRegions(scene, protocol) for scene in self.hci_data}

    def hci_measurement(self, algorithm: str, scene: str) -> Measurement:
        """One map against its scene, for pictures."""
        return Measurement(self.hci_maps[algorithm][scene], self.hci_regions[scene])

    @functools.cached_property
    def kitti(self) -> Dataset:
        """KITTI 2012 with ground truth at non-occluded pixels."""
        return load_dataset("kitti-2012", self.folder("kitti2012"), truth="noc")

    @functools.cached_property
    def kitti_frames(self) -> Mapping[int, Frame]:
        """The nine frames of Haeusler and Klette, by number."""
        return {
            number: frame_of(self.kitti[f"{number:06}_10"], f"frame {number}", KITTI_RANGE, KITTI_THRESHOLD)
            for number in KITTI_FRAMES
        }

    @functools.cached_property
    def middlebury_frames(self) -> tuple[Frame, ...]:
        """Teddy and Cones, evaluated in the same way on their visible pixels."""
        pairs = [self.middlebury[name] for name in ("teddy", "cones")]
        return tuple(frame_of(pair, pair.id, search_range(pair), PAIR_THRESHOLD) for pair in pairs)
