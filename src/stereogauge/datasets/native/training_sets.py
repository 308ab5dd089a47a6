"""Sets that networks are trained on: InStereo2K, Falling Things, TartanAir, UnrealStereo4K and CREStereo's."""

from __future__ import annotations

import json
from pathlib import Path

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.native.pairs_by_truth import dataset_of, joined, scene_of, truth_at
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile
from stereogauge.model import Calibration, Dataset, Scene

IN_STEREO_SCALE, CRE_SCALE = 100.0, 32.0
FALLING_BASELINE, TENTHS_OF_MILLIMETRES = 0.06, 10_000.0
TARTAN_FOCAL, TARTAN_BASELINE = 320.0, 0.25


def load_in_stereo(root: Path, variant: str, *, split: str = "") -> Dataset:
    """Every left_disp.png below train/ and test/."""

    def scene(truth: Path) -> Scene:
        folder = truth.parent
        return scene_of(
            joined(folder, root),
            "instereo2k",
            DisparityFile(truth, encoding="middlebury", scale=IN_STEREO_SCALE),
            folder / "left",
            folder / "right",
            truth_right=truth_at(folder / "right_disp.png", "middlebury", IN_STEREO_SCALE),
        )

    found = (root / split if split else root).rglob("left_disp.png")
    return dataset_of("instereo2k", root, found, scene, "train/…/SCENE/ with left.png, right.png and left_disp.png")


IN_STEREO = DatasetFamily(
    id="instereo2k",
    name="InStereo2K",
    layout="train/…/SCENE/ and test/SCENE/ with left.png, right.png, left_disp.png, right_disp.png (value / 100)",
    terms="As stated with the download; the page asks to cite the paper.",
    citation=(
        "W. Bao, W. Wang, Y. Xu, Y. Guo, S. Hong and X. Zhang, InStereo2K: a large real dataset for stereo matching in "
        "indoor scenes, Science China Information Sciences 63, 2020."
    ),
    obtain="follow the links on https://github.com/YuhuaXu/StereoDataset.",
    load=load_in_stereo,
    options={"split": "train or test; without it both"},
    homepage="https://github.com/YuhuaXu/StereoDataset",
)


def load_falling_things(root: Path, variant: str) -> Dataset:
    """Every left depth map below single/ and mixed/, as disparity d = f·B / Z with the f of its folder."""
    focals: dict[Path, float] = {}

    def scene(depth: Path) -> Scene:
        folder, number = depth.parent, depth.name.partition(".")[0]
        if folder not in focals:
            focals[folder] = _falling_focal(folder / "_camera_settings.json")
        scale = focals[folder] * FALLING_BASELINE * TENTHS_OF_MILLIMETRES
        return scene_of(
            f"{joined(folder, root)}-{number}",
            "fallingthings",
            DisparityFile(depth, encoding="inverse", scale=scale),
            folder / f"{number}.left",
            folder / f"{number}.right",
            truth_right=truth_at(folder / f"{number}.right.depth.png", "inverse", scale),
            calibration=Calibration(focal=focals[folder], baseline=FALLING_BASELINE),
            metadata={"classes": str(folder / f"{number}.left.seg.png")},
        )

    found = root.rglob("*.left.depth.png")
    wanted = "single/ and mixed/ with SCENE/000000.left.jpg, 000000.left.depth.png and _camera_settings.json"
    return dataset_of("fallingthings", root, found, scene, wanted)


def _falling_focal(path: Path) -> float:
    try:
        cameras = json.loads(path.read_text(encoding="utf-8"))["camera_settings"]
        return float(cameras[0]["intrinsic_settings"]["fx"])
    except OSError as problem:
        raise FileError(
            f"{path}: the camera of this folder is needed and cannot be read ({problem.strerror})."
        ) from None
    except (KeyError, IndexError, TypeError, ValueError):
        raise FileError(f"{path} has no camera_settings with an intrinsic fx.") from None


FALLING_THINGS = DatasetFamily(
    id="fallingthings",
    name="Falling Things",
    layout=(
        "single/OBJECT/SCENE/ and mixed/SCENE/ with 000000.left.jpg, 000000.right.jpg, 000000.left.depth.png and "
        "_camera_settings.json"
    ),
    terms="CC BY-NC-SA 4.0.",
    citation=(
        "J. Tremblay, T. To and S. Birchfield, Falling Things: a synthetic dataset for 3D object detection and pose "
        "estimation, CVPR workshops 2018."
    ),
    obtain="download fat.zip (42 GB) from https://research.nvidia.com/publication/2018-06_falling-things.",
    load=load_falling_things,
    homepage="https://research.nvidia.com/publication/2018-06_falling-things",
)


def load_tartan_air(root: Path, variant: str) -> Dataset:
    """Every depth_left map below `root`, as disparity d = 80 px·m / Z."""
    scale = TARTAN_FOCAL * TARTAN_BASELINE

    def scene(depth: Path) -> Scene:
        place, number = depth.parent.parent, depth.name.partition("_")[0]
        return scene_of(
            f"{joined(place, root)}-{number}",
            "tartanair",
            DisparityFile(depth, encoding="inverse", scale=scale),
            place / "image_left" / f"{number}_left",
            place / "image_right" / f"{number}_right",
            truth_right=truth_at(place / "depth_right" / f"{number}_right_depth.npy", "inverse", scale),
            calibration=Calibration(focal=TARTAN_FOCAL, baseline=TARTAN_BASELINE),
        )

    found = root.rglob("depth_left/*_left_depth.npy")
    wanted = "ENVIRONMENT/Easy/P000/ with image_left/, image_right/ and depth_left/000000_left_depth.npy"
    return dataset_of("tartanair", root, found, scene, wanted)


TARTAN_AIR = DatasetFamily(
    id="tartanair",
    name="TartanAir",
    layout=(
        "ENVIRONMENT/Easy/P000/ with image_left/000000_left.png, image_right/000000_right.png and "
        "depth_left/000000_left_depth.npy"
    ),
    terms="As stated with the download.",
    citation=(
        "W. Wang, D. Zhu, X. Wang, Y. Hu, Y. Qiu, C. Wang, Y. Hu, A. Kapoor and S. Scherer, TartanAir: a dataset to "
        "push the limits of visual SLAM, IROS 2020."
    ),
    obtain="download images and depth with the tools of https://github.com/castacks/tartanair_tools.",
    load=load_tartan_air,
    homepage="https://theairlab.org/tartanair-dataset",
)


def load_unreal_stereo(root: Path, variant: str) -> Dataset:
    """Every Disp0 map below the numbered scenes."""

    def scene(truth: Path) -> Scene:
        folder = truth.parent.parent
        return scene_of(
            f"{folder.name}-{truth.stem}",
            "unrealstereo4k",
            DisparityFile(truth, encoding="npy"),
            folder / "Image0" / truth.stem,
            folder / "Image1" / truth.stem,
            truth_right=truth_at(folder / "Disp1" / truth.name, "npy"),
        )

    wanted = "00000/ … 00008/ with Image0/00000.png, Image1/00000.png and Disp0/00000.npy"
    return dataset_of("unrealstereo4k", root, root.glob("*/Disp0/*.npy"), scene, wanted)


UNREAL_STEREO = DatasetFamily(
    id="unrealstereo4k",
    name="UnrealStereo4K",
    layout="00000/ … 00008/ with Image0/NAME.png, Image1/NAME.png, Disp0/NAME.npy, Disp1/NAME.npy",
    terms="MIT licence.",
    citation="F. Tosi, Y. Liao, C. Schmitt and A. Geiger, SMD-Nets: stereo mixture density networks, CVPR 2021.",
    obtain="follow the links on https://github.com/fabiotosi92/SMD-Nets (full size, or a quarter of it).",
    load=load_unreal_stereo,
    homepage="https://github.com/fabiotosi92/SMD-Nets",
)


def load_cre_stereo(root: Path, variant: str) -> Dataset:
    """Every left disparity map in the four folders."""

    def scene(truth: Path) -> Scene:
        folder, number = truth.parent, truth.name.removesuffix("_left.disp.png")
        return scene_of(
            f"{folder.name}-{number}",
            "crestereo",
            DisparityFile(truth, encoding="middlebury", scale=CRE_SCALE),
            folder / f"{number}_left",
            folder / f"{number}_right",
            truth_right=truth_at(folder / f"{number}_right.disp.png", "middlebury", CRE_SCALE),
        )

    wanted = "tree/, shapenet/, reflective/ and hole/ with NAME_left.jpg, NAME_right.jpg and NAME_left.disp.png"
    return dataset_of("crestereo", root, root.glob("*/*_left.disp.png"), scene, wanted)


CRE_STEREO = DatasetFamily(
    id="crestereo",
    name="CREStereo's training set",
    layout="tree/, shapenet/, reflective/, hole/ with NAME_left.jpg, NAME_right.jpg, NAME_left.disp.png (value / 32)",
    terms="As stated in the repository, whose code is under Apache-2.0.",
    citation=(
        "J. Li, P. Wang, P. Xiong, T. Cai, Z. Yan, L. Yang, J. Liu, H. Fan and S. Liu, Practical stereo matching via "
        "cascaded recurrent network with adaptive correlation, CVPR 2022."
    ),
    obtain="run dataset_download.sh of https://github.com/megvii-research/CREStereo.",
    load=load_cre_stereo,
    homepage="https://github.com/megvii-research/CREStereo",
)
