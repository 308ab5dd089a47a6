"""Reading and writing disparity maps, images and masks.

The packages that decode files (OpenCV, Pillow, tifffile, h5py, …) are imported when a file needs them.
"""

from stereogauge.io.encodings import ENCODINGS, Encoding, read_disparity, write_disparity
from stereogauge.io.files import DisparityFile, ImageFile, MaskFile, content_hash, load_disparity, load_image, load_mask
from stereogauge.io.images import read_image
from stereogauge.io.inspection import FileReport, inspect_disparity

__all__ = [
    "ENCODINGS",
    "DisparityFile",
    "Encoding",
    "FileReport",
    "ImageFile",
    "MaskFile",
    "content_hash",
    "inspect_disparity",
    "load_disparity",
    "load_image",
    "load_mask",
    "read_disparity",
    "read_image",
    "write_disparity",
]
