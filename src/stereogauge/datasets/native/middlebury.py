"""Middlebury's 8-bit sets: the pairs of 2001 and 2003, the version 2 evaluation on four of them, and the views of 2005
and 2006.

Ground truth is d = value / scale, 0 = unknown. The scale of a pair belongs to its scene; that of 2005 and 2006 is 1, 2,
3 in full, half and third size. For 2005 and 2006 f = 3740 px at full size and a baseline of 160 mm are published; the
images are cropped, and `dmin.txt` holds the pixels (of full size) to add to a disparity for depth.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from stereogauge.datasets.calibration import calibration_of
from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import MIDDLEBURY_TERMS
from stereogauge.datasets.scene_layout import FoundScene, SceneFolders, SceneLayout
from stereogauge.errors import FileError
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
_SITE = "https://vision.middlebury.edu/stereo/data"
_IJCV = (
    "D. Scharstein and R. Szeliski, A taxonomy and evaluation of dense two-frame stereo correspondence algorithms, "
    "IJCV 47(1/2/3):7-42, 2002."
)
_CVPR = "D. Scharstein and R. Szeliski, High-accuracy stereo depth maps using structured light, CVPR 2003."


def _name(place: FoundScene) -> str:
    return place.fields["scene"].lower()


def _pair_details(place: FoundScene) -> dict[str, Any]:
    scale = SCALES[_name(place)]
    return {
        "calibration": Calibration(ndisp=DISPARITIES.get(_name(place))),
        "resolution": 1.0 / scale if _name(place) in _SCENES_2003 else None,
        "border": BORDERS.get(_name(place), 0),
        "metadata": {"scale": scale},
    }


def _pairs(allowed: Collection[str], order: tuple[str, ...] = ()) -> SceneFolders:
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
            decode=lambda file, place, calibration: replace(file, scale=SCALES[_name(place)]),
            derive=lambda place: {} if _name(place) in allowed else None,
            details=_pair_details,
            needs=("gt", "left", "right"),
        )
        for left, right, truth, other in FILE_NAMES
    ]
    return SceneFolders(tuple(layouts), roots=("", ".."), order=order)


def _files(scene: str, names: Iterable[str]) -> tuple[Archive, ...]:
    return tuple(
        Archive(f"{_SITE}/scenes2001/data/{scene}/{name}", target=f"{scene}/{name}", unpack=False) for name in names
    )


_PLANAR = ("im2.ppm", "im6.ppm", "disp2.pgm", "disp6.pgm")
_PLANAR_SCENES = tuple(
    file for scene in ("barn1", "barn2", "bull", "poster", "sawtooth", "venus") for file in _files(scene, _PLANAR)
)
_TSUKUBA = _files("tsukuba", ("scene1.row3.col3.ppm", "scene1.row3.col4.ppm", "truedisp.row3.col3.pgm"))
_ARCHIVES_2003 = tuple(Archive(f"{_SITE}/scenes2003/newdata/{scene}/{scene}-png-2.zip") for scene in ("teddy", "cones"))

MIDDLEBURY_V2 = DatasetFamily(
    id="middlebury-v2",
    name="Middlebury evaluation, version 2",
    layout=(
        "tsukuba/ venus/ teddy/ cones/, each with im2, im6 (tsukuba: im3, im4), groundtruth.png or disp2, optionally "
        "disp6 and the official masks nonocc.png all.png disc.png, in which only the value 255 counts"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=f"{_IJCV} {_CVPR} Tsukuba: courtesy of the University of Tsukuba.",
    obtain=f"`stereogauge datasets fetch middlebury-v2` or the pages {_SITE}/scenes2001/ and {_SITE}/scenes2003/.",
    scenes=_pairs(EVALUATION_ORDER, EVALUATION_ORDER),
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
    obtain=f"`stereogauge datasets fetch middlebury-2001` or {_SITE}/scenes2001/.",
    scenes=_pairs(SCALES.keys() - _SCENES_2003),
    archives={"": (*_PLANAR_SCENES, *_files("map", ("im0.pgm", "im1.pgm", "disp0.pgm", "disp1.pgm")), *_TSUKUBA)},
    homepage=f"{_SITE}/scenes2001/",
)
MIDDLEBURY_2003 = DatasetFamily(
    id="middlebury-2003",
    name="Middlebury 2003",
    layout=(
        "teddy/ cones/ (quarter size; teddyH, conesH half, teddyF, conesF full size), each with im2, im6, disp2, disp6"
    ),
    terms=MIDDLEBURY_TERMS,
    citation=_CVPR,
    obtain=f"`stereogauge datasets fetch middlebury-2003` or {_SITE}/scenes2003/.",
    scenes=_pairs(_SCENES_2003, ("teddy", "cones")),
    archives={"": _ARCHIVES_2003},
    homepage=f"{_SITE}/scenes2003/",
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
    """Calibration and metadata; without dmin.txt the offset is unknown, and so is metric depth."""
    divisor, path = _divisor(place), place.find("{scene}/dmin.txt")
    if path is None:
        reason = "dmin.txt is missing, so metric depth is unknown"
        return {
            "calibration": Calibration(focal=FOCAL_LENGTH / divisor),
            "metadata": {"scale": float(divisor), "calibration": reason},
        }
    text = path.read_text(encoding="utf-8", errors="replace").strip()
    try:
        offset = float(text) / divisor
    except ValueError:
        raise FileError(
            f"{path} should hold one number, the disparity offset in pixels; found {text[:40]!r}."
        ) from None
    camera = calibration_of(path, focal=FOCAL_LENGTH / divisor, baseline=BASELINE, doffs=offset)
    return {"calibration": camera, "metadata": {"scale": float(divisor)}}


_SEVEN_VIEWS = SceneLayout(
    truth=DisparityFile("{scene}/disp1.*", encoding="middlebury"),
    truth_right=DisparityFile("{scene}/disp5.*", encoding="middlebury"),
    left="{scene}/view1.*",
    right="{scene}/view5.*",
    views={(number - 1) / 4: f"{{scene}}/view{number}.*" for number in (0, 2, 3, 4, 6)},
    resolution=lambda place: 1.0 / _divisor(place),
    decode=lambda file, place, calibration: replace(file, scale=_divisor(place)),
    details=_cropped_camera,
    needs=("gt", "left", "right"),
)


def _views(year: str, scenes: tuple[str, ...]) -> DatasetFamily:
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
        obtain=f"`stereogauge datasets fetch {name}:HalfSize` or {_SITE}/scenes{year}/.",
        scenes=SceneFolders(_SEVEN_VIEWS, roots=("{variant}", "")),
        any_variant=True,
        names_default=True,
        variants={size: f"disparities in pixels = value / {divisor}" for size, divisor in SIZES.items()},
        archives={
            size: tuple(
                Archive(f"{_SITE}/scenes{year}/{size}/zip-2views/{scene}-2views.zip", target=size) for scene in scenes
            )
            for size in ("HalfSize", "ThirdSize", "FullSize")
        },
        homepage=f"{_SITE}/scenes{year}/",
    )


MIDDLEBURY_2005 = _views("2005", SCENES_2005)
MIDDLEBURY_2006 = _views("2006", SCENES_2006)
