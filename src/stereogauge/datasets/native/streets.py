"""Streets beside KITTI: DrivingStereo, Argoverse stereo, Virtual KITTI 2 and ApolloScape."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from stereogauge.datasets.calibration import calibration_of, kitti_vector, read_kitti_calibration
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import entries, is_junk
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout, calibration_in
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, MaskFile
from stereogauge.model import Calibration

DRIVING_CAMERAS = (101, 103)
FULL_SIZE_SCALE = 128.0
"""Stored value per pixel of full-size maps, as OpenStereo's reader divides; of half-size ones it is 256."""
_DRIVING_TRUTH = "{folder**}/{frame}.png"
WEATHERS = ("sunny", "cloudy", "foggy", "rainy")
VIRTUAL_CAMERA = Calibration(focal=725.0087, baseline=0.532725)
"""Of Virtual KITTI 2 as published; its depth is stored in centimetres."""
CENTIMETRES = 100.0


def _image_folders(place: FoundScene) -> dict[str, str] | None:
    """The folders of the images, named as that of the disparity map; None for maps of the other size.

    Only folders of full-size maps say their size.
    """
    folder = place.fields["folder"]
    if "disparity-map" not in folder or ("full-size" in folder) != (place.fields["variant"] == "full"):
        return None
    sides = {side: folder.replace("disparity-map", f"{side}-image") for side in ("left", "right")}
    return {**sides, "sequence": place.fields["frame"].partition("_")[0]}


def _driving_calibration(place: FoundScene) -> Calibration:
    """f of the rectified cameras and the length of T_103, the translation between them in metres.

    The fourth column of the projection matrix of half-size images is in pixels of the full size: it would give twice
    the baseline.
    """
    pattern = f"{place.fields['variant']}-image-calib/*.txt"
    files = place.once(
        lambda found: {path.stem: path for path in place.root.rglob(found) if not is_junk(path.name)}, pattern
    )
    path = files.get(place.fields["sequence"])
    if path is None:
        return Calibration()
    found = read_kitti_calibration(path, DRIVING_CAMERAS)
    translation = kitti_vector(path, "T_103")
    return replace(found, baseline=math.hypot(*translation)) if any(translation) else found


def _weather(place: FoundScene) -> dict[str, dict[str, str]]:
    first = place.fields["folder"].partition("/")[0]
    return {"metadata": {"weather": first}} if first in WEATHERS else {}


def _driving(size: str, truth: DisparityFile) -> SceneLayout:
    """The frames of one size."""
    return SceneLayout(
        id="{frame}",
        truth=truth,
        left="{left}/{frame}.*",
        right="{right}/{frame}.*",
        calibration=_driving_calibration,
        derive=lambda place: _image_folders(place) if place.fields["variant"] == size else None,
        details=_weather,
    )


DRIVING_STEREO = DatasetFamily(
    id="drivingstereo",
    name="DrivingStereo",
    layout=(
        "as unpacked: train-left-image/, train-right-image/, train-disparity-map/ with SEQUENCE/NAME; test and weather "
        "sets with left-image-half-size/, disparity-map-half-size/ and so on; half-image-calib/SEQUENCE.txt anywhere"
    ),
    terms="For research and education, not for commercial use; the page requires agreement.",
    citation=(
        "G. Yang, X. Song, C. Huang, Z. Deng, J. Shi and B. Zhou, DrivingStereo: a large-scale dataset for stereo "
        "matching in autonomous driving scenarios, CVPR 2019."
    ),
    obtain="download images, disparity maps and calibration from https://drivingstereo-dataset.github.io.",
    scenes=SceneFolders(
        (
            _driving("half", DisparityFile(_DRIVING_TRUTH, encoding="kitti")),
            _driving("full", DisparityFile(_DRIVING_TRUTH, encoding="middlebury", scale=FULL_SIZE_SCALE)),
        )
    ),
    default="half",
    variants={"half": "half resolution (default)", "full": "full resolution, of the test and weather sets"},
    homepage="https://drivingstereo-dataset.github.io",
    threshold=3.0,
)


def _argoverse_calibration(path: Path) -> Calibration:
    """f of the rectified left camera, and the baseline |f·Tx| / f from the entries Txf_ of both.

    The rectified cameras have no translation in the vehicle's frame.
    """
    try:
        cameras = {
            entry["key"]: entry["value"] for entry in json.loads(path.read_text(encoding="utf-8"))["camera_data_"]
        }
        left, right = (cameras[f"image_raw_stereo_front_{side}_rect"] for side in ("left", "right"))
        focal = float(left["focal_length_x_px_"])
        baseline = abs(float(left["Txf_"]) - float(right["Txf_"])) / focal
        centre = float(left["focal_center_x_px_"]), float(left["focal_center_y_px_"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as problem:
        raise FileError(f"{path} is not a calibration of Argoverse's rectified cameras ({problem!r}).") from None
    return calibration_of(path, focal=focal, baseline=baseline, centre=centre)


def _nearest_right(place: FoundScene) -> dict[str, str]:
    """The right image that was taken closest in time to the left one; their time stamps differ."""
    folder = place.base / f"{_IMAGES}/stereo_front_right_rect".format(**place.fields)
    stamps = place.once(lambda right: [path.stem.rpartition("_")[2] for path in entries(right)], folder)
    numbers = [stamp for stamp in stamps if stamp.isdecimal()]
    wanted = place.fields["stamp"]
    if wanted in stamps or not numbers or not wanted.isdecimal():
        return {"right_stamp": wanted}
    return {"right_stamp": min(numbers, key=lambda stamp: abs(int(stamp) - int(wanted)))}


_LEFT = "stereo_front_left_rect"
_MAPS = f"disparity_maps_v1.1/{{split}}/{{log}}/{_LEFT}"
_IMAGES = "rectified_stereo_images_v1.1/{split}/{log}"
_TRUTHS = (f"{_MAPS}_disparity/disparity_{{stamp}}.png", f"{_MAPS}_disparity/{_LEFT}_disparity_{{stamp}}.png")
_OBJECTS = (
    f"{_MAPS}_objects_disparity/disparity_{{stamp}}.png",
    f"{_MAPS}_objects_disparity/{_LEFT}_objects_disparity_{{stamp}}.png",
)
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
            truth=tuple(DisparityFile(path, encoding="kitti") for path in _TRUTHS),
            left=f"{_IMAGES}/{_LEFT}/{_LEFT}_{{stamp}}.*",
            right=f"{_IMAGES}/stereo_front_right_rect/stereo_front_right_rect_{{right_stamp}}.*",
            masks={
                "fg": tuple(MaskFile(path, value=0, invert=True) for path in _OBJECTS),
                "bg": tuple(MaskFile(path, value=0) for path in _OBJECTS),
            },
            calibration=calibration_in(f"{_IMAGES}/vehicle_calibration_stereo_info.json", _argoverse_calibration),
            derive=_nearest_right,
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
        film=True,
        truth=DisparityFile("{place**}/frames/depth/Camera_0/depth_{frame}.png", "inverse", CENTIMETRES),
        truth_right=DisparityFile("{place}/frames/depth/Camera_1/depth_{frame}.png", "inverse", CENTIMETRES),
        left="{place}/frames/rgb/Camera_0/rgb_{frame}.*",
        right="{place}/frames/rgb/Camera_1/rgb_{frame}.*",
        calibration=VIRTUAL_CAMERA,
    ),
    homepage="https://europe.naverlabs.com/research/computer-vision/proxy-virtual-worlds-vkitti-2",
    threshold=3.0,
)
APOLLO_CAMERA = Calibration(focal=2301.3147, centre=(1489.8536, 479.1750))
"""Of the file intrinsic.txt of the training sets; no baseline is published."""
BEYOND = 65535.0
APOLLO_SCAPE = DatasetFamily(
    id="apolloscape",
    name="ApolloScape stereo",
    layout=(
        "stereo_train_001/ and so on with disparity/NAME_Camera_5.png, camera_5/NAME_Camera_5.jpg, "
        "camera_6/NAME_Camera_6.jpg, fg_mask/, bg_mask/; the benchmark evaluates the region fg|bg"
    ),
    terms="As stated with the download, for research.",
    citation=(
        "X. Huang, P. Wang, X. Cheng, D. Zhou, Q. Geng and R. Yang, The ApolloScape open dataset for autonomous "
        "driving and its application, TPAMI 42(10), 2020."
    ),
    obtain="download the stereo sets from http://apolloscape.auto/stereo.html.",
    scenes=SceneLayout(
        id="{place}-{frame}",
        truth=DisparityFile("{place**}/disparity/{frame}_Camera_5.png", "middlebury", 1.0, unknown=(BEYOND,)),
        left="{place}/camera_5/{frame}_Camera_5.*",
        right="{place}/camera_6/{frame}_Camera_6.*",
        masks={
            "fg": MaskFile("{place}/fg_mask/{frame}_Camera_5.png", value=0, invert=True),
            "bg": MaskFile("{place}/bg_mask/{frame}_Camera_5.png", value=0, invert=True),
        },
        calibration=APOLLO_CAMERA,
    ),
    homepage="http://apolloscape.auto/stereo.html",
    threshold=3.0,
)
