"""Folders in which every ground-truth file has images at places that follow from its own: what their families share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from stereogauge.datasets.layout import first_file, wrong_folder
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile
from stereogauge.model import Calibration, Dataset, Scene

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")


def image_at(path: Path) -> ImageFile | None:
    """The image of this name, whatever its suffix."""
    found = first_file(path.parent, *(path.name + suffix for suffix in SUFFIXES))
    return None if found is None else ImageFile(found)


def truth_at(path: Path, encoding: str, scale: float | None = None) -> DisparityFile | None:
    """The map in this file, where there is one."""
    return DisparityFile(path, encoding=encoding, scale=scale) if path.is_file() else None


def scene_of(
    name: str,
    dataset: str,
    truth: DisparityFile,
    left: Path,
    right: Path,
    *,
    truth_right: DisparityFile | None = None,
    calibration: Calibration | None = None,
    masks: Mapping[str, MaskFile] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Scene:
    """One scene; `left` and `right` are the images without their suffix."""
    return Scene(
        name,
        gt=truth,
        gt_right=truth_right,
        left=image_at(left),
        right=image_at(right),
        calibration=calibration,
        masks=masks,
        dataset=dataset,
        metadata=metadata,
    )


def dataset_of(
    name: str, root: Path, truths: Iterable[Path], make: Callable[[Path], Scene], wanted: str, version: str = ""
) -> Dataset:
    """The scenes of all ground-truth files, or the error that says what was looked for."""
    scenes = [make(path) for path in sorted(truths)]
    if not scenes:
        raise wrong_folder(name, root, wanted)
    return Dataset(name, scenes, version=version, root=root)


def joined(path: Path, root: Path, *left_out: str) -> str:
    """A scene's id from the folders between `root` and a file, without those that say nothing."""
    return "-".join(part for part in path.relative_to(root).parts if part not in left_out)
