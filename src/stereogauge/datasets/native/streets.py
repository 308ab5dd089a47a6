"""Streets beside KITTI: DrivingStereo, Argoverse stereo and Virtual KITTI 2."""

from __future__ import annotations

import json
import math
from pathlib import Path

from stereogauge.datasets.calibration import read_kitti_calibration
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.scene_layout import SceneFolders, SceneLayout, ScenePlace
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, MaskFile
from stereogauge.model import Calibration

DRIVING_CAMERAS = (101, 103)
WEATHERS = ("sunny", "cloudy", "foggy", "rainy")
VIRTUAL_CAMERA = Calibration(focal=725.0087, baseline=0.532725)
"""Of Virtual KITTI 2 as published; its depth is stored in centimetres."""
CENTIMETRES = 100.0


def _image_folders(place: ScenePlace) -> dict[str, str] | None:
    """The folders of the images, named as that of the disparity map; None for maps of the other size."""
    folder, size = place.fields["folder"], place.fields["variant"]
    other = {"half": "full", "full": "half"}[size]
    if "disparity-map" not in folder or f"{other}-size" in folder:
        return None
    sides = {side: folder.replace("disparity-map", f"{side}-image") for side in ("left", "right")}
    return {**sides, "sequence": place.fields["frame"].partition("_")[0]}


def _driving_calibration(place: ScenePlace) -> Calibration:
    pattern = f"{place.fields['variant']}-image-calib/*.txt"
    files = place.once(lambda found: {path.stem: path for path in place.root.rglob(found)}, pattern)
    path = files.get(place.fields["sequence"])
    return Calibration() if path is None else read_kitti_calibration(path, DRIVING_CAMERAS)


def _weather(place: ScenePlace) -> dict[str, dict[str, str]]:
    first = place.fields["folder"].partition("/")[0]
    return {"metadata": {"weather": first}} if first in WEATHERS else {}


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
    scenes=SceneLayout(
        id="{frame}",
        truth=DisparityFile("{folder**}/{frame}.png", encoding="kitti"),
        left="{left}/{frame}.*",
        right="{right}/{frame}.*",
        calibration=_driving_calibration,
        derive=_image_folders,
        details=_weather,
    ),
    default="half",
    variants={"half": "half resolution (default)", "full": "full resolution, of the test and weather sets"},
    homepage="https://drivingstereo-dataset.github.io",
)


def _argoverse_calibration(path: Path) -> Calibration:
    """f of the rectified left camera and the distance of the two, from the vehicle's calibration."""
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


def _log_calibration(place: ScenePlace) -> Calibration:
    path = place.find("rectified_stereo_images_v1.1/{split}/{log}/vehicle_calibration_stereo_info.json")
    return Calibration() if path is None else place.once(_argoverse_calibration, path)


_MAPS = "disparity_maps_v1.1/{split}/{log}/stereo_front_left_rect"
_IMAGES = "rectified_stereo_images_v1.1/{split}/{log}"
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
    scenes=SceneFolders(
        SceneLayout(
            id="{log}-{stamp}",
            truth=DisparityFile(_MAPS + "_disparity/stereo_front_left_rect_disparity_{stamp}.png", encoding="kitti"),
            left=_IMAGES + "/stereo_front_left_rect/stereo_front_left_rect_{stamp}.*",
            right=_IMAGES + "/stereo_front_right_rect/stereo_front_right_rect_{stamp}.*",
            masks={
                "fg": MaskFile(
                    _MAPS + "_objects_disparity/stereo_front_left_rect_objects_disparity_{stamp}.png",
                    value=0,
                    invert=True,
                )
            },
            calibration=_log_calibration,
        ),
        choices={"split": ("", "train", "val", "test")},
    ),
    options={"split": "train, val or test; without it all that have ground truth"},
    homepage="https://www.argoverse.org/av1.html",
)
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
    scenes=SceneLayout(
        id="{place}-{frame}",
        truth=DisparityFile("{place**}/frames/depth/Camera_0/depth_{frame}.png", "inverse", CENTIMETRES),
        truth_right=DisparityFile("{place}/frames/depth/Camera_1/depth_{frame}.png", "inverse", CENTIMETRES),
        left="{place}/frames/rgb/Camera_0/rgb_{frame}.*",
        right="{place}/frames/rgb/Camera_1/rgb_{frame}.*",
        calibration=VIRTUAL_CAMERA,
    ),
    homepage="https://europe.naverlabs.com/research/computer-vision/proxy-virtual-worlds-vkitti-2",
)
