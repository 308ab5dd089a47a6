"""The table of encodings: how a stored value becomes a disparity, which files hold it, what reads and writes it.

Help texts, errors and the documentation read this table; a new encoding is one entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from stereogauge.disparity import DisparityMap
from stereogauge.errors import FileError, unknown_name
from stereogauge.io import exr, hdf5, inverse, numpy_, pfm, png, png_file, tiff
from stereogauge.io.content import Content, Decoding

Reader: TypeAlias = Callable[[Content, Decoding], DisparityMap]
Writer: TypeAlias = Callable[[DisparityMap, Decoding, str], bytes | bytearray]


@dataclass(frozen=True)
class Encoding:
    """One way to store a disparity map.

    `suffixes` are the file suffixes that always mean this encoding; `files` describes its files to the user.
    `takes_scale` is true if the caller gives a scale and an offset.
    """

    id: str
    files: str
    description: str
    reader: Reader
    writer: Writer | None = None
    suffixes: tuple[str, ...] = ()
    takes_scale: bool = False


ENCODINGS: dict[str, Encoding] = {
    encoding.id: encoding
    for encoding in (
        Encoding("pfm", ".pfm", "value; ±inf and NaN = unknown", pfm.read, pfm.encode, (".pfm",)),
        Encoding("kitti", "16-bit grey PNG", "v / 256; 0 = unknown", png.read_kitti, png.encode_kitti),
        Encoding(
            "middlebury",
            "8-bit or 16-bit PNG or PGM with a scale",
            "v / scale + offset; 0 = unknown",
            png.read_middlebury,
            png.encode_middlebury,
            takes_scale=True,
        ),
        Encoding(
            "inverse",
            "16-bit PNG or .npy that holds depth, with a scale",
            "scale / v + offset; 0 = unknown",
            inverse.read,
            takes_scale=True,
        ),
        Encoding("sintel", "8-bit RGB PNG", "4·R + G/64 + B/16384; unknown where a mask says so", png.read_sintel),
        Encoding(
            "spring", "HDF5 .dsp5", "|value| of the dataset disparity; NaN = unknown", hdf5.read, None, (".dsp5",)
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
            ".tif .tiff (float)",
            "value; NaN, ±inf and the nodata tag = unknown",
            tiff.read,
            tiff.encode,
            (".tif", ".tiff"),
        ),
        Encoding("exr", ".exr (float)", "value of the only channel; NaN and ±inf = unknown", exr.read, None, (".exr",)),
    )
}


def encoding_called(name: str) -> Encoding:
    """The encoding with this id."""
    if name not in ENCODINGS:
        raise unknown_name("encoding", name, ENCODINGS)
    return ENCODINGS[name]


def encoding_of_content(content: Content, decoding: Decoding) -> Encoding:
    """The encoding of a file for which none was given; an error unless suffix and bit depth make it certain."""
    for encoding in ENCODINGS.values():
        if content.suffix in encoding.suffixes:
            return encoding
    if content.suffix == ".pgm":
        return _integer_encoding(content, decoding, "a PGM")
    if content.suffix != ".png":
        raise content.error(
            f"the suffix {content.suffix!r} does not say the encoding; give one of {', '.join(ENCODINGS)}."
        )
    header = png_file.read_header(content)
    if header.bit_depth == 16 and header.channels == 1 and decoding.scale is None:
        return ENCODINGS["kitti"]
    if header.bit_depth == 8 and header.channels == 3 and decoding.scale is None:
        raise content.error(
            'an RGB PNG does not say how its values become disparities; give encoding="sintel", or '
            'encoding="middlebury" and the scene\'s scale (for example scale=4).'
        )
    article = "an" if header.bit_depth == 8 else "a"
    return _integer_encoding(content, decoding, f"{article} {header.bit_depth}-bit PNG")


def _integer_encoding(content: Content, decoding: Decoding, kind: str) -> Encoding:
    """The encoding of integers if a scale was given; without a scale their meaning is unknown."""
    if decoding.scale is not None:
        return ENCODINGS["middlebury"]
    raise content.error(
        f'{kind} does not say how its values become disparities; give encoding="middlebury" and the scene\'s '
        "scale (for example scale=4)."
    )


def encoding_to_write(suffix: str, name: str, decoding: Decoding) -> Encoding:
    """The encoding that a file name asks for."""
    for encoding in ENCODINGS.values():
        if suffix in encoding.suffixes:
            return encoding
    if suffix in (".png", ".pgm") and decoding.scale is not None:
        return ENCODINGS["middlebury"]
    if suffix == ".png":
        raise FileError(
            f'{name}: a PNG can hold several encodings; give encoding="kitti", or encoding="middlebury" and a scale.'
        )
    writable = ", ".join(encoding.id for encoding in ENCODINGS.values() if encoding.writer is not None)
    raise FileError(f"{name}: the suffix {suffix!r} does not say the encoding; give one of {writable}.")
