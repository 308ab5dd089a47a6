"""The first directory of a TIFF, checked before tifffile sees it.

tifffile believes how many values an entry says it has; an image length of several values, or of more values than the
file has bytes, must not reach its arithmetic.
"""

from __future__ import annotations

import struct

from stereogauge.io.content import Content

# Bytes of a value by the number of its type: byte, text, short, long, rational, … and BigTIFF's three.
TYPE_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
WHOLE_NUMBERS = (1, 3, 4, 13, 16)
# Width, length, compression, photometric, fill order, samples, rows per strip, planar, predictor, tile sizes, depths.
SINGLE_TAGS = frozenset((256, 257, 259, 262, 266, 277, 278, 284, 317, 322, 323, 32997, 32998))
DESCRIPTION_OF_DATA = frozenset((258, 273, 279, 324, 325, 339))
MOST_ENTRIES = 4096


def check_directory(content: Content) -> None:
    """Refuse a directory that no writer of a single image makes."""
    data = content.data
    order = "<" if bytes(data[:2]) == b"II" else ">"
    big = bytes(data[2:4]) in (b"+\0", b"\0+")
    count_format, entry_format, pointer_place = ("Q", "HHQ8x", 8) if big else ("H", "HHI4x", 4)
    try:
        (start,) = struct.unpack_from(order + ("Q" if big else "I"), data, pointer_place)
        (count,) = struct.unpack_from(order + count_format, data, start)
        if count > MOST_ENTRIES:
            raise content.error(f"the TIFF is damaged (its directory says that it has {count} entries).")
        first = start + struct.calcsize(count_format)
        size = struct.calcsize("<" + entry_format)
        for place in range(first, first + count * size, size):
            tag, kind, values = struct.unpack_from(order + entry_format, data, place)
            _check_entry(tag, kind, values, content)
    except struct.error as error:
        raise content.error("truncated: the TIFF's directory lies beyond the end of the file.") from error


def _check_entry(tag: int, kind: int, count: int, content: Content) -> None:
    whole = kind in WHOLE_NUMBERS
    single = tag not in SINGLE_TAGS or (whole and count == 1)
    describing = tag not in DESCRIPTION_OF_DATA or (whole and count > 0)
    if not single or not describing or count * TYPE_SIZES.get(kind, 1) > content.size:
        raise content.error(f"the TIFF is damaged (the entry {tag} of its directory is impossible).")
