"""Calibration files: Middlebury's `calib.txt` (also ETH3D's) and KITTI's projection matrices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from stereogauge.errors import FileError
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


def _number(path: Path, key: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise FileError(f"{path}: {key} should be a number, found {text.strip()[:40]!r}.") from None
    if not abs(value) < 1e12:
        raise FileError(f"{path}: {key} should be a finite number, found {text.strip()[:40]!r}.")
    return value


def _matrix(path: Path, key: str, text: str) -> list[list[float]]:
    match = re.fullmatch(r"\s*\[(.*)\]\s*", text)
    rows = [row.split() for row in match.group(1).split(";")] if match else []
    if len(rows) != 3 or any(len(row) != 3 for row in rows):
        raise FileError(
            f"{path}: {key} should be a 3 × 3 matrix such as [f 0 cx; 0 f cy; 0 0 1], found {text.strip()[:40]!r}."
        )
    return [[_number(path, key, entry) for entry in row] for row in rows]


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
    values = middlebury_values(path)
    missing = [key for key in ("cam0", "baseline") if key not in values]
    if missing:
        raise FileError(
            f"{path} has no {missing[0]}; a Middlebury calib.txt holds cam0, doffs, baseline, width, height, ndisp."
        )
    numbers = {
        key: _number(path, key, values[key])
        for key in ("doffs", "baseline", "width", "height", "ndisp")
        if key in values
    }
    stated = (int(numbers.get("width", 0)), int(numbers.get("height", 0)))
    if size is not None and all(stated) and stated != size:
        raise FileError(
            f"{path} is for images of {stated[0]} × {stated[1]} pixels, but the images have {size[0]} × {size[1]}."
        )
    camera = _matrix(path, "cam0", values["cam0"])
    focal = camera[0][0]
    if focal <= 0 or numbers["baseline"] <= 0:
        raise FileError(
            f"{path}: focal length and baseline must be positive, found {focal:g} and {numbers['baseline']:g}."
        )
    return Calibration(
        focal=focal,
        baseline=numbers["baseline"] * _MILLIMETRE,
        doffs=numbers.get("doffs", 0.0),
        ndisp=int(numbers["ndisp"]) if numbers.get("ndisp", 0) >= 1 else None,
        centre=(camera[0][2], camera[1][2]),
    )


def read_kitti_calibration(path: Path, cameras: tuple[int, int]) -> Calibration:
    """KITTI's projection matrices P (2012: `P0:`…, 2015: `P_rect_00:`…) of the left and right camera.

    f = P[0,0]; baseline = (P_left[0,3] − P_right[0,3]) / f in metres; doffs = cx_right − cx_left, which is 0 for
    rectified pairs.
    """
    lines = dict(line.split(":", 1) for line in _text(path).splitlines() if ":" in line)
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


def _projection(path: Path, lines: Mapping[str, str], camera: int) -> list[float]:
    keys = (f"P{camera}", f"P_rect_{camera:02d}")
    key = next((key for key in keys if key in lines), None)
    if key is None:
        raise FileError(
            f"{path} has neither {keys[0]} nor {keys[1]}; a KITTI calibration file holds one projection matrix a "
            f"camera."
        )
    entries = lines[key].split()
    if len(entries) != 12:
        raise FileError(f"{path}: {key} should hold the 12 numbers of a 3 × 4 matrix, found {len(entries)}.")
    return [_number(path, key, entry) for entry in entries]
