"""HCI's light fields taken as stereo pairs, and folders laid out like the Heidelberg stereo sets.

Of a 9 × 9 light field the centre view (camera 40) is the left image and its right neighbour (41) the right one;
disparities are signed because the cameras converge: Z = f·B / (d + f·B / focus distance). The rest of the centre row
gives further views.
"""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import MAP_SUFFIXES, first_file, image, subfolders, wrong_folder
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, ImageFile
from stereogauge.model import Calibration, Dataset, Scene

CENTRE = 40
ROW = range(36, 45)
_PAIRS = (("left", "right"), ("image_left", "image_right"), ("im_left", "im_right"), ("view_left", "view_right"))
_TRUTHS = ("gt", "disparity", "disp", "disp_left", "gt_left", "groundtruth")


def _camera(folder: Path, number: int) -> Path | None:
    return first_file(folder, f"input_Cam{number:03d}.png")


def _light_field(folder: Path, dataset: str) -> Scene | None:
    truth = first_file(folder, "gt_disp_lowres.pfm")
    left, right = _camera(folder, CENTRE), _camera(folder, CENTRE + 1)
    if truth is None or left is None or right is None:
        return None
    views = {float(number - CENTRE): _camera(folder, number) for number in ROW if number not in (CENTRE, CENTRE + 1)}
    return Scene(
        folder.name,
        gt=DisparityFile(truth, encoding="pfm"),
        left=ImageFile(left),
        right=ImageFile(right),
        calibration=_parameters(folder),
        views={position: ImageFile(path) for position, path in views.items() if path is not None},
        dataset=dataset,
        metadata={"signed": True},
    )


def _parameters(folder: Path) -> Calibration:
    path = first_file(folder, "parameters.cfg")
    if path is None:
        return Calibration()
    parser = configparser.ConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
        keys = ("focal_length_mm", "sensor_size_mm", "image_resolution_x_px")
        focal_mm, sensor_mm, width = (float(parser["intrinsics"][key]) for key in keys)
        baseline_mm, focus = (float(parser["extrinsics"][key]) for key in ("baseline_mm", "focus_distance_m"))
        focal, baseline = focal_mm / sensor_mm * width, baseline_mm / 1000
        return Calibration(focal=focal, baseline=baseline, doffs=focal * baseline / focus)
    except (configparser.Error, KeyError, ValueError, ZeroDivisionError):
        raise FileError(
            f"{path} should hold focal_length_mm, sensor_size_mm, image_resolution_x_px under [intrinsics] and "
            "baseline_mm, focus_distance_m under [extrinsics]."
        ) from None


def _plain_pair(folder: Path, dataset: str) -> Scene | None:
    truth = first_file(
        folder, *(stem + suffix for stem in _TRUTHS for suffix in MAP_SUFFIXES if suffix not in (".png", ".pgm"))
    )
    for left_name, right_name in _PAIRS:
        left, right = image(folder, left_name), image(folder, right_name)
        if truth is not None and left is not None and right is not None:
            return Scene(
                folder.name, gt=DisparityFile(truth), left=ImageFile(left), right=ImageFile(right), dataset=dataset
            )
    return None


def load(root: Path, variant: str, **options: Any) -> Dataset:
    """The scenes of `root` and of its folders (training, additional, …), by name."""
    places = [root, *subfolders(root)]
    folders = list(dict.fromkeys(folder for place in places for folder in subfolders(place)))
    scenes = [scene for folder in folders if (scene := _light_field(folder, "hci") or _plain_pair(folder, "hci"))]
    if not scenes:
        raise wrong_folder(
            "hci",
            root,
            "SCENE/{input_Cam040.png, input_Cam041.png, gt_disp_lowres.pfm} or SCENE/{left.png, right.png, gt.pfm}",
        )
    return Dataset("hci", sorted(scenes, key=lambda scene: scene.id), root=root)


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
    load=load,
    homepage="https://lightfield-analysis.uni-konstanz.de/",
)
