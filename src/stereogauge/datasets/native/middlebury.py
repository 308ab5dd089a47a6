"""Middlebury's sets, and ETH3D, whose files have the same form as those of Middlebury 2014.

8-bit sets are the pairs of 2001 and 2003, the version 2 evaluation on four of them, and the views of 2005 and 2006.
Ground truth is d = value / scale, 0 = unknown. The scale of a pair belongs to its scene; that of 2005 and 2006 is 1, 2,
3 in full, half and third size. For 2005 and 2006 f = 3740 px at full size and a baseline of 160 mm are published; the
images are cropped, and `dmin.txt` holds the pixels (of full size) to add to a disparity for depth.

The pairs of 2014 and 2021, version 3, and ETH3D have floating-point ground truth and a `calib.txt` each. In the mask
`mask0nocc.png` 255 is visible in both views, 128 is occluded, 0 is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from stereogauge.datasets.calibration import calibration_of, parsed, read_middlebury_calibration
from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import MIDDLEBURY_PAPER, MIDDLEBURY_RESOLUTIONS, MIDDLEBURY_TERMS, png_size
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout, without_truth
from stereogauge.io.files import DisparityFile, MaskFile
from stereogauge.model import Calibration

EVALUATION_ORDER = ("tsukuba", "venus", "teddy", "cones")
SCALES: Mapping[str, float] = {
    **dict.fromkeys(("barn1", "barn2", "bull", "map", "poster", "sawtooth", "venus"), 8.0),
    "tsukuba": 16.0,
    "teddy": 4.0,
    "cones": 4.0,
    "teddyh": 2.0,
    "conesh": 2.0,
    "teddyf": 1.0,
    "conesf": 1.0,
}
_SCENES_2003 = {name for name in SCALES if name.startswith(("teddy", "cones"))}
BORDERS: Mapping[str, int] = {"tsukuba": 18, "venus": 10}
DISPARITIES: Mapping[str, int] = {"tsukuba": 16, "venus": 20, "sawtooth": 20, "map": 30, "teddy": 60, "cones": 60}
# (left image, right image, left ground truth, right ground truth); the first complete set that a folder holds counts.
FILE_NAMES = (
    ("im2", "im6", "groundtruth", "disp6"),
    ("im2", "im6", "disp2", "disp6"),
    ("im3", "im4", "groundtruth", ""),
    ("scene1.row3.col3", "scene1.row3.col4", "truedisp.row3.col3", ""),
    ("im0", "im1", "disp0", "disp1"),
)
_SITE = "https://vision.middlebury.edu/stereo"
_DATA = f"{_SITE}/data"
_IJCV = (
    "D. Scharstein and R. Szeliski, A taxonomy and evaluation of dense two-frame stereo correspondence algorithms, "
    "IJCV 47(1/2/3):7-42, 2002."
)
_CVPR = "D. Scharstein and R. Szeliski, High-accuracy stereo depth maps using structured light, CVPR 2003."


def _lower_name(place: FoundScene) -> str:
    return place.fields["scene"].lower()


def _pair_details(place: FoundScene) -> dict[str, Any]:
    scale = SCALES[_lower_name(place)]
    return {
        "calibration": Calibration(ndisp=DISPARITIES.get(_lower_name(place))),
        "resolution": 1.0 / scale if _lower_name(place) in _SCENES_2003 else None,
        "border": BORDERS.get(_lower_name(place), 0),
        "metadata": {"scale": scale},
    }


def _eight_bit_pairs(allowed: Collection[str], order: tuple[str, ...] = ()) -> SceneFolders:
    """The scenes whose lower-case names are `allowed`, those of `order` first.

    Of the nine-view scenes im2 lies at 0 and im6 at 1: one step is a quarter of the baseline.
    """
    layouts = [
        SceneLayout(
            truth=DisparityFile(f"{{scene}}/{truth}.*", encoding="middlebury"),
            truth_right=DisparityFile(f"{{scene}}/{other}.*", encoding="middlebury") if other else (),
            left=f"{{scene}}/{left}.*",
            right=f"{{scene}}/{right}.*",
            views={(i - 2) / 4: f"{{scene}}/im{i}.*" for i in (0, 1, 3, 4, 5, 7, 8)} if left == "im2" else {},
            masks={mask: MaskFile(f"{{scene}}/{mask}.png") for mask in ("nonocc", "all", "disc")},
            decode=lambda file, place, calibration: replace(file, scale=SCALES[_lower_name(place)]),
            derive=lambda place: {} if _lower_name(place) in allowed else None,
            details=_pair_details,
            needs=("gt", "left", "right"),
        )
        for left, right, truth, other in FILE_NAMES
    ]
    return SceneFolders(tuple(layouts), roots=("", ".."), order=order)


def _files(scene: str, names: Iterable[str]) -> tuple[Archive, ...]:
    return tuple(
        Archive(f"{_DATA}/scenes2001/data/{scene}/{name}", target=f"{scene}/{name}", unpack=False) for name in names
    )


_PLANAR = ("im2.ppm", "im6.ppm", "disp2.pgm", "disp6.pgm")
_PLANAR_SCENES = tuple(
    file for scene in ("barn1", "barn2", "bull", "poster", "sawtooth", "venus") for file in _files(scene, _PLANAR)
)
_TSUKUBA = _files("tsukuba", ("scene1.row3.col3.ppm", "scene1.row3.col4.ppm", "truedisp.row3.col3.pgm"))
_ARCHIVES_2003 = tuple(Archive(f"{_DATA}/scenes2003/newdata/{scene}/{scene}-png-2.zip") for scene in ("teddy", "cones"))

MIDDLEBURY_V2 = DatasetFamily(
    id="middlebury-v2",
    name="Middlebury evaluation, version 2",
    layout=(
        "tsukuba/ venus/ teddy/ cones/, each with im2, im6 (tsukuba: im3, im4), groundtruth.png or disp2, optionally "
        "disp6 and the official masks nonocc.png all.png disc.png, in which only the value 255 counts"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=f"{_IJCV} {_CVPR} Tsukuba: courtesy of the University of Tsukuba.",
    obtain=f"`stereogauge datasets fetch middlebury-v2` or the pages {_DATA}/scenes2001/ and {_DATA}/scenes2003/.",
    scenes=_eight_bit_pairs(EVALUATION_ORDER, EVALUATION_ORDER),
    archives={"": (*_TSUKUBA, *_files("venus", _PLANAR), *_ARCHIVES_2003)},
    homepage="https://vision.middlebury.edu/stereo/eval/",
)
MIDDLEBURY_2001 = DatasetFamily(
    id="middlebury-2001",
    name="Middlebury 2001",
    layout=(
        "barn1/ barn2/ bull/ map/ poster/ sawtooth/ tsukuba/ venus/ (any of them), each with im2, im6, disp2, disp6 "
        "as .ppm/.pgm or .png"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=_IJCV,
    obtain=f"`stereogauge datasets fetch middlebury-2001` or {_DATA}/scenes2001/.",
    scenes=_eight_bit_pairs(SCALES.keys() - _SCENES_2003),
    archives={"": (*_PLANAR_SCENES, *_files("map", ("im0.pgm", "im1.pgm", "disp0.pgm", "disp1.pgm")), *_TSUKUBA)},
    homepage=f"{_DATA}/scenes2001/",
)
MIDDLEBURY_2003 = DatasetFamily(
    id="middlebury-2003",
    name="Middlebury 2003",
    layout=(
        "teddy/ cones/ (quarter size; teddyH, conesH half, teddyF, conesF full size), each with im2, im6, disp2, disp6"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=_CVPR,
    obtain=f"`stereogauge datasets fetch middlebury-2003` or {_DATA}/scenes2003/.",
    scenes=_eight_bit_pairs(_SCENES_2003, ("teddy", "cones")),
    archives={"": _ARCHIVES_2003},
    homepage=f"{_DATA}/scenes2003/",
)

SIZES = {"FullSize": 1, "HalfSize": 2, "ThirdSize": 3}
FOCAL_LENGTH, BASELINE = 3740.0, 0.160
SCENES_2005 = ("Art", "Books", "Dolls", "Laundry", "Moebius", "Reindeer")
SCENES_2006 = (
    *("Aloe", "Baby1", "Baby2", "Baby3", "Bowling1", "Bowling2", "Cloth1", "Cloth2", "Cloth3", "Cloth4", "Flowerpots"),
    *("Lampshade1", "Lampshade2", "Midd1", "Midd2", "Monopoly", "Plastic", "Rocks1", "Rocks2", "Wood1", "Wood2"),
)


def _divisor(place: FoundScene) -> int:
    return SIZES[place.fields["variant"]]


def _cropped_camera(place: FoundScene) -> dict[str, Any]:
    """Calibration, metadata and resolution; without dmin.txt the offset is unknown, and so is metric depth."""
    divisor, path = _divisor(place), place.find("{scene}/dmin.txt")
    focal, metadata = FOCAL_LENGTH / divisor, dict[str, Any](scale=float(divisor))
    if path is None:
        calibration = Calibration(focal=focal)
        metadata["calibration"] = "dmin.txt is missing, so metric depth is unknown"
    else:
        offset = parsed(path, float, "one number, the disparity offset in pixels") / divisor
        calibration = calibration_of(path, focal=focal, baseline=BASELINE, doffs=offset)
    return {"calibration": calibration, "metadata": metadata, "resolution": 1.0 / divisor}


_SEVEN_VIEWS = SceneLayout(
    truth=DisparityFile("{scene}/disp1.*", encoding="middlebury"),
    truth_right=DisparityFile("{scene}/disp5.*", encoding="middlebury"),
    left="{scene}/view1.*",
    right="{scene}/view5.*",
    views={(number - 1) / 4: f"{{scene}}/view{number}.*" for number in (0, 2, 3, 4, 6)},
    decode=lambda file, place, calibration: replace(file, scale=_divisor(place)),
    details=_cropped_camera,
    needs=("gt", "left", "right"),
    pairs=True,
)


def _seven_view_family(year: str, scenes: tuple[str, ...]) -> DatasetFamily:
    name = f"middlebury-{year}"
    return DatasetFamily(
        id=name,
        name=f"Middlebury {year}",
        layout="FullSize/, HalfSize/ or ThirdSize/ with SCENE/{view1.png, view5.png, disp1.png, disp5.png, dmin.txt}",
        terms=MIDDLEBURY_TERMS,
        citation=(
            "D. Scharstein and C. Pal, Learning conditional random fields for stereo, CVPR 2007. "
            "H. Hirschmüller and D. Scharstein, Evaluation of cost functions for stereo matching, CVPR 2007."
        ),
        obtain=f"`stereogauge datasets fetch {name}:HalfSize` or {_DATA}/scenes{year}/.",
        scenes=SceneFolders(_SEVEN_VIEWS, roots=("{variant}", "")),
        any_variant=True,
        variants={size: f"disparities in pixels = value / {divisor}" for size, divisor in SIZES.items()},
        archives={
            size: tuple(
                Archive(f"{_DATA}/scenes{year}/{size}/zip-2views/{scene}-2views.zip", target=size) for scene in scenes
            )
            for size in ("HalfSize", "ThirdSize", "FullSize")
        },
        homepage=f"{_DATA}/scenes{year}/",
    )


MIDDLEBURY_2005 = _seven_view_family("2005", SCENES_2005)
MIDDLEBURY_2006 = _seven_view_family("2006", SCENES_2006)


TRAINING_ORDER = (
    *("Adirondack", "ArtL", "Jadeplant", "Motorcycle", "MotorcycleE", "Piano", "PianoL", "Pipes", "Playroom"),
    *("Playtable", "PlaytableP", "Recycle", "Shelves", "Teddy", "Vintage"),
)
SCENES_2014 = (
    *("Adirondack", "Backpack", "Bicycle1", "Cable", "Classroom1", "Couch", "Flowers", "Jadeplant", "Mask"),
    *("Motorcycle", "Piano", "Pipes", "Playroom", "Playtable", "Recycle", "Shelves", "Shopvac", "Sticks"),
    *("Storage", "Sword1", "Sword2", "Umbrella", "Vintage"),
)
_FOLDER = "{folder}"


def _calibration(place: FoundScene) -> Calibration:
    """The scene's calib.txt, which must be for images of this size."""
    path, left = place.find(f"{_FOLDER}/calib.txt"), place.find(f"{_FOLDER}/im0.png")
    return Calibration() if path is None or left is None else read_middlebury_calibration(path, png_size(left))


def _calibrated_pair(
    truth: str, truth_right: str, *, right: str = "im1.png", folders: tuple[str, ...] = ("",)
) -> SceneLayout:
    """Pairs with ground truth of these names, beside the images or in folders of the same name below `folders`."""
    places = [f"{folder}{_FOLDER}" for folder in folders]

    def mask(value: int) -> tuple[MaskFile, ...]:
        return tuple(MaskFile(f"{place}/mask0nocc.png", value=value) for place in places)

    return SceneLayout(
        each=(f"{_FOLDER}/im0.png", f"{_FOLDER}/{right}"),
        id="{scene}",
        truth=tuple(DisparityFile(f"{place}/{truth}", encoding="pfm") for place in places),
        truth_right=DisparityFile(f"{_FOLDER}/{truth_right}", encoding="pfm") if truth_right else (),
        left=f"{_FOLDER}/im0.png",
        right=f"{_FOLDER}/{right}",
        masks={"nonocc": mask(255), "occluded": mask(128)},
        calibration=_calibration,
        derive=lambda place: {"scene": place.fields["folder"].removesuffix("-perfect")},
        needs=("left", "right"),
        pairs=lambda place: place.fields["variant"] not in ("E", "L"),  # few scenes have other light
    )


MIDDLEBURY_V3 = DatasetFamily(
    id="middlebury-v3",
    name="Middlebury evaluation, version 3",
    layout=(
        "trainingQ/, trainingH/ or trainingF/ (also below MiddEval3/) with SCENE/{im0.png, im1.png, disp0GT.pfm, "
        "mask0nocc.png, calib.txt} and optionally disp1GT.pfm"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=MIDDLEBURY_PAPER,
    obtain=f"`stereogauge datasets fetch middlebury-v3:Q` or {_SITE}/submit3/.",
    scenes=SceneFolders(
        replace(
            _calibrated_pair("disp0GT.pfm", "disp1GT.pfm"),
            details=lambda place: {"resolution": MIDDLEBURY_RESOLUTIONS[place.fields["variant"]]},
        ),
        roots=("{split}{variant}", "MiddEval3/{split}{variant}", "../{split}{variant}"),
        choices={"split": ("training", "test")},
        order=TRAINING_ORDER,
    ),
    any_variant=True,
    variants={"Q": "quarter size", "H": "half size", "F": "full size"},
    options={"split": "training (default) or test, which has no ground truth"},
    archives={
        letter: tuple(Archive(f"{_SITE}/submit3/zip/MiddEval3-{part}-{letter}.zip") for part in ("data", "GT0", "GT1"))
        for letter in MIDDLEBURY_RESOLUTIONS
    },
    homepage=f"{_SITE}/eval3/",
    threshold=2.0,
)

_PERFECT_PAIRS = SceneFolders(
    replace(_calibrated_pair("disp0.pfm", "disp1.pfm", right="im1{variant}.png"), needs=("gt", "left", "right")),
    roots=("", "data", "datasets"),
)
MIDDLEBURY_2014 = DatasetFamily(
    id="middlebury-2014",
    name="Middlebury 2014",
    layout="SCENE/ or SCENE-perfect/ with im0.png, im1.png (im1E.png, im1L.png), disp0.pfm, disp1.pfm, calib.txt",
    terms=MIDDLEBURY_TERMS,
    citation=MIDDLEBURY_PAPER,
    obtain=f"`stereogauge datasets fetch middlebury-2014` or {_DATA}/scenes2014/.",
    scenes=_PERFECT_PAIRS,
    variants={"E": "right image with other exposure", "L": "right image with other lighting"},
    archives={"": tuple(Archive(f"{_DATA}/scenes2014/zip/{scene}-perfect.zip") for scene in SCENES_2014)},
    homepage=f"{_DATA}/scenes2014/",
    threshold=2.0,
)
MIDDLEBURY_2021 = DatasetFamily(
    id="middlebury-2021",
    name="Middlebury 2021 mobile",
    layout="SCENE/ (also below data/) with im0.png, im1.png, disp0.pfm, disp1.pfm, calib.txt",
    terms=MIDDLEBURY_TERMS,
    citation=(
        "G. Pan, T. Sun, T. Weed and D. Scharstein, 2021 Mobile stereo datasets with ground truth, Middlebury College."
    ),
    obtain=f"`stereogauge datasets fetch middlebury-2021` or {_DATA}/scenes2021/.",
    scenes=_PERFECT_PAIRS,
    archives={"": (Archive(f"{_DATA}/scenes2021/zip/all.zip"),)},
    homepage=f"{_DATA}/scenes2021/",
    threshold=2.0,
)
_ETH3D_PAIR = replace(
    _calibrated_pair("disp0GT.pfm", "", folders=("", "two_view_training_gt/", "../two_view_training_gt/")),
    needs=("gt", "left", "right"),
)
ETH3D = DatasetFamily(
    id="eth3d",
    name="ETH3D low-resolution two-view",
    layout=(
        "SCENE/{im0.png, im1.png, calib.txt, disp0GT.pfm, mask0nocc.png}, as unpacked into two_view_training/ and "
        "two_view_training_gt/ or all in one"
    ),
    terms="Creative Commons BY-NC-SA 4.0.",
    citation=(
        "T. Schöps, J. L. Schönberger, S. Galliani, T. Sattler, K. Schindler, M. Pollefeys and A. Geiger, A multi-view "
        "stereo benchmark with high-resolution images and multi-camera videos, CVPR 2017."
    ),
    obtain=(
        "download https://www.eth3d.net/data/two_view_training.7z and two_view_training_gt.7z and unpack both with "
        "7-Zip into one folder (this program unpacks only zip and tar)."
    ),
    scenes=SceneFolders(
        (_ETH3D_PAIR, without_truth(_ETH3D_PAIR, f"{_FOLDER}/im0.png")),
        roots=("two_view_{split}", ""),
        choices={"split": ("training", "test")},
    ),
    options={"split": "training (default) or test, which has no ground truth"},
    homepage="https://www.eth3d.net/datasets#low-res-two-view",
    ndisp=64,
)
