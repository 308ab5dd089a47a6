"""Streets beside KITTI: DrivingStereo, Argoverse stereo and Virtual KITTI 2."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from stereogauge.datasets.calibration import read_kitti_calibration
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.native.pairs_by_truth import dataset_of, joined, scene_of, truth_at
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, MaskFile
from stereogauge.model import Calibration, Dataset, Scene

DRIVING_CAMERAS = (101, 103)
VIRTUAL_FOCAL, VIRTUAL_BASELINE, CENTIMETRES = 725.0087, 0.532725, 100.0
"""Virtual KITTI 2 as published: f in px, baseline in metres; depth is stored in centimetres."""


def _beside(path: Path, root: Path, what: str) -> Path:
    """The path at which `disparity-map` is replaced by another word in every folder."""
    parts = [part.replace("disparity-map", what) for part in path.relative_to(root).parts]
    return root.joinpath(*parts).with_suffix("")


def load_driving_stereo(root: Path, variant: str) -> Dataset:
    """Every disparity map of one size below `root`, with the images and the calibration of its sequence."""
    size = variant or "half"
    other = {"half": "full", "full": "half"}[size]
    title = "drivingstereo" if size == "half" else "drivingstereo:full"
    calibrations = {path.stem: path for path in root.rglob(f"{size}-image-calib/*.txt")}

    def scene(truth: Path) -> Scene:
        file = calibrations.get(truth.stem.partition("_")[0])
        return scene_of(
            truth.stem,
            title,
            DisparityFile(truth, encoding="kitti"),
            _beside(truth, root, "left-image"),
            _beside(truth, root, "right-image"),
            calibration=None if file is None else read_kitti_calibration(file, DRIVING_CAMERAS),
            metadata={"weather": truth.relative_to(root).parts[0]} if _weather(truth, root) else None,
        )

    found = [
        path
        for path in root.rglob("*.png")
        if "disparity-map" in str(path.parent.relative_to(root)) and f"{other}-size" not in str(path.parent)
    ]
    wanted = f"train-disparity-map/SEQUENCE/NAME.png or …/disparity-map-{size}-size/NAME.png, with left-image and so on"
    return dataset_of(title, root, found, scene, wanted, size)


def _weather(path: Path, root: Path) -> bool:
    return path.relative_to(root).parts[0] in ("sunny", "cloudy", "foggy", "rainy")


DRIVING_STEREO = DatasetFamily(
    id="drivingstereo",
    name="DrivingStereo",
    layout=(
        "as unpacked: train-left-image/, train-right-image/, train-disparity-map/ with SEQUENCE/NAME; test and weather "
        "sets with left-image-half-size/, disparity-map-half-size/ and so on; half-image-calib/SEQUENCE.txt anywhere"
    ),
    terms="For research and education, not for commercial use; the page asks for agreement.",
    citation=(
        "G. Yang, X. Song, C. Huang, Z. Deng, J. Shi and B. Zhou, DrivingStereo: a large-scale dataset for stereo "
        "matching in autonomous driving scenarios, CVPR 2019."
    ),
    obtain="download images, disparity maps and calibration from https://drivingstereo-dataset.github.io.",
    load=load_driving_stereo,
    variants={"half": "half resolution (default)", "full": "full resolution, of the test and weather sets"},
    homepage="https://drivingstereo-dataset.github.io",
)


def load_argoverse(root: Path, variant: str, *, split: str = "") -> Dataset:
    """Every disparity map below disparity_maps_v1.1, with its images and the calibration of its log."""
    maps, images = root / "disparity_maps_v1.1", root / "rectified_stereo_images_v1.1"
    calibrations: dict[Path, Calibration] = {}

    def scene(truth: Path) -> Scene:
        log = truth.parent.parent
        place = images / log.relative_to(maps)
        if place not in calibrations:
            calibrations[place] = _argoverse_calibration(place / "vehicle_calibration_stereo_info.json")
        stamp = truth.stem.rpartition("_")[2]
        objects = (
            log / "stereo_front_left_rect_objects_disparity" / (f"stereo_front_left_rect_objects_disparity_{stamp}.png")
        )
        return scene_of(
            f"{log.name}-{stamp}",
            "argoverse",
            DisparityFile(truth, encoding="kitti"),
            place / "stereo_front_left_rect" / f"stereo_front_left_rect_{stamp}",
            place / "stereo_front_right_rect" / f"stereo_front_right_rect_{stamp}",
            calibration=calibrations[place],
            masks={"fg": MaskFile(objects, value=0, invert=True)} if objects.is_file() else None,
        )

    found = maps.glob(f"{split or '*'}/*/stereo_front_left_rect_disparity/*.png")
    return dataset_of(
        "argoverse", root, found, scene, "disparity_maps_v1.1/SPLIT/LOG/ and rectified_stereo_images_v1.1/SPLIT/LOG/"
    )


def _argoverse_calibration(path: Path) -> Calibration:
    """f of the rectified left camera and the distance of the two, from the vehicle's calibration; none without it."""
    if not path.is_file():
        return Calibration()
    try:
        cameras = {
            entry["key"]: entry["value"] for entry in json.loads(path.read_text(encoding="utf-8"))["camera_data_"]
        }
        left, right = (
            next(cameras[key] for key in sorted(cameras) if f"stereo_front_{side}_rect" in key)
            for side in ("left", "right")
        )
        places = [camera["vehicle_SE3_camera_"]["translation"] for camera in (left, right)]
        return Calibration(focal=float(left["focal_length_x_px_"]), baseline=math.dist(*places))
    except (KeyError, TypeError, ValueError, StopIteration) as problem:
        raise FileError(f"{path} is not a calibration of Argoverse's rectified cameras ({problem!r}).") from None


ARGOVERSE = DatasetFamily(
    id="argoverse",
    name="Argoverse stereo",
    layout=(
        "disparity_maps_v1.1/SPLIT/LOG/stereo_front_left_rect_disparity/ and rectified_stereo_images_v1.1/SPLIT/LOG/ "
        "with stereo_front_left_rect/, stereo_front_right_rect/, vehicle_calibration_stereo_info.json"
    ),
    terms="CC BY-NC-SA 4.0.",
    citation="M.-F. Chang et al., Argoverse: 3D tracking and forecasting with rich maps, CVPR 2019.",
    obtain="download the stereo images and disparity maps, version 1.1, from https://www.argoverse.org/av1.html.",
    load=load_argoverse,
    options={"split": "train, val or test; without it all that have ground truth"},
    homepage="https://www.argoverse.org/av1.html",
)


def load_virtual_kitti(root: Path, variant: str, **options: Any) -> Dataset:
    """Every depth map of Camera_0 below `root`, as disparity d = f·B / Z; beyond 655 m it is unknown."""
    scale = VIRTUAL_FOCAL * VIRTUAL_BASELINE * CENTIMETRES

    def scene(depth: Path) -> Scene:
        frames, number = depth.parents[2], depth.stem.rpartition("_")[2]
        names = [frames / "rgb" / camera / f"rgb_{number}" for camera in ("Camera_0", "Camera_1")]
        return scene_of(
            f"{joined(frames, root, 'frames')}-{number}",
            "vkitti2",
            DisparityFile(depth, encoding="inverse", scale=scale),
            *names,
            truth_right=truth_at(frames / "depth" / "Camera_1" / depth.name, "inverse", scale),
            calibration=Calibration(focal=VIRTUAL_FOCAL, baseline=VIRTUAL_BASELINE),
        )

    found = root.rglob("frames/depth/Camera_0/depth_*.png")
    return dataset_of("vkitti2", root, found, scene, "Scene01/clone/frames/depth/Camera_0/depth_00000.png and rgb/")


VIRTUAL_KITTI = DatasetFamily(
    id="vkitti2",
    name="Virtual KITTI 2",
    layout="SCENE/VARIATION/frames/rgb/Camera_0/rgb_00000.jpg, Camera_1, and frames/depth/Camera_0/depth_00000.png",
    terms="CC BY-NC-SA 3.0.",
    citation="Y. Cabon, N. Murray and M. Humenberger, Virtual KITTI 2, arXiv:2001.10773, 2020.",
    obtain=(
        "download vkitti_2.0.3_rgb.tar and vkitti_2.0.3_depth.tar from "
        "https://europe.naverlabs.com/research/computer-vision/proxy-virtual-worlds-vkitti-2."
    ),
    load=load_virtual_kitti,
    homepage="https://europe.naverlabs.com/research/computer-vision/proxy-virtual-worlds-vkitti-2",
)
