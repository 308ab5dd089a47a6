"""Calibration files: Middlebury's `calib.txt` (also ETH3D's) and KITTI's projection matrices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from stereogauge.errors import FileError, StereogaugeError
from stereogauge.loading import Declaration, convert, entry, entry_types, number
from stereogauge.model import Calibration

LARGEST_FILE = 65_536
_MILLIMETRE = 1e-3


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FileError(
                f"{path} is not a calibration file: it has {path.stat().st_size} bytes, at most {LARGEST_FILE} "
                f"are expected."
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise FileError(f"{path} is not a calibration file: it is not text.") from None
    except OSError as error:
        raise FileError(f"The calibration file {path} cannot be read: {error.strerror}.") from None


def calibration_of(path: Path, **values: Any) -> Calibration:
    """The calibration with these values, which were read from a file; a refusal names it."""
    try:
        return Calibration(**values)
    except StereogaugeError as problem:
        raise FileError(f"{path}: {problem}") from None


Entry = number("entry of a matrix", least=-1e12, most=1e12)
Row = tuple[Annotated[float, Entry], Annotated[float, Entry], Annotated[float, Entry]]
Projection = Annotated[tuple[Annotated[float, Entry], ...], entry("3 × 4 projection matrix by rows")]


class MiddleburyCalibration(Declaration, frozen=True):
    """The entries of a `calib.txt` that are used; a file may have others."""

    cam0: Annotated[tuple[Row, Row, Row], entry("3 × 3 matrix [f 0 cx; 0 f cy; 0 0 1]")]
    baseline: Annotated[float, number("distance of the cameras", "mm", above=0, most=1e12)]
    doffs: Annotated[float, number("difference of the principal points", "px", least=-1e12, most=1e12)] = 0.0
    width: Annotated[float, number("width of the images", "px", least=-1e12, most=1e12)] = 0.0
    height: Annotated[float, number("height of the images", "px", least=-1e12, most=1e12)] = 0.0
    ndisp: Annotated[float, number("number of disparities", least=-1e12, most=1e12)] = 0.0


def _numbers(text: str) -> Any:
    """A number, a list of numbers, a matrix of them in brackets with rows between semicolons, or the text itself."""
    inside = re.fullmatch(r"\s*\[(.*)\]\s*", text)
    rows = [row.split() for row in inside[1].split(";")] if inside else [text.split()]
    try:
        values = [[float(number) for number in row] for row in rows]
    except ValueError:
        return text.strip()
    if inside:
        return values
    return values[0][0] if len(values[0]) == 1 else values[0]


def middlebury_values(path: Path) -> Mapping[str, str]:
    """The `key=value` lines of a `calib.txt`."""
    lines = [line for line in _text(path).splitlines() if line.strip()]
    pairs = [line.partition("=") for line in lines]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong or not pairs:
        raise FileError(
            f"{path} is not a Middlebury calib.txt: expected lines such as baseline=193.001, found "
            f"{(wrong or [''])[0][:40]!r}."
        )
    return {key.strip(): value for key, _, value in pairs}


def read_middlebury_calibration(path: Path, size: tuple[int, int] | None = None) -> Calibration:
    """Middlebury 2014's `calib.txt`: f and centre of cam0, doffs in px, baseline in millimetres (here: metres), ndisp.

    With `size` (width, height) the file's own width and height must agree with it: a calibration of another resolution
    would give wrong depths silently.
    """
    used = entry_types(MiddleburyCalibration)
    known = {key: _numbers(text) for key, text in middlebury_values(path).items() if key in used}
    stated: MiddleburyCalibration = convert(known, MiddleburyCalibration, str(path), FileError)
    if size is not None and stated.width and stated.height and (int(stated.width), int(stated.height)) != size:
        raise FileError(
            f"{path} is for images of {stated.width:g} × {stated.height:g} pixels, but the images have "
            f"{size[0]} × {size[1]}."
        )
    camera = stated.cam0
    if camera[0][0] <= 0:
        raise FileError(f"{path}: the focal length, the first entry of cam0, must be positive; found {camera[0][0]:g}.")
    return Calibration(
        focal=camera[0][0],
        baseline=stated.baseline * _MILLIMETRE,
        doffs=stated.doffs,
        ndisp=int(stated.ndisp) if stated.ndisp >= 1 else None,
        centre=(camera[0][2], camera[1][2]),
    )


def read_kitti_calibration(path: Path, cameras: tuple[int, int]) -> Calibration:
    """KITTI's projection matrices P (2012: `P0:`…, 2015: `P_rect_00:`…) of the left and right camera.

    f = P[0,0]; baseline = (P_left[0,3] − P_right[0,3]) / f in metres; doffs = cx_right − cx_left, which is 0 for
    rectified pairs.
    """
    lines = _kitti_lines(path)
    left, right = (_projection(path, lines, camera) for camera in cameras)
    focal = left[0]
    if focal <= 0 or right[0] != focal:
        raise FileError(
            f"{path}: the rectified cameras {cameras[0]} and {cameras[1]} should share one positive focal length, "
            f"found {focal:g} and {right[0]:g}."
        )
    baseline = (left[3] - right[3]) / focal
    if baseline <= 0:
        raise FileError(
            f"{path}: camera {cameras[1]} should lie right of camera {cameras[0]}, but the baseline is {baseline:g} m."
        )
    return Calibration(focal=focal, baseline=baseline, doffs=right[2] - left[2], centre=(left[2], left[6]))


def kitti_vector(path: Path, key: str) -> tuple[float, ...]:
    """The numbers of the line `key` of a file in KITTI's form; none where there is no such line."""
    lines = _kitti_lines(path)
    if key not in lines:
        return ()
    values: tuple[float, ...] = convert(_numbers(lines[key]), Projection, str(path), FileError, key)
    return values


def _kitti_lines(path: Path) -> dict[str, str]:
    return dict(line.split(":", 1) for line in _text(path).splitlines() if ":" in line)


def _projection(path: Path, lines: Mapping[str, str], camera: int) -> tuple[float, ...]:
    keys = (f"P{camera}", f"P_rect_{camera:02d}")
    key = next((key for key in keys if key in lines), None)
    if key is None:
        raise FileError(
            f"{path} has neither {keys[0]} nor {keys[1]}; a KITTI calibration file holds one projection matrix per "
            f"camera."
        )
    matrix: tuple[float, ...] = convert(_numbers(lines[key]), Projection, str(path), FileError, key)
    if len(matrix) != 12:
        raise FileError(f"{path}: {key} must be the 12 numbers of a 3 × 4 matrix; found {len(matrix)}.")
    return matrix
