"""LayeredFlow: real scenes with glass and mirrors, ground truth at points on several layers."""

from __future__ import annotations

from pathlib import Path

from stereogauge.datasets.declaration import DatasetFamily
from stereogauge.datasets.layout import subfolders, wrong_folder
from stereogauge.io.files import ImageFile
from stereogauge.io.points import MATERIALS, PointsFile, PointsMask
from stereogauge.model import Dataset, Scene

TIMES = {"0": 0, "3": 2}
"""The names of the two times, and where the left image of each stands among the four of a scene."""
ANNOTATION = "gt.pickle"


def load(root: Path, variant: str) -> Dataset:
    """Both times of every scene that has ground truth; the variant is the layer."""
    layer = variant or "first"
    title = "layeredflow" if layer == "first" else f"layeredflow:{layer}"
    folders = [folder for place in (root, root / "val", root / "layeredflow" / "val") for folder in subfolders(place)]
    scenes = [scene for folder in sorted(folders, key=_number) for scene in _scenes(folder, layer, title)]
    if not scenes:
        raise wrong_folder(title, root, f"val/SCENE/ with {ANNOTATION}, 0_0.png, 0_1.png, 3_0.png and 3_1.png")
    return Dataset(title, scenes, version=layer, root=root)


def _number(folder: Path) -> tuple[int, str]:
    return (int(folder.name), "") if folder.name.isdecimal() else (-1, folder.name)


def _scenes(folder: Path, layer: str, dataset: str) -> list[Scene]:
    annotation = folder / ANNOTATION
    if not annotation.is_file():
        return []
    pairs = {time: (folder / f"{time}_0.png", folder / f"{time}_1.png") for time in TIMES}
    return [
        Scene(
            f"{folder.name}-{time}",
            gt=PointsFile(annotation, left, TIMES[time], layer),
            left=ImageFile(left),
            right=ImageFile(right),
            masks={
                f"label:{material}": PointsMask(annotation, left, TIMES[time], layer, material)
                for material in MATERIALS
            },
            dataset=dataset,
        )
        for time, (left, right) in pairs.items()
        if left.is_file() and right.is_file()
    ]


LAYEREDFLOW = DatasetFamily(
    id="layeredflow",
    name="LayeredFlow",
    layout="val/SCENE/ with gt.pickle, 0_0.png and 0_1.png (left, right), 3_0.png and 3_1.png (the same, later)",
    terms="The code is under the BSD licence; the page states no other terms for the data.",
    citation=(
        "H. Wen, E. Liang and J. Deng, LayeredFlow: a real-world benchmark for non-Lambertian multi-layer optical "
        "flow, ECCV 2024."
    ),
    obtain=(
        "download the benchmark from https://layeredflow.cs.princeton.edu or through the link in "
        "https://github.com/princeton-vl/LayeredFlow; its validation set has ground truth."
    ),
    load=load,
    variants={
        "first": "the surface seen first, glass included (default)",
        "second": "what is seen through one transparent surface",
        "third": "what is seen through two",
        "last": "the first surface that is not transparent, behind any number of others",
    },
    homepage="https://layeredflow.cs.princeton.edu",
)
