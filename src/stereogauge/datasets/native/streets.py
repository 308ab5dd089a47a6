"""Streets: KITTI 2012 and 2015, DrivingStereo, Argoverse stereo, Virtual KITTI 2 and ApolloScape.

KITTI has sparse lidar ground truth (16-bit PNG, d = v / 256, 0 = unknown): `disp_occ` knows all pixels, `disp_noc` only
those visible in both views; a frame takes the first that it has unless `truth` says which. `disp_refl_occ` of 2012
knows the pixels on reflective surfaces.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from stereogauge.datasets.calibration import calibration_of, kitti_vector, parsed, read_kitti_calibration
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import entries, is_junk, paths_like, png_size
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout, calibration_in, without_truth
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
    the baseline, so that without T_103 that of half-size images is unknown.
    """
    pattern = f"**/{place.fields['variant']}-image-calib/*.txt"
    files = place.once(
        lambda found: {path.stem: path for path in paths_like(place.root, found) if not is_junk(path.name)}, pattern
    )
    path = files.get(place.fields["sequence"])
    if path is None:
        return Calibration()
    found = read_kitti_calibration(path, DRIVING_CAMERAS)
    translation = kitti_vector(path, "T_103")
    if any(translation):
        return replace(found, baseline=math.hypot(*translation))
    return found if place.fields["variant"] == "full" else replace(found, baseline=None)


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

    def read(text: str) -> dict[str, Any]:
        cameras = {one["key"]: one["value"] for one in json.loads(text)["camera_data_"]}
        left, right = (cameras[f"image_raw_stereo_front_{side}_rect"] for side in ("left", "right"))
        focal = float(left["focal_length_x_px_"])
        baseline = abs(float(left["Txf_"]) - float(right["Txf_"])) / focal
        centre = float(left["focal_center_x_px_"]), float(left["focal_center_y_px_"])
        return {"focal": focal, "baseline": baseline, "centre": centre}

    return calibration_of(path, **parsed(path, read, "the calibration of Argoverse's rectified stereo cameras"))


def _nearest_right(place: FoundScene) -> dict[str, str]:
    """The right image that was taken closest in time to the left one; their time stamps differ."""
    folder = place.base / f"{_IMAGES}/stereo_front_right_rect".format(**place.fields)
    stamps = place.once(lambda right: [path.stem.rpartition("_")[2] for path in entries(right)], folder)
    numbers, wanted = filter(str.isdecimal, stamps), place.fields["stamp"]
    if wanted.isdecimal():
        wanted = min(numbers, key=lambda stamp: abs(int(stamp) - int(wanted)), default=wanted)
    return {"right_stamp": wanted}


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


# The rectified size tells the recording set-up: focal length in pixels and f·baseline in pixel·metres of the published
# projection matrices, by the numbers of the cameras.
SETUPS: Mapping[str, Mapping[tuple[int, int], tuple[float, float]]] = {
    "01": {
        (1226, 370): (707.0912, 379.8145),
        (1241, 376): (718.8560, 386.1448),
        (1242, 375): (721.5377, 387.5744),
    },
    "23": {(1242, 375): (721.5377, 44.85728 + 339.5242)},
}
_KITTI_FRAME = "{frame}_10.png"


def _truth_folders(place: FoundScene) -> dict[str, str]:
    """The folders of ground truth, the preferred one first; twice the same where the user chose."""
    chosen = place.fields.get("truth", "")
    return {"first": place.fields[chosen or "occ"], "second": place.fields[chosen or "noc"]}


def _kitti_details(place: FoundScene) -> dict[str, Any]:
    """The calibration of the frame's own file, else of the published set-up of its image size; and what was found."""
    truth = place.find(f"{{first}}/{_KITTI_FRAME}", f"{{second}}/{_KITTI_FRAME}")
    kind = "none" if truth is None else "occ" if truth.parent.name == place.fields["occ"] else "noc"
    path, cameras = place.find("{calibration}/{frame}.txt"), place.fields["cameras"]
    sized = place.find(f"{{left}}/{_KITTI_FRAME}") or truth
    calibration, origin = Calibration(), "unknown"
    if path is not None:
        calibration, origin = read_kitti_calibration(path, (int(cameras[0]), int(cameras[1]))), "calibration file"
    elif sized is not None and (setup := SETUPS[cameras].get(png_size(sized))) is not None:
        calibration, origin = Calibration(setup[0], setup[1] / setup[0]), "published set-up of this image size"
    return {"calibration": calibration, "metadata": {"ground_truth": kind, "calibration": origin}}


_KITTI_PAIRS = SceneLayout(
    each=(f"{{occ}}/{_KITTI_FRAME}", f"{{noc}}/{_KITTI_FRAME}"),
    id="{frame}_10",
    truth=tuple(DisparityFile(f"{{{folder}}}/{_KITTI_FRAME}", encoding="kitti") for folder in ("first", "second")),
    left=f"{{left}}/{_KITTI_FRAME}",
    right=f"{{right}}/{_KITTI_FRAME}",
    masks={
        "nonocc": MaskFile(f"{{noc}}/{_KITTI_FRAME}", value=0, invert=True),
        "fg": MaskFile(f"obj_map/{_KITTI_FRAME}", value=0, invert=True),
        "bg": MaskFile(f"obj_map/{_KITTI_FRAME}", value=0),
        "reflective": MaskFile(f"disp_refl_occ/{_KITTI_FRAME}", value=0, invert=True),
    },
    derive=_truth_folders,
    details=_kitti_details,
    needs=("gt",),
)


def _kitti_frames(variants: Mapping[str, str], folders: Mapping[str, str]) -> SceneFolders:
    """The frames of a benchmark; `variants` gives the folders of left and right images and the camera numbers."""
    return SceneFolders(
        (_KITTI_PAIRS, without_truth(_KITTI_PAIRS, f"{{left}}/{_KITTI_FRAME}", "testing")),
        roots=("{split}", ""),
        choices={"truth": ("", "occ", "noc"), "split": ("training", "testing")},
        fields={
            variant: {**dict(zip(("left", "right", "cameras"), text.split(), strict=True)), **folders}
            for variant, text in variants.items()
        },
        order=(),
    )


_KITTI_TERMS = "Creative Commons BY-NC-SA 3.0; not for commercial use."
_KITTI_OPTIONS = {
    "truth": "occ (all pixels) or noc (visible in both views); without it each frame takes occ where there is one",
    "split": "training (default) or testing, which has no ground truth",
}
_KITTI_OBTAIN = "the page requires a registration, so please download {} from {} yourself and unpack into one folder."

_KITTI_NDISP = 128
"""Fixed, since a range that follows the ground truth favours the matcher; few true disparities are larger."""

KITTI_2012 = DatasetFamily(
    id="kitti-2012",
    name="KITTI 2012",
    layout=(
        "training/ with image_0/, image_1/ (or colored_0/, colored_1/), disp_occ/, disp_noc/, disp_refl_occ/, calib/; "
        "frames 000000_10.png"
    ),
    terms=_KITTI_TERMS,
    citation=(
        "A. Geiger, P. Lenz and R. Urtasun, Are we ready for autonomous driving? The KITTI vision benchmark suite, "
        "CVPR 2012."
    ),
    obtain=_KITTI_OBTAIN.format(
        "data_stereo_flow.zip (2 GB) and its calibration files",
        "https://www.cvlibs.net/datasets/kitti/eval_stereo_flow.php?benchmark=stereo",
    ),
    scenes=_kitti_frames(
        {"grey": "image_0 image_1 01", "colour": "colored_0 colored_1 23"},
        {"occ": "disp_occ", "noc": "disp_noc", "calibration": "calib"},
    ),
    default="grey",
    variants={"grey": "cameras 0 and 1 (default)", "colour": "cameras 2 and 3"},
    options=_KITTI_OPTIONS,
    ndisp=_KITTI_NDISP,
    threshold=3.0,
    homepage="https://www.cvlibs.net/datasets/kitti/eval_stereo_flow.php?benchmark=stereo",
)
KITTI_2015 = DatasetFamily(
    id="kitti-2015",
    name="KITTI 2015",
    layout=(
        "training/ with image_2/, image_3/, disp_occ_0/, disp_noc_0/, obj_map/, calib_cam_to_cam/; frames 000000_10.png"
    ),
    terms=_KITTI_TERMS,
    citation="M. Menze and A. Geiger, Object scene flow for autonomous vehicles, CVPR 2015.",
    obtain=_KITTI_OBTAIN.format(
        "data_scene_flow.zip (1.7 GB) and data_scene_flow_calib.zip",
        "https://www.cvlibs.net/datasets/kitti/eval_scene_flow.php?benchmark=stereo",
    ),
    scenes=_kitti_frames(
        {"": "image_2 image_3 23"},
        {"occ": "disp_occ_0", "noc": "disp_noc_0", "calibration": "calib_cam_to_cam"},
    ),
    options=_KITTI_OPTIONS,
    ndisp=_KITTI_NDISP,
    threshold=3.0,
    homepage="https://www.cvlibs.net/datasets/kitti/eval_scene_flow.php?benchmark=stereo",
)
