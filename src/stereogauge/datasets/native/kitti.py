"""KITTI 2012 and 2015: driving scenes with sparse lidar ground truth (16-bit PNG, d = v / 256, 0 = unknown).

`disp_occ` knows all pixels, `disp_noc` only those visible in both views; a frame takes the first that it has unless
`truth` says which. `disp_refl_occ` of 2012 knows the pixels on reflective surfaces.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stereogauge.datasets.calibration import read_kitti_calibration
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import png_size
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout, without_truth
from stereogauge.io.files import DisparityFile, MaskFile
from stereogauge.model import Calibration

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
_FRAME = "{frame}_10.png"


def _truth_folders(place: FoundScene) -> dict[str, str]:
    """The folders of ground truth, the preferred one first; twice the same where the user chose."""
    chosen = [place.fields["truth"]] * 2 if "truth" in place.fields else ["occ", "noc"]
    first, second = (place.fields[kind] for kind in chosen)
    return {"first": first, "second": second}


def _calibration(place: FoundScene, sized: Path | None) -> tuple[Calibration, str]:
    """The frame's own calibration file, else the published set-up of its image size; and which of them it was."""
    path, cameras = place.find("{calibration}/{frame}.txt"), place.fields["cameras"]
    if path is not None:
        return read_kitti_calibration(path, (int(cameras[0]), int(cameras[1]))), "calibration file"
    setup = None if sized is None else SETUPS[cameras].get(png_size(sized))
    if setup is None:
        return Calibration(), "unknown"
    return Calibration(focal=setup[0], baseline=setup[1] / setup[0]), "published set-up of this image size"


def _details(place: FoundScene) -> dict[str, Any]:
    truth = place.find(f"{{first}}/{_FRAME}", f"{{second}}/{_FRAME}")
    kind = "none" if truth is None else "occ" if truth.parent.name == place.fields["occ"] else "noc"
    calibration, origin = _calibration(place, place.find(f"{{left}}/{_FRAME}") or truth)
    return {"calibration": calibration, "metadata": {"ground_truth": kind, "calibration": origin}}


_WITH_TRUTH = SceneLayout(
    each=(f"{{occ}}/{_FRAME}", f"{{noc}}/{_FRAME}"),
    id="{frame}_10",
    truth=tuple(DisparityFile(f"{{{folder}}}/{_FRAME}", encoding="kitti") for folder in ("first", "second")),
    left=f"{{left}}/{_FRAME}",
    right=f"{{right}}/{_FRAME}",
    masks={
        "nonocc": MaskFile(f"{{noc}}/{_FRAME}", value=0, invert=True),
        "fg": MaskFile(f"obj_map/{_FRAME}", value=0, invert=True),
        "bg": MaskFile(f"obj_map/{_FRAME}", value=0),
        "reflective": MaskFile(f"disp_refl_occ/{_FRAME}", value=0, invert=True),
    },
    derive=_truth_folders,
    details=_details,
    needs=("gt",),
)


def _frames(variants: Mapping[str, str], folders: Mapping[str, str]) -> SceneFolders:
    """The frames of a benchmark; `variants` gives the folders of left and right images and the camera numbers."""
    return SceneFolders(
        (_WITH_TRUTH, without_truth(_WITH_TRUTH, f"{{left}}/{_FRAME}", "testing")),
        roots=("{split}", ""),
        choices={"truth": ("", "occ", "noc"), "split": ("training", "testing")},
        fields={
            variant: {**dict(zip(("left", "right", "cameras"), text.split(), strict=True)), **folders}
            for variant, text in variants.items()
        },
        order=(),
    )


_TERMS = "Creative Commons BY-NC-SA 3.0; not for commercial use."
_OPTIONS = {
    "truth": "occ (all pixels) or noc (visible in both views); without it each frame takes occ where there is one",
    "split": "training (default) or testing, which has no ground truth",
}
_OBTAIN = "the page requires a registration, so please download {} from {} yourself and unpack into one folder."

_NDISP = 128
"""Fixed, since a range that follows the ground truth favours the matcher; few true disparities are larger."""

KITTI_2012 = DatasetFamily(
    id="kitti-2012",
    name="KITTI 2012",
    layout=(
        "training/ with image_0/, image_1/ (or colored_0/, colored_1/), disp_occ/, disp_noc/, disp_refl_occ/, calib/; "
        "frames 000000_10.png"
    ),
    terms=_TERMS,
    citation=(
        "A. Geiger, P. Lenz and R. Urtasun, Are we ready for autonomous driving? The KITTI vision benchmark suite, "
        "CVPR 2012."
    ),
    obtain=_OBTAIN.format(
        "data_stereo_flow.zip (2 GB) and its calibration files",
        "https://www.cvlibs.net/datasets/kitti/eval_stereo_flow.php?benchmark=stereo",
    ),
    scenes=_frames(
        {"grey": "image_0 image_1 01", "colour": "colored_0 colored_1 23"},
        {"occ": "disp_occ", "noc": "disp_noc", "calibration": "calib"},
    ),
    default="grey",
    variants={"grey": "cameras 0 and 1 (default)", "colour": "cameras 2 and 3"},
    options=_OPTIONS,
    ndisp=_NDISP,
    threshold=3.0,
    homepage="https://www.cvlibs.net/datasets/kitti/eval_stereo_flow.php?benchmark=stereo",
)
KITTI_2015 = DatasetFamily(
    id="kitti-2015",
    name="KITTI 2015",
    layout=(
        "training/ with image_2/, image_3/, disp_occ_0/, disp_noc_0/, obj_map/, calib_cam_to_cam/; frames 000000_10.png"
    ),
    terms=_TERMS,
    citation="M. Menze and A. Geiger, Object scene flow for autonomous vehicles, CVPR 2015.",
    obtain=_OBTAIN.format(
        "data_scene_flow.zip (1.7 GB) and data_scene_flow_calib.zip",
        "https://www.cvlibs.net/datasets/kitti/eval_scene_flow.php?benchmark=stereo",
    ),
    scenes=_frames(
        {"": "image_2 image_3 23"},
        {"occ": "disp_occ_0", "noc": "disp_noc_0", "calibration": "calib_cam_to_cam"},
    ),
    options=_OPTIONS,
    ndisp=_NDISP,
    threshold=3.0,
    homepage="https://www.cvlibs.net/datasets/kitti/eval_scene_flow.php?benchmark=stereo",
)
