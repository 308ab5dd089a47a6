"""Indoor scenes: Booster and LayeredFlow with glass and mirrors, HCI's light fields and stereo folders like theirs, and
surgery seen through stereo endoscopes, SCARED and SERV-CT, with calibrations of OpenCV in pixels and millimetres.

Of a 9 × 9 light field the centre view (camera 40) is the left image and its right neighbour (41) the right one;
disparities are signed because the cameras converge: Z = f·B / (d + f·B / focus distance). The rest of the centre row
gives further views.
"""

from __future__ import annotations

import configparser
from pathlib import Path

from msgspec.structs import replace

from stereogauge.datasets.calibration import (
    MILLIMETRE,
    calibration_of,
    parsed,
    read_stored_projections,
    stored_matrices,
)
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import MAP_SUFFIXES
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout, calibration_in, without_truth
from stereogauge.io.files import ColourFile, DisparityFile, FlagFile, LabelFile, MaskFile
from stereogauge.model import Calibration


def _booster_camera(path: Path) -> Calibration:
    """f of the rectified left camera in px and the baseline, stored in millimetres."""
    camera, baseline = stored_matrices(path, proj_matL=(3, 4), baselineLR=(1, 1))
    return calibration_of(path, focal=float(camera[0, 0]), baseline=abs(float(baseline[0, 0])) * MILLIMETRE)


_BOOSTER_PAIRS = SceneLayout(
    each="{scene}/camera_00/{light}.png",
    id="{scene}-{light}",
    truth=DisparityFile("{scene}/disp_00.npy", encoding="npy"),
    truth_right=DisparityFile("{scene}/disp_{camera}.npy", encoding="npy"),
    left="{scene}/camera_00/{light}.png",
    right="{scene}/camera_{camera}/{light}.png",
    masks={
        "nonocc": MaskFile("{scene}/mask_00.png"),
        **{f"class-{number}": MaskFile("{scene}/mask_cat.png", value=number) for number in range(4)},
    },
    calibration=calibration_in("{scene}/calib_00-{camera}.xml", _booster_camera),
    needs=("gt", "right"),
    pairs=True,
)
BOOSTER = DatasetFamily(
    id="booster",
    name="Booster",
    layout=(
        "train/balanced/SCENE/ with camera_00/ and camera_02/ (im0.png, im1.png, … one per light), disp_00.npy, "
        "disp_02.npy, mask_00.png, mask_cat.png, calib_00-02.xml; train/unbalanced/ with camera_01 likewise"
    ),
    terms="As stated with the download, for research.",
    citation=(
        "P. Zama Ramirez, A. Costanzino, F. Tosi, M. Poggi, S. Salti, S. Mattoccia and L. Di Stefano, Booster: a "
        "benchmark for depth from images of specular and transparent surfaces, TPAMI 2023 (first: CVPR 2022)."
    ),
    obtain="download the training set from https://amsacta.unibo.it/id/eprint/6876.",
    scenes=SceneFolders(
        (_BOOSTER_PAIRS, without_truth(_BOOSTER_PAIRS, "{scene}/camera_00/{light}.png")),
        roots=("", "{variant}", "{split}/{variant}"),
        choices={"split": ("train", "test")},
        fields={"balanced": {"camera": "02"}, "unbalanced": {"camera": "01"}},
    ),
    default="balanced",
    options={"split": "train (default) or test, which has no ground truth"},
    variants={"balanced": "two cameras of 12 MP (default)", "unbalanced": "12 MP on the left, 1.1 MP on the right"},
    homepage="https://cvlab-unibo.github.io/booster-web",
    threshold=2.0,
)

MATERIALS = {"diffuse": 1, "transparent": 2, "reflective": 3}
LAYEREDFLOW = DatasetFamily(
    id="layeredflow",
    name="LayeredFlow",
    layout=(
        "val/SCENE/ with TIME_0.png and TIME_1.png (left, right; times 0 and 3), and, converted from gt.pickle, "
        "TIME_LAYER.npy and TIME_LAYER_material.png"
    ),
    terms="The code is under the BSD licence; the page states no other terms for the data.",
    citation=(
        "H. Wen, E. Liang and J. Deng, LayeredFlow: a real-world benchmark for non-Lambertian multi-layer optical "
        "flow, ECCV 2024."
    ),
    obtain=(
        "download the benchmark from https://layeredflow.cs.princeton.edu or through the link in "
        "https://github.com/princeton-vl/LayeredFlow, and convert the gt.pickle of its validation set as the page on "
        "your own data shows."
    ),
    scenes=SceneFolders(
        SceneLayout(
            id="{scene}-{time}",
            truth=DisparityFile("{scene}/{time}_{variant}.npy", encoding="npy"),
            left="{scene}/{time}_0.png",
            right="{scene}/{time}_1.png",
            masks={
                f"label:{name}": LabelFile("{scene}/{time}_{variant}_material.png", value)
                for name, value in MATERIALS.items()
            },
            needs=("gt", "left", "right"),
            pairs=True,
        ),
        roots=("", "val", "layeredflow/val"),
    ),
    default="first",
    variants={
        "first": "the surface seen first, glass included (default)",
        "second": "what is seen through one transparent surface",
        "third": "what is seen through two",
        "last": "the first surface that is not transparent, behind any number of others",
    },
    homepage="https://layeredflow.cs.princeton.edu",
)


_PAIRS = (("left", "right"), ("image_left", "image_right"), ("im_left", "im_right"), ("view_left", "view_right"))
_TRUTHS = ("gt", "disparity", "disp", "disp_left", "gt_left", "groundtruth")
_FLOATS = tuple(suffix for suffix in MAP_SUFFIXES if suffix not in (".png", ".pgm"))


def _parameters(path: Path) -> Calibration:

    def read(text: str) -> dict[str, float]:
        parser = configparser.ConfigParser()
        parser.read_string(text)
        keys = ("focal_length_mm", "sensor_size_mm", "image_resolution_x_px")
        focal_mm, sensor_mm, width = (float(parser["intrinsics"][key]) for key in keys)
        baseline_mm, focus = (float(parser["extrinsics"][key]) for key in ("baseline_mm", "focus_distance_m"))
        focal, baseline = focal_mm / sensor_mm * width, baseline_mm / 1000
        return {"focal": focal, "baseline": baseline, "doffs": focal * baseline / focus}

    entries = (
        "focal_length_mm, sensor_size_mm, image_resolution_x_px under [intrinsics] and baseline_mm, focus_distance_m "
        "under [extrinsics]"
    )
    return calibration_of(path, **parsed(path, read, entries))


def _folder(place: FoundScene) -> dict[str, str]:
    return {"folder": "/".join(place.fields[name] for name in ("group", "scene") if name in place.fields)}


def _scenes(name: str) -> tuple[str, str]:
    """Scene folders with such a file, also below training/, additional/, …"""
    return f"{{scene}}/{name}", f"{{group}}/{{scene}}/{name}"


_LIGHT_FIELD_MASKS = {
    "planes": "mask_planes",
    "fine": "mask_fine",
    "continuous": "mask_smooth_surfaces",
    "discontinuities": "mask_discontinuities",
}
"""Masks of the benchmark by the name that they have here: planes and fine structures replace the search for them.

Those of discontinuities and fine structures are for the ground truth of ten times the size, on which the benchmark
measures them; at the size of the estimates a pixel belongs to a mask where half of its 10 × 10 block does.
"""
_LIGHT_FIELD = SceneLayout(
    each=_scenes("gt_disp_lowres.pfm"),
    truth=DisparityFile("{folder}/gt_disp_lowres.pfm", encoding="pfm"),
    left="{folder}/input_Cam040.png",
    right="{folder}/input_Cam041.png",
    views={float(number - 40): f"{{folder}}/input_Cam{number:03d}.png" for number in (*range(36, 40), *range(42, 45))},
    masks={
        name: (FlagFile(f"{{folder}}/{file}_lowres.png"), FlagFile(f"{{folder}}/{file}_highres.png", times=10))
        for name, file in _LIGHT_FIELD_MASKS.items()
    },
    calibration=calibration_in("{folder}/parameters.cfg", _parameters),
    derive=_folder,
    details=lambda place: {"metadata": {"signed": True}},
    needs=("gt", "left", "right"),
    pairs=True,
)
_PLAIN_PAIRS = tuple(
    SceneLayout(
        each=f"{{scene}}/{left}.*",  # one level below another are sites, which any folder may have
        truth=tuple(DisparityFile(f"{{folder}}/{stem}{suffix}") for stem in _TRUTHS for suffix in _FLOATS),
        left=f"{{folder}}/{left}.*",
        right=f"{{folder}}/{right}.*",
        derive=_folder,
        needs=("gt", "left", "right"),
    )
    for left, right in _PAIRS
)

HCI = DatasetFamily(
    id="hci",
    name="HCI 4D light field and Heidelberg-like stereo folders",
    layout=(
        "SCENE/ (also below training/, additional/, …) with input_Cam040.png, input_Cam041.png, gt_disp_lowres.pfm, "
        "parameters.cfg and masks (mask_planes_lowres.png, mask_fine_highres.png, …) where there are some; "
        "or SCENE/ with left.png, right.png and gt.pfm (floating-point map)"
    ),
    terms="Creative Commons BY-NC-SA 4.0 (light fields).",
    citation=(
        "K. Honauer, O. Johannsen, D. Kondermann and B. Goldluecke, A dataset and evaluation methodology for depth "
        "estimation on 4D light fields, ACCV 2016."
    ),
    obtain=(
        "request the download at https://lightfield-analysis.uni-konstanz.de/ (it requires an e-mail address) and "
        "unpack it into one folder."
    ),
    scenes=SceneFolders((_LIGHT_FIELD, *_PLAIN_PAIRS), order=()),
    homepage="https://lightfield-analysis.uni-konstanz.de/",
)


_KEYFRAME = "{place**}/keyframe_{keyframe}"


def _scared(files: str) -> SceneLayout:
    """Rectified frames with files of these names in the folder of a keyframe; the files do not say their scale."""
    truth, left, right = (
        f"{_KEYFRAME}/{files.format(kind)}.png" for kind in ("disparity", "left_rectified", "right_rectified")
    )
    return SceneLayout(
        id="{place}/keyframe_{keyframe}/{frame}",
        film=True,
        truth=DisparityFile(truth, "middlebury"),
        left=left,
        right=right,
        calibration=calibration_in(f"{_KEYFRAME}/stereo_calib.json", read_stored_projections),
        decode=lambda file, place, calibration: replace(file, scale=float(place.fields["scale"])),
        derive=lambda place: {"frame": place.fields.get("frame", "")},
    )


SCARED = DatasetFamily(
    id="scared",
    name="SCARED (endoscopic data challenge 2019)",
    layout=(
        "as scared_toolkit rectifies it: dataset_1/keyframe_1/ with stereo_calib.json and "
        "data/left_rectified/000000.png, data/right_rectified/, data/disparity/ (value / 128), also without data/; or "
        "the keyframe alone as left_rectified.png, right_rectified.png, disparity.png"
    ),
    terms="As agreed on joining the challenge; for research.",
    citation=(
        "M. Allan et al., Stereo correspondence and reconstruction of endoscopic data challenge, arXiv:2101.01133, "
        "2021."
    ),
    obtain=(
        "join the challenge at https://endovissub2019-scared.grand-challenge.org, and rectify the frames with "
        "`extract_sequence_dataset --disparity` of https://github.com/dimitrisPs/scared_toolkit."
    ),
    scenes=SceneFolders(
        tuple(map(_scared, ("data/{}/{{frame}}", "{}/{{frame}}", "{}"))),
        choices={"scale": ("128", "256")},
    ),
    options={"scale": "stored value per pixel: 128 (default of the toolkit's extraction) or 256"},
    homepage="https://endovissub2019-scared.grand-challenge.org",
    threshold=3.0,
)

OUTSIDE, NO_OVERLAP, HIDDEN_RIGHT, HIDDEN_LEFT = "#0000ff", "#ffff00", "#ff0000", "#00ff00"
"""Colours of SERV-CT's occlusion images: outside of the reference, beyond the other image, not visible in it."""


def _serv_ct(reference: str) -> SceneLayout:
    """The pairs with references in folders of this name; the dataset was published with two."""
    truth, occlusion = (
        f"{{experiment}}/{reference}_{{variant}}/{kind}/{{frame}}.png" for kind in ("Disparity", "OcclusionL")
    )
    return SceneLayout(
        id="{frame}",
        truth=DisparityFile(truth, "kitti"),
        left="{experiment}/Left_rectified/{frame}.png",
        right="{experiment}/Right_rectified/{frame}.png",
        masks={
            "all": ColourFile(occlusion, (OUTSIDE,), invert=True),
            "nonocc": ColourFile(occlusion, (OUTSIDE, NO_OVERLAP, HIDDEN_RIGHT, HIDDEN_LEFT), invert=True),
        },
        calibration=calibration_in("{experiment}/Rectified_calibration/{frame}.json", read_stored_projections),
    )


SERV_CT = DatasetFamily(
    id="serv-ct",
    name="SERV-CT",
    layout=(
        "Experiment_1/ and Experiment_2/ with Left_rectified/001.png, Right_rectified/, "
        "Rectified_calibration/001.json, Ground_truth_CT/ (or Reference_CT/) with Disparity/001.png, OcclusionL/001.png"
    ),
    terms="As stated with the download; please cite the paper.",
    citation=(
        "P. J. E. Edwards, D. Psychogyios, S. Speidel, L. Maier-Hein and D. Stoyanov, SERV-CT: a disparity dataset "
        "from cone-beam CT for validation of endoscopic 3D reconstruction, Medical Image Analysis 76, 2022."
    ),
    obtain="download it from https://www.ucl.ac.uk/interventional-surgical-sciences/serv-ct.",
    scenes=SceneFolders(tuple(map(_serv_ct, ("Ground_truth", "Reference"))), roots=("", "SERV-CT")),
    default="CT",
    variants={"CT": "reference from cone-beam CT (default)", "RGB": "from structured light, of the second experiment"},
    homepage="https://github.com/surgical-vision/servcttk",
)
