"""Sets that networks are trained on: InStereo2K, Falling Things, TartanAir, UnrealStereo4K, CREStereo's and FSD."""

from __future__ import annotations

import json
from pathlib import Path

from stereogauge.datasets.calibration import calibration_of
from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.scene_layout import SceneFolders, SceneLayout
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile
from stereogauge.model import Calibration

IN_STEREO_SCALE, CRE_SCALE = 100.0, 32.0
FALLING_BASELINE, TENTHS_OF_MILLIMETRES = 0.06, 10_000.0
METRES = 1.0
TARTAN_CAMERA = Calibration(focal=320.0, baseline=0.25)

IN_STEREO = DatasetFamily(
    id="instereo2k",
    name="InStereo2K",
    layout="train/…/SCENE/ and test/SCENE/ with left.png, right.png, left_disp.png, right_disp.png (value / 100)",
    terms="As stated with the download; please cite the paper.",
    citation=(
        "W. Bao, W. Wang, Y. Xu, Y. Guo, S. Hong and X. Zhang, InStereo2K: a large real dataset for stereo matching in "
        "indoor scenes, Science China Information Sciences 63, 2020."
    ),
    obtain="follow the links on https://github.com/YuhuaXu/StereoDataset.",
    scenes=SceneFolders(
        SceneLayout(
            id="{split}-{place}",
            truth=DisparityFile("{split}/{place**}/left_disp.png", "middlebury", IN_STEREO_SCALE),
            truth_right=DisparityFile("{split}/{place}/right_disp.png", "middlebury", IN_STEREO_SCALE),
            left="{split}/{place}/left.*",
            right="{split}/{place}/right.*",
        ),
        choices={"split": ("", "train", "test")},
    ),
    options={"split": "train or test; without it both"},
    homepage="https://github.com/YuhuaXu/StereoDataset",
)


def _camera(path: Path) -> Calibration:
    try:
        cameras = json.loads(path.read_text(encoding="utf-8"))["camera_settings"]
        focal = float(cameras[0]["intrinsic_settings"]["fx"])
    except OSError as problem:
        raise FileError(
            f"{path}: the camera of this folder is needed and cannot be read ({problem.strerror})."
        ) from None
    except (KeyError, IndexError, TypeError, ValueError):
        raise FileError(f"{path} has no camera_settings with an intrinsic fx.") from None
    return calibration_of(path, focal=focal, baseline=FALLING_BASELINE)


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
    scenes=SceneLayout(
        id="{place}-{frame}",
        truth=DisparityFile("{place**}/{frame}.left.depth.png", "inverse", TENTHS_OF_MILLIMETRES),
        truth_right=DisparityFile("{place}/{frame}.right.depth.png", "inverse", TENTHS_OF_MILLIMETRES),
        left="{place}/{frame}.left.*",
        right="{place}/{frame}.right.*",
        calibration=lambda place: place.once(_camera, place.base / place.fields["place"] / "_camera_settings.json"),
    ),
    homepage="https://research.nvidia.com/publication/2018-06_falling-things",
)
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
    scenes=SceneLayout(
        id="{place}-{frame}",
        film=True,
        truth=DisparityFile("{place**}/depth_left/{frame}_left_depth.npy", "inverse", METRES),
        truth_right=DisparityFile("{place}/depth_right/{frame}_right_depth.npy", "inverse", METRES),
        left="{place}/image_left/{frame}_left.*",
        right="{place}/image_right/{frame}_right.*",
        calibration=TARTAN_CAMERA,
    ),
    homepage="https://theairlab.org/tartanair-dataset",
)
UNREAL_STEREO = DatasetFamily(
    id="unrealstereo4k",
    name="UnrealStereo4K",
    layout="00000/ … 00008/ with Image0/NAME.png, Image1/NAME.png, Disp0/NAME.npy, Disp1/NAME.npy",
    terms="MIT licence.",
    citation="F. Tosi, Y. Liao, C. Schmitt and A. Geiger, SMD-Nets: stereo mixture density networks, CVPR 2021.",
    obtain="follow the links on https://github.com/fabiotosi92/SMD-Nets (full size, or a quarter of it).",
    scenes=SceneLayout(
        id="{place}-{frame}",
        truth=DisparityFile("{place}/Disp0/{frame}.npy", "npy"),
        truth_right=DisparityFile("{place}/Disp1/{frame}.npy", "npy"),
        left="{place}/Image0/{frame}.*",
        right="{place}/Image1/{frame}.*",
    ),
    homepage="https://github.com/fabiotosi92/SMD-Nets",
)
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
    scenes=SceneLayout(
        id="{place}-{frame}",
        truth=DisparityFile("{place}/{frame}_left.disp.png", "middlebury", CRE_SCALE),
        truth_right=DisparityFile("{place}/{frame}_right.disp.png", "middlebury", CRE_SCALE),
        left="{place}/{frame}_left.*",
        right="{place}/{frame}_right.*",
    ),
    homepage="https://github.com/megvii-research/CREStereo",
)
FOUNDATION_STEREO = DatasetFamily(
    id="fsd",
    name="FoundationStereo's dataset (FSD)",
    layout="SET/dataset/data/ with left/rgb/0000.jpg, right/rgb/0000.jpg, left/disparity/0000.png",
    terms="NVIDIA's licence of the repository, for research.",
    citation=(
        "B. Wen, M. Trepte, J. Aribido, J. Kautz, O. Gallo and S. Birchfield, FoundationStereo: zero-shot stereo "
        "matching, CVPR 2025."
    ),
    obtain="download the sample (3 GB) or the whole set (1 TB) from https://github.com/NVlabs/FoundationStereo.",
    scenes=SceneLayout(
        id="{place}-{frame}",
        truth=DisparityFile("{place**}/left/disparity/{frame}.png", "fsd"),
        left="{place}/left/rgb/{frame}.*",
        right="{place}/right/rgb/{frame}.*",
    ),
    homepage="https://github.com/NVlabs/FoundationStereo",
)
