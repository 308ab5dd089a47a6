"""KITTI 2012 and 2015: driving scenes with sparse lidar ground truth (16-bit PNG, d = v / 256, 0 = unknown).

`disp_occ` knows all pixels, `disp_noc` only those visible in both views; a frame takes the first that it has unless
`truth` says which.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stereogauge.datasets.calibration import read_kitti_calibration
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import png_size, wrong_folder
from stereogauge.errors import DatasetError
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Dataset, Scene


@dataclass(frozen=True)
class _Cameras:
    """The folders and numbers of a stereo pair."""

    left: str
    right: str
    numbers: tuple[int, int]


@dataclass(frozen=True)
class _Layout:
    """Where one of the two benchmarks keeps its files."""

    id: str
    occluded: str
    visible: str
    calibration: str
    cameras: Mapping[str, _Cameras]
    default: str


_GREY = _Cameras("image_0", "image_1", (0, 1))
_COLOURED = _Cameras("colored_0", "colored_1", (2, 3))
_LAYOUT_2012 = _Layout("kitti-2012", "disp_occ", "disp_noc", "calib", {"grey": _GREY, "colour": _COLOURED}, "grey")
_LAYOUT_2015 = _Layout(
    *("kitti-2015", "disp_occ_0", "disp_noc_0", "calib_cam_to_cam"),
    cameras={"colour": _Cameras("image_2", "image_3", (2, 3))},
    default="colour",
)

# The rectified size tells the recording set-up: focal length in pixels and f·baseline in pixel·metres of the published
# projection matrices.
GREY_SETUPS: Mapping[tuple[int, int], tuple[float, float]] = {
    (1226, 370): (707.0912, 379.8145),
    (1241, 376): (718.8560, 386.1448),
    (1242, 375): (721.5377, 387.5744),
}
COLOUR_SETUPS: Mapping[tuple[int, int], tuple[float, float]] = {(1242, 375): (721.5377, 44.85728 + 339.5242)}


def _calibration(
    split: Path, layout: _Layout, cameras: _Cameras, frame: str, sized: Path | None
) -> tuple[Calibration, str]:
    """The frame's own calibration file, else the published set-up of its image size; and which of them it was."""
    path = split / layout.calibration / f"{frame.split('_')[0]}.txt"
    if path.is_file():
        return read_kitti_calibration(path, cameras.numbers), "calibration file"
    setups = GREY_SETUPS if cameras.numbers == (0, 1) else COLOUR_SETUPS
    setup = None if sized is None else setups.get(png_size(sized))
    if setup is None:
        return Calibration(), "unknown"
    return Calibration(focal=setup[0], baseline=setup[1] / setup[0]), "published set-up of this image size"


def _scene(split: Path, layout: _Layout, cameras: _Cameras, frame: str, truth: str, dataset: str) -> Scene | None:
    folders = {"occ": layout.occluded, "noc": layout.visible, "left": cameras.left, "right": cameras.right}
    folders["objects"] = "obj_map"
    paths = {name: split / folder / f"{frame}.png" for name, folder in folders.items()}
    there = {name: path for name, path in paths.items() if path.is_file()}
    wanted = [name for name in ("occ", "noc") if truth in ("", name)]
    chosen = next((name for name in wanted if name in there), None)
    if chosen is None and (truth or "left" not in there):
        return None
    masks = {}
    if "noc" in there:
        masks["nonocc"] = MaskFile(there["noc"], value=0, invert=True)
    if "objects" in there:
        masks["fg"] = MaskFile(there["objects"], value=0, invert=True)
        masks["bg"] = MaskFile(there["objects"], value=0)
    sized = there.get("left") or (there[chosen] if chosen else None)
    calibration, origin = _calibration(split, layout, cameras, frame, sized)
    return Scene(
        frame,
        gt=DisparityFile(there[chosen], encoding="kitti") if chosen else None,
        left=ImageFile(there["left"]) if "left" in there else None,
        right=ImageFile(there["right"]) if "right" in there else None,
        calibration=calibration,
        masks=masks,
        dataset=dataset,
        metadata={"ground_truth": chosen or "none", "calibration": origin},
    )


def load(root: Path, variant: str, *, layout: _Layout, truth: str = "", split: str = "training") -> Dataset:
    """The frames in order; of 2012 grey images unless the variant is `colour`, of 2015 with the masks `fg` and `bg`."""
    if truth not in ("", "occ", "noc"):
        raise DatasetError(
            f"The truth of {layout.id} is 'occ' (all pixels) or 'noc' (visible in both views), not {truth!r}."
        )
    if split not in ("training", "testing"):
        raise DatasetError(f"The split of {layout.id} is 'training' or 'testing', not {split!r}.")
    folder = root / split if (root / split).is_dir() else root
    cameras = layout.cameras[variant or layout.default]
    listed = [layout.occluded, layout.visible] if split == "training" else [cameras.left]
    frames = sorted({path.stem for name in listed for path in (folder / name).glob("*_10.png")})
    title = f"{layout.id}:{variant}" if variant and variant != layout.default else layout.id
    scenes = [scene for frame in frames if (scene := _scene(folder, layout, cameras, frame, truth, title))]
    if not scenes:
        places = ", ".join(f"{name}/" for name in (layout.occluded, layout.visible, cameras.left, cameras.right))
        raise wrong_folder(
            layout.id,
            root,
            f"{split}/ with {places} and frames such as 000000_10.png" + (f" ({truth} only)" if truth else ""),
        )
    return Dataset(title, scenes, version=variant, root=root)


_TERMS = "Creative Commons BY-NC-SA 3.0; not for commercial use."
_OPTIONS = {
    "truth": "occ (all pixels) or noc (visible in both views); without it each frame takes occ where there is one",
    "split": "training (default) or testing, which has no ground truth",
}
_OBTAIN = "the page asks for a registration, so please download {} from {} yourself and unpack into one folder."

KITTI_2012 = DatasetFamily(
    id="kitti-2012",
    name="KITTI 2012",
    layout=(
        "training/ with image_0/, image_1/ (or colored_0/, colored_1/), disp_occ/, disp_noc/, calib/; frames "
        "000000_10.png"
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
    load=functools.partial(load, layout=_LAYOUT_2012),
    variants={"grey": "cameras 0 and 1 (default)", "colour": "cameras 2 and 3"},
    options=_OPTIONS,
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
    load=functools.partial(load, layout=_LAYOUT_2015),
    options=_OPTIONS,
    homepage="https://www.cvlibs.net/datasets/kitti/eval_scene_flow.php?benchmark=stereo",
)
