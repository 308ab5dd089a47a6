"""Surgery seen through stereo endoscopes: SCARED and SERV-CT. Calibrations are OpenCV's, in pixels and millimetres."""

from __future__ import annotations

from dataclasses import replace

from stereogauge.datasets.calibration import read_stored_projections
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.scene_layout import SceneFolders, SceneLayout, calibration_in
from stereogauge.io.files import ColourFile, DisparityFile

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
