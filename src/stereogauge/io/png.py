"""The four encodings that store disparities as integers in images: `kitti`, `middlebury`, `sintel` and `fsd`.

kitti        d = v / 256              16-bit grey PNG                 0 = unknown
middlebury   d = v / scale + offset   8-bit or 16-bit PNG or PGM      0 = unknown
sintel       d = 4·R + G/64 + B/16384 8-bit RGB PNG                   unknown where a mask says so
fsd          d = (255²·R + 255·G + B) / 1000   8-bit RGB PNG          every value is known
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereogauge.disparity import DisparityMap
from stereogauge.errors import FileError
from stereogauge.io import images
from stereogauge.io.content import Decoding, FileContent

KITTI_SCALE = 256.0
"""What a 16-bit PNG is divided by where no encoding is given."""
LOSSY_GREY = 8
"""How far the colours of one grey may be apart after lossy compression."""


def read_kitti(content: FileContent, decoding: Decoding) -> DisparityMap:
    """A 16-bit grey PNG: v / 256, 0 = unknown."""
    header = images.read_png_header(content)
    if header.bit_depth != 16:
        raise content.error(
            f"KITTI's encoding is a 16-bit grey PNG, this one is {header.description}; "
            "set the encoding that it has (for example middlebury, and its scale)."
        )
    if header.channels != 1:
        raise content.error(
            f"a disparity map has one channel, this PNG is {header.description} (KITTI's optical flow files are RGB)."
        )
    return _linear(images.decode_png(content), Decoding(KITTI_SCALE, unknown=decoding.unknown))


def read_middlebury(content: FileContent, decoding: Decoding) -> DisparityMap:
    """An image with v = scale·(d − offset), 0 = unknown; three equal channels count as one."""
    if decoding.scale is None:
        raise content.error(_missing_scale(content))
    if decoding.scale < 0:
        raise content.error(f"the scale {decoding.scale:g} is not possible for whole numbers; it must be positive.")
    if images.is_netpbm(content):
        return _linear(_one_channel(images.decode_netpbm(content), content), decoding)
    if not content.starts_with(images.PNG_SIGNATURE) and content.suffix in images.BY_PILLOW:
        return _linear(_one_channel(images.decode_with_pillow(content), content), decoding)
    header = images.read_png_header(content)
    if header.bit_depth < 8 and header.colour_type != images.PALETTE:
        raise content.error(f"a disparity map has 8 or 16 bits per value, this PNG is {header.description}.")
    return _linear(_one_channel(images.decode_png(content), content), decoding)


def _missing_scale(content: FileContent) -> str:
    if content.starts_with(images.PNG_SIGNATURE) and images.read_png_header(content).bit_depth == 16:
        return (
            "a 16-bit PNG is usually KITTI's (encoding kitti); encoding middlebury needs the scale to divide by (for "
            "example scale 1 for whole pixels)."
        )
    return (
        "encoding middlebury needs the scene's scale (for example 4; 16 for Tsukuba, 8 for Venus, "
        "4 for Teddy and Cones)."
    )


def read_sintel(content: FileContent, decoding: Decoding) -> DisparityMap:
    """An 8-bit RGB PNG: 4·R + G/64 + B/16384."""
    red, green, blue = _colours(content, "Sintel's")
    disparity: DisparityMap = red * np.float32(4) + green * np.float32(1 / 64) + blue * np.float32(1 / 16384)
    return disparity


def read_fsd(content: FileContent, decoding: Decoding) -> DisparityMap:
    """An 8-bit RGB PNG of FoundationStereo's dataset: (255²·R + 255·G + B) / 1000; the digits count to 255."""
    red, green, blue = _colours(content, "FoundationStereo's").astype(np.float64)
    return np.asarray((red * 255.0 * 255.0 + green * 255.0 + blue) / 1000.0, np.float32)


def _colours(content: FileContent, whose: str) -> NDArray[np.float32]:
    """Red, green and blue of an 8-bit RGB PNG, (3, height, width)."""
    header = images.read_png_header(content)
    if header.colour_type != 2 or header.bit_depth != 8:
        raise content.error(f"{whose} encoding is an 8-bit RGB PNG, this one is {header.description}.")
    return np.moveaxis(images.decode_png(content).astype(np.float32), 2, 0)


def encode_kitti(disparity: DisparityMap, decoding: Decoding, name: str) -> bytes:
    """A 16-bit grey PNG; each value to the nearest 1/256."""
    return encode_16_bits(disparity, Decoding(KITTI_SCALE), name)


def encode_16_bits(disparity: DisparityMap, decoding: Decoding, name: str) -> bytes:
    """A 16-bit grey PNG; each value to the nearest 1/scale.

    A disparity of 0 is written as 1/scale, as KITTI's own kit does, since a stored 0 means unknown.
    """
    scale = decoding.scale or 1.0
    smallest = np.float32(1 / scale)
    storable = np.where((disparity >= 0) & (disparity < smallest), smallest, disparity)
    return images.encode_png(_quantised(storable, scale, 0.0, np.dtype(np.uint16), name))


def encode_middlebury(disparity: DisparityMap, decoding: Decoding, name: str) -> bytes:
    """An 8-bit grey PNG, or PGM when the name says so; each value to the nearest 1/scale."""
    if decoding.scale is None:
        raise FileError(f"{name}: encoding middlebury needs a scale to multiply with (for example 4).")
    samples = _quantised(disparity, decoding.scale, decoding.offset, np.dtype(np.uint8), name)
    return images.encode_pgm(samples) if name.lower().endswith(".pgm") else images.encode_png(samples)


def _one_channel(samples: NDArray[Any], content: FileContent) -> NDArray[Any]:
    if samples.ndim == 2:
        return samples
    if samples.shape[2] != 3 and samples[..., -1].min() < np.iinfo(samples.dtype).max:
        raise content.error(
            f"a disparity map has one channel, this image has {samples.shape[2]}, and some pixels are transparent; "
            "save it without transparency."
        )
    if content.suffix in images.LOSSY and np.ptp(samples[..., :3].astype(np.int16), axis=2).max() <= LOSSY_GREY:
        return samples[..., 1]  # of the three, green is nearest to the brightness that was stored
    only = images.one_channel(samples)
    if only is None:
        raise content.error(
            "a disparity map has one channel; this image has three that differ: it is a picture in false colours, from "
            "which disparities cannot be read back; save the numbers themselves (PFM, NPY or 16-bit PNG)."
        )
    return only


def _linear(samples: NDArray[Any], decoding: Decoding) -> DisparityMap:
    stored = np.arange(int(samples.max()) + 1, dtype=np.float64)
    table = (stored / (decoding.scale or 1) + decoding.offset).astype(np.float32)
    table[np.isin(stored, (0, *decoding.unknown))] = np.nan
    disparity: DisparityMap = table.take(samples)
    return disparity


def _quantised(disparity: DisparityMap, scale: float, offset: float, kind: np.dtype[Any], name: str) -> NDArray[Any]:
    largest = np.iinfo(kind).max
    valid = np.isfinite(disparity)
    samples = np.rint((disparity.astype(np.float64) - offset) * scale)
    too_low = int(np.count_nonzero(valid & (samples < 1)))
    too_high = int(np.count_nonzero(valid & (samples > largest)))
    if too_low or too_high:
        raise FileError(
            f"{name}: {too_low + too_high} disparities do not fit: with scale {scale:g} only {1 / scale + offset:g} to "
            f"{largest / scale + offset:g} can be stored (0 means unknown); use pfm, npy or tiff."
        )
    return np.where(valid, samples, 0).astype(kind)
