"""Calibration files in common formats, recognised by their content.

Middlebury's `calib.txt` (also ETH3D's), KITTI's projection matrices, OpenCV's YAML, XML and JSON (`cv2.FileStorage`),
ROS `camera_info`, Kalibr's camchain, and JSON or YAML with plain numbers. Rectified cameras share f; the left one is
the reference, and P_right[0, 3] = −f·B.
"""

from __future__ import annotations

import configparser
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.errors import FileError, MissingDependency, StereogaugeError, one_line
from stereogauge.loading import Declaration, convert, entry, entry_types, number
from stereogauge.model import Calibration

T = TypeVar("T")
LARGEST_FILE, LARGEST_TEXT = 65_536, 1 << 20
MILLIMETRE = 1e-3
OFFSET_ERROR = 1.0
"""Pixels by which doffs may differ from the difference of the principal points."""
EXAMPLE = (
    'JSON with numbers such as {"focal": 994.978, "baseline": 0.193, "doffs": 31.1, "width": 741, "height": 500} '
    "(px, metres)"
)
FORMS = (
    "Middlebury's calib.txt, KITTI's P matrices, OpenCV's YAML or XML, ROS camera_info, Kalibr's camchain, or "
    f"{EXAMPLE}"
)
SAME_FOCAL, PARALLEL = 0.01, math.radians(1.0)
"""How far the focal lengths and the directions of cameras may differ that are taken as rectified."""
SIDES = (("left", "right"), ("Left", "Right"), ("cam0", "cam1"), ("camera0", "camera1"), ("_l", "_r"), ("0", "1"))
PROJECTIONS = (("p1", "p2"), ("p_left", "p_right"), ("left_p", "right_p"), ("projection_left", "projection_right"))
INTRINSICS = ("k", "camera_matrix", "cameramatrix", "m1", "intrinsic_matrix")
FOCAL, BASELINE = ("focal", "focal_length", "focallength", "f", "fx"), ("baseline", "b", "base_line")
OFFSET, WIDTH, HEIGHT = ("doffs", "disparity_offset"), ("width", "image_width"), ("height", "image_height")
SIZE = ("resolution", "imagesize", "image_size", "size")

Table = Mapping[str, Any]
"""Entries by name, in lower case."""


class _Camera(NamedTuple):
    """One camera: focal length and principal point in px, f·Tx of its projection matrix, and the size of its images."""

    focal: float
    centre: tuple[float, float]
    shift: float = 0.0
    size: tuple[int, int] | None = None

    @classmethod
    def of(cls, matrix: NDArray[np.float64], size: tuple[int, int] | None = None) -> _Camera:
        """The camera of a matrix of 3 × 3 or 3 × 4 numbers."""
        shift = float(matrix[0, 3]) if matrix.shape[1] == 4 else 0.0
        return cls(float(matrix[0, 0]), (float(matrix[0, 2]), float(matrix[1, 2])), shift, size)


def parsed(path: Path, read: Callable[[str], T], wanted: str) -> T:
    """What `read` makes of the text of a small file of a dataset; `wanted` says in errors what the file should hold."""
    text = calibration_text(path, LARGEST_TEXT)
    try:
        return read(text)
    except (LookupError, TypeError, ValueError, ArithmeticError, SyntaxError, configparser.Error):
        raise FileError(f"{path} should hold {wanted}.") from None


def calibration_text(path: Path, largest: int = LARGEST_FILE) -> str:
    """The text of a calibration file, which is small."""
    try:
        if path.stat().st_size > largest:
            raise FileError(
                f"{path} is not a calibration file: it has {path.stat().st_size} bytes, at most {largest} are expected."
            )
        return path.read_text(encoding="utf-8-sig")
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


def calibration_of_pair(path: Path, left: _Camera, right: _Camera, baseline: float | None = None) -> Calibration:
    """The calibration of two rectified cameras; the baseline is that of their projections unless it is given."""
    if not left.focal > 0 or abs(left.focal - right.focal) > SAME_FOCAL * left.focal:
        raise FileError(
            f"{path}: rectified cameras share one positive focal length, found {left.focal:g} and {right.focal:g} px; "
            "give the projection matrices after rectification."
        )
    found = (left.shift - right.shift) / left.focal if baseline is None else baseline
    if not found > 0:
        raise FileError(f"{path}: the second camera should lie right of the first, but the baseline is {found:g} m.")
    values = {"focal": left.focal, "baseline": found, "doffs": right.centre[0] - left.centre[0], "centre": left.centre}
    return calibration_of(path, **values, size=left.size or right.size)


def read_calibration(path: Path, cameras: tuple[int, int] = (0, 1)) -> Calibration:
    """The calibration of a file of any of the known forms; `cameras` are those of a KITTI file."""
    text = calibration_text(path)
    if re.search(r"^P\w*\d:\s*[-+.\d]", text, re.MULTILINE):
        return read_kitti_calibration(path, cameras)
    if re.search(r"^\s*cam0\s*=", text, re.MULTILINE):
        return read_middlebury_calibration(path)
    tables, forms = read_tables(path), (_of_projections, _of_reprojection, _of_chain, _of_infos, _of_numbers)
    try:
        for read, table in itertools.product(forms, tables):
            if (found := read(path, table)) is not None:
                return found
    except (TypeError, ValueError, OverflowError) as problem:  # text or a table in the place of a number
        raise FileError(f"{path} has an entry of another kind than a calibration ({one_line(problem)}).") from None
    if any(_matrix(one.get("r"), 3, 3) is not None and _matrix(one.get("t"), 3, 1) is not None for one in tables):
        raise FileError(
            f"{path} holds two cameras before rectification, with the rotation R and the translation T between them, "
            "as cv2.stereoCalibrate gives them; disparities belong to the rectified pair: write P1 and P2, or Q, of "
            "cv2.stereoRectify into the file, with its sizes in pixels of the rectified images."
        )
    raise FileError(f"{path} holds no calibration of a rectified pair that is known; known are {FORMS}.")


Entry = number("entry of a matrix", least=-1e12, most=1e12)
Row = tuple[Annotated[float, Entry], Annotated[float, Entry], Annotated[float, Entry]]
Projection = Annotated[tuple[Annotated[float, Entry], ...], entry("3 × 4 projection matrix by rows")]


class MiddleburyCalibration(Declaration, frozen=True):
    """The entries of a `calib.txt` that are used; a file may have others."""

    cam0: Annotated[tuple[Row, Row, Row], entry("3 × 3 matrix [f 0 cx; 0 f cy; 0 0 1]")]
    baseline: Annotated[float, number("distance of the cameras", "mm", above=0, most=1e12)]
    cam1: Annotated[tuple[Row, Row, Row], entry("the matrix of the right camera")] | None = None
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


def read_middlebury_calibration(path: Path, size: tuple[int, int] | None = None) -> Calibration:
    """Middlebury 2014's `calib.txt`: f and centre of cam0, doffs in px, baseline in millimetres (here: metres), ndisp.

    An ndisp that is not smaller than the width of the images, as ETH3D states it, is not a search range. With `size`
    (width, height) the file's own width and height must agree with it: a calibration of another resolution would give
    wrong depths silently.
    """
    pairs = [line.partition("=") for line in calibration_text(path).splitlines() if line.strip()]
    wrong = [key for key, equals, _ in pairs if not equals]
    if wrong or not pairs:
        raise FileError(
            f"{path} is not a Middlebury calib.txt: expected lines such as baseline=193.001, found "
            f"{(wrong or [''])[0][:40]!r}."
        )
    used = entry_types(MiddleburyCalibration)
    known = {key.strip(): _numbers(text) for key, _, text in pairs if key.strip() in used}
    stated: MiddleburyCalibration = convert(known, MiddleburyCalibration, str(path), FileError)
    if size is not None and stated.width and stated.height and (int(stated.width), int(stated.height)) != size:
        raise FileError(
            f"{path} is for images of {stated.width:g} × {stated.height:g} pixels, but the images have "
            f"{size[0]} × {size[1]}."
        )
    (focal, _, x), (_, _, y), _ = stated.cam0
    offset = stated.doffs if stated.cam1 is None else stated.cam1[0][2] - x
    if abs(stated.doffs - offset) > max(OFFSET_ERROR, 0.02 * abs(offset)):
        raise FileError(
            f"{path}: doffs is cx of cam1 − cx of cam0, here {offset:.6g} px; found {stated.doffs:g}: is its sign "
            "reversed?"
        )
    if focal <= 0:
        raise FileError(f"{path}: the focal length, the first entry of cam0, must be positive; found {focal:g}.")
    width = size[0] if size is not None else stated.width or math.inf
    return Calibration(
        focal=focal,
        baseline=stated.baseline * MILLIMETRE,
        doffs=stated.doffs,
        ndisp=int(stated.ndisp) if 1 <= stated.ndisp < width else None,
        centre=(x, y),
        size=(int(stated.width), int(stated.height)) if stated.width >= 1 and stated.height >= 1 else None,
    )


def read_kitti_calibration(path: Path, cameras: tuple[int, int]) -> Calibration:
    """KITTI's projection matrices P (2012: `P0:`…, 2015: `P_rect_00:`…) of the left and right camera.

    f = P[0,0]; baseline = (P_left[0,3] − P_right[0,3]) / f in metres; doffs = cx_right − cx_left, which is 0 for
    rectified pairs.
    """
    found = []
    for camera in cameras:
        keys = (f"P{camera}", f"P_rect_{camera:02d}")
        key, numbers = next(((key, row) for key in keys if (row := kitti_vector(path, key))), ("", ()))
        if not key:
            raise FileError(
                f"{path} has neither {keys[0]} nor {keys[1]}; a KITTI calibration file holds one projection matrix per "
                f"camera."
            )
        if len(numbers) != 12:
            raise FileError(f"{path}: {key} must be the 12 numbers of a 3 × 4 matrix; found {len(numbers)}.")
        found.append(_Camera.of(np.reshape(numbers, (3, 4))))
    return calibration_of_pair(path, found[0], found[1])


def kitti_vector(path: Path, key: str) -> tuple[float, ...]:
    """The numbers of the line `key` of a file in KITTI's form; none where there is no such line."""
    lines = dict(line.split(":", 1) for line in calibration_text(path).splitlines() if ":" in line)
    if key not in lines:
        return ()
    values: tuple[float, ...] = convert(_numbers(lines[key]), Projection, str(path), FileError, key)
    return values


def read_tables(path: Path) -> list[Table]:
    """The tables of a file: of OpenCV's storage, of JSON, or of each document of YAML."""
    text = calibration_text(path)
    try:
        if re.match(r"\s*(?:<\?xml|<opencv_storage|%YAML:)", text) or "opencv-matrix" in text:
            loaded = [_storage(path, text)]
        elif text.lstrip().startswith(("{", "[")):
            loaded = [json.loads(text)]
        else:
            loaded = _documents(path, text)
        return [_lower(one) for one in loaded if isinstance(one, Mapping)]
    except (ValueError, RecursionError) as problem:
        raise FileError(f"{path} cannot be read as JSON or YAML ({one_line(problem)}); known are {FORMS}.") from None


def _lower(value: Any) -> Any:
    """A table with its names, and those of the tables in it, in lower case."""
    return {str(name).lower(): _lower(inner) for name, inner in value.items()} if isinstance(value, Mapping) else value


def _documents(path: Path, text: str) -> list[Any]:
    """The documents of a YAML file."""
    try:
        import yaml
    except ImportError:
        raise MissingDependency("pyyaml", "io", f"{path}: a YAML file") from None
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        raise FileError(f"{path} is no calibration that is known; known are {FORMS}.") from None


def _storage(path: Path, text: str) -> Any:
    """The entries of OpenCV's own storage: matrices and numbers by name."""
    import cv2

    try:
        storage = cv2.FileStorage(text, cv2.FILE_STORAGE_READ | cv2.FILE_STORAGE_MEMORY)
        root = storage.root()
        return {name: value for name in root.keys() if (value := _entry(root.getNode(name))) is not None}  # noqa: SIM118
    except (cv2.error, SystemError) as problem:
        raise FileError(f"{path} cannot be read by OpenCV's FileStorage ({problem}).") from None


def _entry(node: Any) -> Any:
    if node.isReal() or node.isInt():
        return node.real()
    if node.isMap():
        matrix = node.mat()
        return None if matrix is None else matrix.tolist()
    return [node.at(place).real() for place in range(node.size())] if node.isSeq() else None


def stored_matrices(path: Path, **shapes: tuple[int, int]) -> list[NDArray[np.float64]]:
    """The matrices of these names and shapes in a file as OpenCV stores them."""
    table: Table = next(iter(read_tables(path)), {})
    found = [_matrix(table.get(name.lower()), *shape) for name, shape in shapes.items()]
    known = [matrix for matrix in found if matrix is not None and matrix.any()]
    if len(known) < len(shapes):
        raise FileError(f"{path} is not a calibration with {' and '.join(shapes)} as OpenCV stores them.")
    return known


def read_stored_projections(path: Path) -> Calibration:
    """The projection matrices P1 and P2 of a rectified pair as OpenCV stores them, in pixels and millimetres."""
    left, right = (_Camera.of(matrix) for matrix in stored_matrices(path, P1=(3, 4), P2=(3, 4)))
    found = calibration_of_pair(path, left, right)
    return replace(found, baseline=(found.baseline or 0.0) * MILLIMETRE)


def _first(read: Callable[[Table], T | None], tables: Iterable[Table]) -> T | None:
    """What the first table that `read` can use says."""
    return next((found for one in tables if (found := read(one)) is not None), None)


def _with_inner(table: Table) -> list[Table]:
    """A table and the tables in it."""
    return [table, *(inner for inner in table.values() if isinstance(inner, Mapping))]


def _matrix(value: Any, rows: int, columns: int) -> NDArray[np.float64] | None:
    """A matrix given as rows, as a list of its numbers, or as ROS and OpenCV write it, with `data`."""
    data = value.get("data") if isinstance(value, Mapping) else value
    try:
        numbers = np.asarray(data, np.float64)
    except (TypeError, ValueError):
        return None
    return numbers.reshape(rows, columns) if numbers.size == rows * columns else None


def _number(table: Table, names: Sequence[str]) -> float | None:
    return next((float(table[name]) for name in names if isinstance(table.get(name), int | float)), None)


def _size(table: Table) -> tuple[int, int] | None:
    """(width, height) where a table says it."""
    found = next(filter(None, map(table.get, SIZE)), None)
    if isinstance(found, Sequence) and len(found) == 2:
        return int(found[0]), int(found[1])
    width, height = (_number(table, names) for names in (WIDTH, HEIGHT))
    return None if not width or not height else (int(width), int(height))


def _projection(table: Table, name: str) -> _Camera | None:
    matrix = _matrix(table.get(name), 3, 4)
    return None if matrix is None or not matrix[0, 0] > 0 else _Camera.of(matrix, _size(table))


def _of_projections(path: Path, table: Table) -> Calibration | None:
    """P1 and P2 of OpenCV's `stereoRectify`, under any of their usual names."""
    for names in PROJECTIONS:
        left, right = (_projection(table, name) for name in names)
        if left is not None and right is not None:
            return calibration_of_pair(path, left, right)
    return None


def _of_reprojection(path: Path, table: Table) -> Calibration | None:
    """Q of OpenCV: Z = f / (Q32·d + Q33), so that B = 1/|Q32| and doffs = Q33/Q32."""
    matrix = _matrix(table.get("q"), 4, 4)
    if matrix is None or not (matrix[2, 3] > 0 and matrix[3, 2] != 0):
        return None
    values = {"focal": float(matrix[2, 3]), "baseline": float(1 / abs(matrix[3, 2]))}
    centre = (-float(matrix[0, 3]), -float(matrix[1, 3]))
    doffs = float(matrix[3, 3] / matrix[3, 2]) + 0.0
    return calibration_of(path, **values, doffs=doffs, centre=centre, size=_size(table))


def _of_chain(path: Path, table: Table) -> Calibration | None:
    """Kalibr's camchain: intrinsics [fx, fy, cx, cy] of cam0 and cam1, and the pose T_cn_cnm1 of cam1."""
    cameras = [one for name in ("cam0", "cam1") if isinstance(one := table.get(name), Mapping)]
    if len(cameras) < 2 or not all(len(one.get("intrinsics") or ()) >= 4 for one in cameras):
        return None
    pose = _matrix(cameras[1].get("t_cn_cnm1"), 4, 4)
    if pose is None:
        raise FileError(f"{path}: cam1 has no T_cn_cnm1, the pose of the second camera.")
    turned = math.acos(min(1.0, max(-1.0, (float(np.trace(pose[:3, :3])) - 1) / 2)))
    if turned > PARALLEL:
        raise FileError(
            f"{path}: the cameras are turned against each other by {math.degrees(turned):.2g}°; disparities belong to "
            "rectified cameras. Give the projection matrices after rectification."
        )
    numbers = [[float(number) for number in one["intrinsics"][-4:]] for one in cameras]
    left, right = (_Camera(f, (x, y), 0.0, _size(one)) for one, (f, _, x, y) in zip(cameras, numbers, strict=True))
    return calibration_of_pair(path, left, right, float(-pose[0, 3]))


def _of_infos(path: Path, table: Table) -> Calibration | None:
    """Both `camera_info` of ROS, as the calibrator writes it or as a message is printed: in one file, or in two whose
    names differ in left and right.
    """
    found = _infos(path)
    if not found:
        return None
    if len(found) == 1:
        swapped = (path.name.replace(*names) for pair in SIDES for names in (pair, pair[::-1]))
        beside = (path.with_name(name) for name in swapped if name != path.name)
        other = next((one for one in beside if one.is_file()), None)
        if other is None:
            raise FileError(
                f"{path} holds one camera; a pair needs both: put the other one beside it, with right instead of left "
                "in its name."
            )
        found += _infos(other)
    left, right = sorted((found * 2)[:2], key=lambda camera: -camera.shift)
    return calibration_of_pair(path, left, right)


def _infos(path: Path) -> list[_Camera]:
    """The cameras of all tables of a file, and of the tables in these."""
    inner = itertools.chain.from_iterable(map(_with_inner, read_tables(path)))
    cameras = (_projection(one, "projection_matrix" if "projection_matrix" in one else "p") for one in inner)
    return [camera for camera in cameras if camera is not None]


def _of_numbers(path: Path, table: Table) -> Calibration | None:
    """Plain numbers by name, at the top or in tables such as `left` and `intrinsics`."""
    parts = _with_inner(table)
    camera, baseline = _first(_intrinsics, parts), _first(lambda one: _number(one, BASELINE), parts)
    if camera is None or baseline is None:
        return None
    right = table.get("right")
    other = _intrinsics(right) if isinstance(right, Mapping) else None
    doffs = _first(lambda one: _number(one, OFFSET), parts)
    if doffs is None and other is not None:
        doffs = other.centre[0] - camera.centre[0]
    return calibration_of(
        path,
        focal=camera.focal,
        baseline=baseline,
        doffs=0.0 if doffs is None or math.isnan(doffs) else doffs,
        centre=None if math.isnan(camera.centre[0]) else camera.centre,
        size=_first(_size, parts),
    )


def _intrinsics(table: Table) -> _Camera | None:
    """A camera of a table with K, with fx, cx and cy, or with a focal length alone."""
    for name in INTRINSICS:
        matrix = _matrix(table.get(name), 3, 3)
        if matrix is not None and matrix[0, 0] > 0:
            return _Camera.of(matrix)
    focal = _number(table, FOCAL)
    x, y = _number(table, ("cx",)), _number(table, ("cy",))
    return None if focal is None else _Camera(focal, (math.nan if x is None else x, math.nan if y is None else y))
