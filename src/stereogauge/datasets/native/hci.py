"""HCI's light fields read as stereo pairs, and folders laid out like the Heidelberg stereo sets.

Of a 9 × 9 light field the centre view (camera 40) is the left image and its right neighbour (41) the right one;
disparities are signed because the cameras converge: Z = f·B / (d + f·B / focus distance). The rest of the centre row
gives further views.
"""

from __future__ import annotations

import configparser

from stereogauge.datasets.calibration import calibration_of
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import MAP_SUFFIXES
from stereogauge.datasets.scene_layout import SceneFolders, SceneLayout, ScenePlace
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile
from stereogauge.model import Calibration

_PAIRS = (("left", "right"), ("image_left", "image_right"), ("im_left", "im_right"), ("view_left", "view_right"))
_TRUTHS = ("gt", "disparity", "disp", "disp_left", "gt_left", "groundtruth")
_FLOATS = tuple(suffix for suffix in MAP_SUFFIXES if suffix not in (".png", ".pgm"))


def _parameters(place: ScenePlace) -> Calibration:
    path = place.find("{folder}/parameters.cfg")
    if path is None:
        return Calibration()
    parser = configparser.ConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
        keys = ("focal_length_mm", "sensor_size_mm", "image_resolution_x_px")
        focal_mm, sensor_mm, width = (float(parser["intrinsics"][key]) for key in keys)
        baseline_mm, focus = (float(parser["extrinsics"][key]) for key in ("baseline_mm", "focus_distance_m"))
        focal, baseline = focal_mm / sensor_mm * width, baseline_mm / 1000
        offset = focal * baseline / focus
    except (configparser.Error, KeyError, ValueError, ZeroDivisionError):
        raise FileError(
            f"{path} should hold focal_length_mm, sensor_size_mm, image_resolution_x_px under [intrinsics] and "
            "baseline_mm, focus_distance_m under [extrinsics]."
        ) from None
    return calibration_of(path, focal=focal, baseline=baseline, doffs=offset)


def _folder(place: ScenePlace) -> dict[str, str]:
    return {"folder": "/".join(place.fields[name] for name in ("group", "scene") if name in place.fields)}


def _scenes(name: str) -> tuple[str, str]:
    """Scene folders with such a file, also below training/, additional/, …"""
    return f"{{scene}}/{name}", f"{{group}}/{{scene}}/{name}"


_LIGHT_FIELD = SceneLayout(
    each=_scenes("gt_disp_lowres.pfm"),
    truth=DisparityFile("{folder}/gt_disp_lowres.pfm", encoding="pfm"),
    left="{folder}/input_Cam040.png",
    right="{folder}/input_Cam041.png",
    views={float(number - 40): f"{{folder}}/input_Cam{number:03d}.png" for number in (*range(36, 40), *range(42, 45))},
    calibration=_parameters,
    derive=_folder,
    details=lambda place: {"metadata": {"signed": True}},
    needs=("gt", "left", "right"),
)
_PLAIN_PAIRS = tuple(
    SceneLayout(
        each=_scenes(f"{left}.*"),
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
        "parameters.cfg; or SCENE/ with left.png, right.png and gt.pfm (floating-point map)"
    ),
    terms="Creative Commons BY-NC-SA 4.0 (light fields).",
    citation=(
        "K. Honauer, O. Johannsen, D. Kondermann and B. Goldluecke, A dataset and evaluation methodology for depth "
        "estimation on 4D light fields, ACCV 2016."
    ),
    obtain=(
        "request the download at https://lightfield-analysis.uni-konstanz.de/ (it asks for an e-mail address) and "
        "unpack it into one folder."
    ),
    scenes=SceneFolders((_LIGHT_FIELD, *_PLAIN_PAIRS), order=()),
    homepage="https://lightfield-analysis.uni-konstanz.de/",
)
