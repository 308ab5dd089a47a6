"""Reading and writing disparity maps, by the table of encodings: how a stored value becomes a disparity, which files
hold it, what reads and writes it.

Help texts, errors and the documentation read this table; a new encoding is one entry.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from stereogauge.disparity import Calibration, DisparityMap, as_disparity
from stereogauge.errors import FileError, StereogaugeError, check_one_size, unknown_name
from stereogauge.io import isolated, numpy_, pfm, png, tiff
from stereogauge.io.content import Decoding, FileContent, display_name, fetch, inner_suffix, suffix_of
from stereogauge.io.images import BY_PILLOW, PNG_SIGNATURE, decode_png, one_channel, read_pixels, read_png_header
from stereogauge.io.writing import write_bytes

PathLike = str | os.PathLike[str]
Reader: TypeAlias = Callable[[FileContent, Decoding], DisparityMap]
Writer: TypeAlias = Callable[[DisparityMap, Decoding, str], bytes | bytearray]


class Encoding(Struct, frozen=True):
    """One way to store a disparity map.

    `suffixes` are the file suffixes that always mean this encoding; `files` describes its files to the user.
    `takes_scale` is true if the caller may give a scale and an offset; `decodes` says that the reader applies them
    itself, because 0 means unknown among whole numbers.
    """

    id: str
    files: str
    description: str
    reader: Reader
    writer: Writer | None = None
    suffixes: tuple[str, ...] = ()
    takes_scale: bool = True
    decodes: bool = False


BEYOND_RANGE = 65535.0


def _read_inverse(content: FileContent, decoding: Decoding) -> DisparityMap:
    """Depth in a fixed unit: d = scale / v + offset, where scale = f·B in px times units per metre.

    A 16-bit PNG (0 = unknown, 65535 = beyond the range and unknown too) or a NumPy array (0, NaN, infinity = unknown).
    """
    if decoding.scale is None:
        raise content.error('encoding="inverse" needs the scale that is divided by the stored depth: f·B in its unit.')
    if decoding.scale < 0:
        raise content.error(f"the scale {decoding.scale:g} is not possible for depths; it must be positive.")
    if content.starts_with(PNG_SIGNATURE):
        stored = png.read_middlebury(content, Decoding(1.0, unknown=(*decoding.unknown, BEYOND_RANGE)))
    else:
        stored = Decoding(unknown=decoding.unknown).disparities(numpy_.read_npy(content, decoding))
    depth = np.where(stored > 0, stored.astype(np.float64), np.nan)
    return (decoding.scale / depth + decoding.offset).astype(np.float32)


ENCODINGS: dict[str, Encoding] = {
    encoding.id: encoding
    for encoding in (
        Encoding("pfm", ".pfm", "value; ±inf and NaN = unknown", pfm.read, pfm.encode, (".pfm",)),
        Encoding(
            "kitti",
            "16-bit grey PNG",
            "v / 256; 0 = unknown",
            png.read_kitti,
            png.encode_kitti,
            takes_scale=False,
            decodes=True,
        ),
        Encoding(
            "middlebury",
            "8-bit or 16-bit PNG or PGM with a scale",
            "v / scale + offset; 0 = unknown",
            png.read_middlebury,
            png.encode_middlebury,
            decodes=True,
        ),
        Encoding(
            "sintel",
            "8-bit RGB PNG",
            "4·R + G/64 + B/16384; unknown where a mask says so",
            png.read_sintel,
            takes_scale=False,
        ),
        Encoding("fsd", "8-bit RGB PNG", "(255²·R + 255·G + B) / 1000", png.read_fsd, takes_scale=False),
        Encoding(
            "inverse",
            "16-bit PNG or .npy that holds depth, with a scale",
            "scale / v + offset; 0 = unknown",
            _read_inverse,
            decodes=True,
        ),
        Encoding(
            "spring",
            "HDF5 .dsp5",
            "|value| of the dataset disparity; NaN = unknown",
            isolated.read_spring,
            None,
            (".dsp5",),
        ),
        Encoding("npy", ".npy", "value; NaN and ±inf = unknown", numpy_.read_npy, numpy_.encode_npy, (".npy",)),
        Encoding(
            "npz",
            ".npz",
            "value of the only array or of disparity; NaN and ±inf = unknown",
            numpy_.read_npz,
            None,
            (".npz",),
        ),
        Encoding(
            "tiff",
            ".tif .tiff (float, or integers with a scale)",
            "value; NaN, ±inf and the nodata tag = unknown",
            tiff.read,
            tiff.encode,
            (".tif", ".tiff"),
        ),
        Encoding(
            "exr",
            ".exr (float)",
            "value of the only channel; NaN and ±inf = unknown",
            isolated.read_exr,
            None,
            (".exr",),
        ),
        Encoding(
            "mat",
            ".mat",
            "value of the only matrix or of disparity; NaN and ±inf = unknown",
            isolated.read_matlab,
            None,
            (".mat",),
        ),
    )
}


def _read_depth(per_metre: float, content: FileContent, decoding: Decoding) -> DisparityMap:
    """Any of the other files, whose values are depths."""
    stored = replace(decoding, scale=decoding.scale or 1.0, offset=0.0)
    inner = encoding_of_content(content, stored)
    values = inner.reader(content, stored)
    metres = (values if inner.decodes else stored.disparities(values)) / np.float32(per_metre)
    calibration = decoding.calibration
    if calibration is None or calibration.focal_baseline is None:
        raise content.error(
            "depth becomes disparity by d = f·B / Z − doffs, and focal length and baseline are not both known here; "
            "give a calibration with both."
        )
    known = np.where(metres > 0, metres.astype(np.float64), np.nan)
    disparity = (calibration.focal_baseline / known - calibration.doffs).astype(np.float32)
    return disparity + np.float32(decoding.offset)


DEPTH_UNITS = {"depth-m": ("metres", 1.0), "depth-mm": ("millimetres", 1000.0)}
"""Encodings that hold depth, with their unit and how many of it make a metre."""
ENCODINGS |= {
    encoding: Encoding(
        encoding,
        "any of these files",
        f"depth in {name}, as d = f·B / Z − doffs; 0 = unknown",
        functools.partial(_read_depth, per_metre),
        decodes=True,
    )
    for encoding, (name, per_metre) in DEPTH_UNITS.items()
}


BY_SUFFIX = {suffix: encoding for encoding in ENCODINGS.values() for suffix in encoding.suffixes}
"""The encodings that a suffix alone says."""


def is_depth(encoding: str | None) -> bool:
    """Whether files of this encoding hold depths, which need a calibration."""
    return encoding in DEPTH_UNITS


def encoding_called(name: str) -> Encoding:
    """The encoding with this id."""
    if name not in ENCODINGS:
        raise unknown_name("encoding", name, ENCODINGS)
    return ENCODINGS[name]


def encoding_of_content(content: FileContent, decoding: Decoding) -> Encoding:
    """The encoding of a file for which none was given; an error unless suffix and bit depth make it certain."""
    if content.suffix in BY_SUFFIX:
        return BY_SUFFIX[content.suffix]
    if content.suffix not in (".png", ".pgm", *BY_PILLOW):
        raise content.error(
            f"the suffix {content.suffix!r} does not say the encoding; give one of {', '.join(ENCODINGS)}."
        )
    if decoding.scale is not None:
        return ENCODINGS["middlebury"]
    kind = {".pgm": "a PGM", ".bmp": "a BMP image"}.get(content.suffix, "a picture with lossy compression")
    if content.suffix == ".png":
        header = read_png_header(content)
        if header.bit_depth == 16 and header.channels == 1:
            return ENCODINGS["kitti"]
        coloured = header.bit_depth == 8 and header.channels == 3
        if coloured and one_channel(decode_png(content)) is None:
            raise content.error(
                "a coloured PNG is either Sintel's (set encoding to sintel) or a picture in false colours, from which "
                "disparities cannot be read back: save the numbers themselves (PFM, NPY or 16-bit PNG)."
            )
        of_greys = f"{'an' if header.bit_depth == 8 else 'a'} {header.bit_depth}-bit PNG"
        kind = "an RGB PNG of greys" if coloured else of_greys
    better = ", or better give a PFM, NPY or PNG file" if content.suffix in BY_PILLOW else ""
    raise content.error(
        f"{kind} does not say how its values become disparities; set encoding to middlebury and scale to the scene's "
        f"(for example 4){better}."
    )


def keeps_encoding(path: str | os.PathLike[str], encoding: str | None) -> bool:
    """Whether the suffix says the encoding, so that a stated one is not meant for this file; depths may be in any."""
    if encoding is None or is_depth(encoding) or encoding == "inverse":
        return False
    return inner_suffix(path) in BY_SUFFIX and BY_SUFFIX[inner_suffix(path)].id != encoding


def leaves_scale_open(path: str | os.PathLike[str]) -> bool:
    """Whether a file cannot be read without a stated scale: an 8-bit PNG, a PGM, a JPEG, …"""
    suffix = inner_suffix(path)
    return suffix in (".pgm", *BY_PILLOW) or (suffix == ".png" and not fixes_encoding(path))


def fixes_encoding(path: str | os.PathLike[str]) -> bool:
    """Whether the format says what its values mean, so that no scale is meant for it: PFM, .dsp5, KITTI's PNG."""
    suffix = inner_suffix(path)
    if suffix != ".png":
        return suffix in (".pfm", ".dsp5")
    try:
        header = read_png_header(fetch(path))
    except StereogaugeError:
        return False  # reading it says what is wrong
    return header.bit_depth == 16 and header.channels == 1


def encoding_to_write(suffix: str, name: str, decoding: Decoding) -> Encoding:
    """The encoding that a file name implies."""
    if suffix in BY_SUFFIX:
        return BY_SUFFIX[suffix]
    if suffix in (".png", ".pgm") and decoding.scale is not None:
        return ENCODINGS["middlebury"]
    if suffix == ".png":
        raise FileError(
            f"{name}: a PNG can hold several encodings; set encoding to kitti, or to middlebury with a scale."
        )
    writable = ", ".join(encoding.id for encoding in ENCODINGS.values() if encoding.writer is not None)
    raise FileError(f"{name}: the suffix {suffix!r} does not say the encoding; give one of {writable}.")


def read_disparity(
    path: PathLike,
    *,
    encoding: str | None = None,
    scale: float | None = None,
    offset: float = 0.0,
    masks: Sequence[PathLike] = (),
    shape: tuple[int, int] | None = None,
    unknown: Sequence[float] = (),
    calibration: Calibration | None = None,
) -> DisparityMap:
    """A disparity map as float32 (height, width), NaN = unknown.

    `path` is a file or any URL that fsspec knows. `encoding` may be left out where suffix and bit depth make it
    certain (pfm, npy, npz, float TIFF, exr, dsp5, mat, 16-bit grey PNG = KITTI's, each also as .gz); an 8-bit PNG or a
    PGM does not say how its values become disparities and needs `scale`: d = v / scale + offset, 0 = unknown. Files of
    floats take scale and offset too, for example 16 for an array of OpenCV's. Stored values in `unknown` mean that
    there is no disparity. Files of depths (`encoding="depth-m"` or `"depth-mm"`) need the `calibration`. `masks` are
    images of the same size in which a pixel that is not 0 marks an unknown disparity (Sintel's out-of-frame and
    occlusion masks). A file that cannot be read raises a `FileError` that says why. With `shape`, (height, width), a
    file whose header says another size raises a `SizeError` before its pixels are decoded.

    >>> import numpy as np
    >>> write_disparity("memory://example/map.pfm", np.array([[1.5, np.nan]]))
    >>> read_disparity("memory://example/map.pfm")
    array([[1.5, nan]], dtype=float32)
    """
    content = fetch(path, shape)
    decoding = Decoding(scale, offset, tuple(unknown), calibration)
    chosen = encoding_called(encoding) if encoding is not None else encoding_of_content(content, decoding)
    _check_options(chosen, decoding, content.name)
    values = chosen.reader(content, decoding)
    disparity = values if chosen.decodes else decoding.disparities(values)
    for mask in masks:
        marked = read_pixels(mask) != 0
        marked = marked.any(axis=2) if marked.ndim == 3 else marked
        check_one_size(f"The mask {display_name(mask)}", marked.shape, content.name, disparity.shape)
        disparity[marked] = np.nan
    return disparity


def write_disparity(
    path: PathLike,
    disparity: NDArray[Any],
    *,
    encoding: str | None = None,
    scale: float | None = None,
    offset: float = 0.0,
) -> None:
    """Write a map so that `read_disparity` gives the same values.

    The values are exact in pfm, npy and tiff, rounded to 1/256 in kitti (0 becomes 1/256) and to 1/scale in middlebury.
    The file appears whole or not at all. A disparity that an integer encoding cannot hold raises a `FileError`.

    >>> import numpy as np
    >>> write_disparity("memory://example/teddy.png", np.array([[12.25, np.nan]]), encoding="middlebury", scale=4)
    >>> read_disparity("memory://example/teddy.png", encoding="middlebury", scale=4)
    array([[12.25,   nan]], dtype=float32)
    """
    name = display_name(path)
    decoding = Decoding(scale, offset)
    values = as_disparity(disparity)
    chosen = encoding_called(encoding) if encoding is not None else encoding_to_write(suffix_of(path), name, decoding)
    if chosen.writer is None:
        raise FileError(
            f"{name}: the encoding {chosen.id} can be read but not written; use pfm, kitti, middlebury, npy or tiff."
        )
    _check_options(chosen, decoding, name, writing=True)
    write_bytes(path, chosen.writer(values, decoding, name))


def _check_options(encoding: Encoding, decoding: Decoding, name: str, *, writing: bool = False) -> None:
    if decoding.is_given and not (encoding.takes_scale and (encoding.decodes or not writing)):
        raise FileError(
            f"{name}: the encoding {encoding.id} has no scale or offset ({encoding.description}); "
            'encoding="middlebury" reads integers with a scale of their own.'
        )
