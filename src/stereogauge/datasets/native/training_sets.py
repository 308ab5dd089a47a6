"""Sets that networks are trained on: the films MPI Sintel, Spring and Scene Flow, and InStereo2K, Falling Things,
TartanAir, UnrealStereo4K, CREStereo's set and FSD.
"""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from stereogauge.datasets.calibration import calibration_of, parsed
from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import png_size
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout, without_truth
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, FlagFile, MaskFile
from stereogauge.model import Calibration, Mask

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


def _falling_camera(path: Path) -> Calibration:
    if not path.is_file():
        raise FileError(f"{path}: the camera of this folder is needed, and there is no such file.")
    focal = parsed(
        path,
        lambda text: float(json.loads(text)["camera_settings"][0]["intrinsic_settings"]["fx"]),
        "camera_settings with an intrinsic fx",
    )
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
        calibration=lambda place: place.once(
            _falling_camera, place.base / place.fields["place"] / "_camera_settings.json"
        ),
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
        truth=DisparityFile("{place**}/Disp0/{frame}.npy", "npy"),
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
        truth=DisparityFile("{place**}/{frame}_left.disp.png", "middlebury", CRE_SCALE),
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


SINTEL_CAMERA = Calibration(baseline=0.10)
"""Focal lengths are not part of the stereo archive."""
SPRING_BASELINE = 0.065
SCENE_FLOW_FOCAL, SCENE_FLOW_SHORT_FOCAL = 1050.0, 450.0
SUBSETS = ("FlyingThings3D", "Driving", "Monkaa")

_EXCERPT = "sample"
SINTEL_FRAMES = SceneLayout(
    id="{sequence}-{frame}",
    film=True,
    # Pixels that leave the right frame are not evaluated by the benchmark, so their ground truth is unknown.
    truth=DisparityFile("disparities/{sequence}/{frame}.png", "sintel", masks=("outofframe/{sequence}/{frame}.png",)),
    left="{variant}_left/{sequence}/{frame}.png",
    right="{variant}_right/{sequence}/{frame}.png",
    masks={"nonocc": MaskFile("occlusions/{sequence}/{frame}.png", value=0)},
    calibration=SINTEL_CAMERA,
    derive=lambda place: None if place.fields["variant"] == _EXCERPT else {},
)


def _sintel_window(place: FoundScene) -> dict[str, dict[str, Mask]]:
    """The evaluation window of OpenCV's excerpt as the mask `roi`."""

    def read(text: str) -> list[int]:
        tree = ElementTree.fromstring(text)  # no entity is expanded from outside: ElementTree does not fetch any
        return [int(tree.findtext(key, "")) for key in ("x", "y", "width", "height")]

    path, truth = place.find("ROI.xml"), place.find("GT.png")
    if path is None or truth is None:
        return {}
    x, y, width, height = parsed(path, read, "the window as <x>, <y>, <width>, <height>")
    mask = np.zeros(png_size(truth)[::-1], dtype=bool)
    mask[max(y, 0) : max(y + height, 0), max(x, 0) : max(x + width, 0)] = True
    return {"masks": {"roi": mask}}


OPENCV_EXCERPT = SceneLayout(
    id="frame",
    truth=DisparityFile("GT.png", encoding="sintel"),
    left="left_view.png",
    right="right_view.png",
    derive=lambda place: {} if place.fields["variant"] == _EXCERPT else None,
    details=_sintel_window,
    needs=("gt", "left"),
)
SINTEL = DatasetFamily(
    id="sintel",
    name="MPI Sintel stereo",
    layout=(
        "training/ with final_left/, final_right/, clean_left/, clean_right/, disparities/, occlusions/, outofframe/, "
        "each SEQUENCE/frame_0001.png; or one frame as GT.png, left_view.png, ROI.xml"
    ),
    terms="Derived from the film Sintel by the Blender Foundation, Creative Commons BY 3.0; please cite the paper.",
    citation=(
        "D. J. Butler, J. Wulff, G. B. Stanley and M. J. Black, A naturalistic open source movie for optical flow "
        "evaluation, ECCV 2012."
    ),
    obtain="`stereogauge datasets fetch sintel` or http://sintel.is.tue.mpg.de/stereo.",
    scenes=SceneFolders((SINTEL_FRAMES, OPENCV_EXCERPT), roots=("training", "")),
    any_variant=True,
    variants={
        "final": "with motion blur and depth of field (default)",
        "clean": "without",
        "sample": "the one frame that OpenCV ships: GT.png, left_view.png, ROI.xml",
    },
    archives={"": (Archive("http://files.is.tue.mpg.de/jwulff/sintel/MPI-Sintel-stereo-training-20150305.zip"),)},
    homepage="http://sintel.is.tue.mpg.de/stereo",
)


def _focal_lengths(path: Path) -> list[float]:
    """The focal length of each frame: one line fx fy cx cy per frame."""
    return parsed(
        path,
        lambda text: [float(line.split()[0]) for line in text.splitlines() if line.strip()],
        "one line of numbers (fx fy cx cy) per frame",
    )


def _spring_camera(place: FoundScene) -> Calibration:
    path, number = place.find("{sequence}/cam_data/intrinsics.txt"), place.fields["frame"]
    lengths = [] if path is None else place.once(_focal_lengths, path)
    index = int(number) - 1 if number.isdigit() else -1
    focal = lengths[index] if 0 <= index < len(lengths) else None
    return calibration_of(path or place.base, focal=focal, baseline=SPRING_BASELINE)


_SPRING_MAPS = "{sequence}/maps/%s/%s_{frame}.png"
_MATCHES, _DETAIL, _SKY = (
    _SPRING_MAPS % (kind, kind) for kind in ("matchmap_disp1_left", "detailmap_disp1_left", "skymap_left")
)
_SPRING_TRUTH = DisparityFile("{sequence}/disp1_left/disp1_left_{frame}.dsp5", encoding="spring")
_SPRING_FRAMES = SceneLayout(
    id="{sequence}-{frame}",
    film=True,
    # The map is on a grid twice as fine, in Full-HD pixels; the protocol `spring` uses all values of a pixel.
    truth=replace(_SPRING_TRUTH, step=2),
    truth_right=DisparityFile("{sequence}/disp1_right/disp1_right_{frame}.dsp5", encoding="spring", step=2),
    truth_fine=_SPRING_TRUTH,
    left="{sequence}/frame_left/frame_left_{frame}.png",
    right="{sequence}/frame_right/frame_right_{frame}.png",
    masks={
        "high-detail": FlagFile(_DETAIL),
        "unmatched": FlagFile(_MATCHES),
        "nonocc": FlagFile(_MATCHES, invert=True),
        "sky": FlagFile(_SKY, halved=True),
    },
    calibration=_spring_camera,
)
SPRING = DatasetFamily(
    id="spring",
    name="Spring",
    layout=(
        "train/SEQUENCE/ with frame_left/frame_left_0001.png, frame_right/, disp1_left/disp1_left_0001.dsp5, "
        "disp1_right/, cam_data/intrinsics.txt, maps/{detailmap_disp1_left, matchmap_disp1_left, skymap_left}/"
    ),
    terms="Creative Commons BY 4.0.",
    citation=(
        "L. Mehl, J. Schmalfuss, A. Jahedi, Y. Nalivayko and A. Bruhn, Spring: A high-resolution high-detail dataset "
        "and benchmark for scene flow, optical flow and stereo, CVPR 2023."
    ),
    obtain=(
        "download train_frame_left.zip, train_frame_right.zip, train_disp1_left.zip, train_cam_data.zip and, for "
        "the benchmark's strata, the maps from https://doi.org/10.18419/darus-3376 and unpack them into one folder."
    ),
    scenes=SceneFolders(
        (_SPRING_FRAMES, without_truth(_SPRING_FRAMES, "{sequence}/frame_left/frame_left_{frame}.png")),
        roots=("{split}", "spring/{split}", ""),
        choices={"split": ("train", "test")},
    ),
    options={"split": "train (default) or test, which has no ground truth"},
    homepage="https://spring-benchmark.org/",
)


def _scene_flow_subset(place: FoundScene) -> dict[str, str] | None:
    """The subset as a part of the id, where the folder that the user named holds several; None in another split."""
    if place.fields.get("split", "") not in ("", place.fields["place"].partition("/")[0]):
        return None
    known = {name.lower(): name for name in SUBSETS}
    return {"subset": "" if place.base == place.root else known[place.base.name.lower()]}


def _scene_flow_camera(place: FoundScene) -> Calibration:
    """The nominal cameras as published; the baseline is one scene unit, read as a metre."""
    short = "15mm_focallength" in place.fields["place"].split("/")
    return Calibration(focal=SCENE_FLOW_SHORT_FOCAL if short else SCENE_FLOW_FOCAL, baseline=1.0)


def _scene_flow_images(side: str) -> tuple[str, ...]:
    """Where an image of either side may be: as unpacked, in the subset for networks, or flat."""
    folders = ("frames_{variant}pass", "RGB_{variant}pass", "image_{variant}")
    return tuple(f"{folder}/{{place}}/{side}/{{frame}}{suffix}" for folder in folders for suffix in (".png", ".webp"))


_SCENE_FLOW = SceneLayout(
    id="{subset}/{place}/{frame}",
    film=True,
    truth=DisparityFile("disparity/{place**}/left/{frame}.pfm", encoding="pfm"),
    truth_right=DisparityFile("disparity/{place}/right/{frame}.pfm", encoding="pfm"),
    left=_scene_flow_images("left"),
    right=_scene_flow_images("right"),
    masks={
        "nonocc": MaskFile("occlusion/{place}/left/{frame}.png", value=0),
        "occluded": MaskFile("occlusion/{place}/left/{frame}.png", value=255),
    },
    calibration=_scene_flow_camera,
    derive=_scene_flow_subset,
    details=lambda place: {"metadata": {"calibration": "nominal camera; the baseline is one scene unit"}},
    needs=("gt", "left"),
)


def _sampled_subset(place: FoundScene) -> dict[str, str] | None:
    """The fields of a frame of the sampler, which has no folders of sequences and sides."""
    found = _scene_flow_subset(replace(place, fields={**place.fields, "place": ""}))
    return None if found is None else {**found, "place": ""}


_SAMPLER = replace(
    _SCENE_FLOW,
    truth=DisparityFile("disparity/{frame}.pfm", encoding="pfm"),
    truth_right=(),
    masks={},
    derive=_sampled_subset,
)
SCENEFLOW = DatasetFamily(
    id="sceneflow",
    name="Scene Flow (FlyingThings3D, Driving, Monkaa)",
    layout=(
        "frames_cleanpass/, frames_finalpass/ and disparity/ as unpacked, with …/left/NAME and …/right/NAME; here or "
        "below FlyingThings3D/, Driving/, Monkaa/; or flat as RGB_cleanpass/left/, disparity/left/, occlusion/left/; "
        "or the sampler as unpacked, Sampler/Driving/ and so on with disparity/NAME.pfm"
    ),
    terms="For research, not for commercial use; the download page requires agreement.",
    citation=(
        "N. Mayer, E. Ilg, P. Häusser, P. Fischer, D. Cremers, A. Dosovitskiy and T. Brox, A large dataset to train "
        "convolutional networks for disparity, optical flow, and scene flow estimation, CVPR 2016."
    ),
    obtain=(
        "read the terms and download frames (43 GB) and disparity (87 GB), or the small sampler, from "
        "https://lmb.informatik.uni-freiburg.de/resources/datasets/SceneFlowDatasets.en.html."
    ),
    scenes=SceneFolders(
        (_SCENE_FLOW, _SAMPLER),
        roots=("", *SUBSETS, *(f"Sampler/{name}" for name in SUBSETS)),
        choices={"split": ("", "TRAIN", "TEST")},
        all_roots=True,
    ),
    default="clean",
    variants={"clean": "clean pass (default)", "final": "final pass with blur"},
    options={"split": "TRAIN or TEST of FlyingThings3D; without it both"},
    homepage="https://lmb.informatik.uni-freiburg.de/resources/datasets/SceneFlowDatasets.en.html",
    ndisp=192,
    threshold=3.0,
)
