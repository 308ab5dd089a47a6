"""Reading and writing disparity maps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap, as_disparity
from stereogauge.errors import FileError, SizeError
from stereogauge.io.content import Decoding, DepthGeometry, display_name, fetch, suffix_of
from stereogauge.io.encodings import Encoding, encoding_called, encoding_of_content, encoding_to_write
from stereogauge.io.images import read_pixels
from stereogauge.io.writing import write_bytes

PathLike = str | os.PathLike[str]


def read_disparity(
    path: PathLike,
    *,
    encoding: str | None = None,
    scale: float | None = None,
    offset: float = 0.0,
    masks: Sequence[PathLike] = (),
    shape: tuple[int, int] | None = None,
    unknown: Sequence[float] = (),
    calibration: DepthGeometry | None = None,
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
        disparity[_unknown_pixels(mask, disparity, content.name)] = np.nan
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


def _unknown_pixels(mask: PathLike, disparity: DisparityMap, name: str) -> NDArray[np.bool_]:
    pixels = read_pixels(mask)
    marked = np.asarray(pixels != 0)
    if marked.ndim == 3:
        marked = np.asarray(marked.any(axis=2))
    if marked.shape != disparity.shape:
        raise SizeError(
            f"{display_name(mask)}: the mask has {marked.shape[1]} × {marked.shape[0]} pixels, {name} has "
            f"{disparity.shape[1]} × {disparity.shape[0]}."
        )
    return marked
