"""MPI Sintel stereo: film frames with dense ground truth in 24-bit PNG.

Pixels that leave the right frame are not evaluated by the benchmark, so their ground truth counts as unknown. The
baseline is 10 cm; focal lengths are not part of the stereo archive.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np

from stereogauge.datasets.declaration import Archive, DatasetFamily
from stereogauge.datasets.layout import first_file, png_size, subfolders, wrong_folder
from stereogauge.errors import FileError
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Dataset, Mask, Scene

BASELINE = 0.10
PASSES = ("final", "clean")


def _frame(training: Path, sequence: str, name: str, rendering: str, dataset: str) -> Scene:
    def at(folder: str) -> Path | None:
        return first_file(training / folder / sequence, name)

    truth, outside, hidden = training / "disparities" / sequence / name, at("outofframe"), at("occlusions")
    left, right = at(f"{rendering}_left"), at(f"{rendering}_right")
    return Scene(
        f"{sequence}-{Path(name).stem}",
        gt=DisparityFile(truth, encoding="sintel", masks=() if outside is None else (outside,)),
        left=None if left is None else ImageFile(left),
        right=None if right is None else ImageFile(right),
        calibration=Calibration(baseline=BASELINE),
        masks={} if hidden is None else {"nonocc": MaskFile(hidden, value=0)},
        dataset=dataset,
    )


def _sample(root: Path) -> Dataset | None:
    """OpenCV's one-frame excerpt: GT.png, left_view.png and the evaluation window ROI.xml as the mask `roi`."""
    truth, left = first_file(root, "GT.png"), first_file(root, "left_view.png")
    if truth is None or left is None:
        return None
    window, right = first_file(root, "ROI.xml"), first_file(root, "right_view.png")
    scene = Scene(
        "frame",
        gt=DisparityFile(truth, encoding="sintel"),
        left=ImageFile(left),
        right=None if right is None else ImageFile(right),
        masks={} if window is None else {"roi": _window_mask(window, png_size(truth))},
        dataset="sintel:sample",
    )
    return Dataset("sintel:sample", [scene], version="sample", root=root)


def _window_mask(path: Path, size: tuple[int, int]) -> Mask:
    try:
        tree = ElementTree.parse(path)  # no entity is expanded from outside: ElementTree does not fetch any
        x, y, width, height = (int(tree.findtext(key, "")) for key in ("x", "y", "width", "height"))
    except (ElementTree.ParseError, ValueError):
        raise FileError(f"{path} should hold the window as <x>, <y>, <width>, <height>.") from None
    mask = np.zeros((size[1], size[0]), dtype=bool)
    mask[max(y, 0) : max(y + height, 0), max(x, 0) : max(x + width, 0)] = True
    return mask


def load(root: Path, variant: str, **options: Any) -> Dataset:
    """All frames of all sequences, of the final pass unless the variant is `clean`."""
    rendering = variant or "final"
    title = f"sintel:{rendering}"
    for training in (root / "training", root):
        frames = [
            _frame(training, sequence.name, path.name, rendering, title)
            for sequence in subfolders(training / "disparities")
            for path in sorted(sequence.glob("*.png"))
        ]
        if frames:
            return Dataset(title, frames, version=rendering, root=root)
    sample = _sample(root)
    if sample is None:
        raise wrong_folder(
            "sintel",
            root,
            f"training/ with {rendering}_left/, {rendering}_right/, disparities/, occlusions/, outofframe/",
        )
    return sample


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
    load=load,
    variants={"final": "with motion blur and depth of field (default)", "clean": "without"},
    archives={"": (Archive("http://files.is.tue.mpg.de/jwulff/sintel/MPI-Sintel-stereo-training-20150305.zip"),)},
    homepage="http://sintel.is.tue.mpg.de/stereo",
)
