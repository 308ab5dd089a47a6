"""Decode an OpenEXR image: the file on standard input, one line of JSON and then the samples on standard output.

`stereogauge.io.exr` runs this as a program of its own, because the OpenEXR library prints to standard error and can
crash on damaged files. The line of JSON holds the size and type of the samples, or `error`, a sentence.
"""

from __future__ import annotations

import io
import json
import sys
from typing import Any

PREFERRED_CHANNEL = "disparity"
PIXEL_TYPES = {"HALF": "<f2", "FLOAT": "<f4"}


def main() -> None:
    """Decode; the arguments are the largest number of pixels and of bytes that the image may have, and the width and
    height that it must have, 0 for any.
    """
    import OpenEXR

    file = OpenEXR.InputFile(io.BytesIO(sys.stdin.buffer.read()))
    description = describe(file.header(), *(int(argument) for argument in sys.argv[1:]))
    samples = file.channel(description["channel"]) if "channel" in description else b""
    sys.stdout.buffer.write(json.dumps(description).encode() + b"\n" + samples)


def describe(
    header: dict[str, Any],
    largest_pixel_count: int,
    largest_byte_count: int,
    expected_width: int = 0,
    expected_height: int = 0,
) -> dict[str, Any]:
    """The channel that holds the disparities, its type and its size, or why there is none that can be read."""
    window, channels = header["dataWindow"], header["channels"]
    width, height = window.max.x - window.min.x + 1, window.max.y - window.min.y + 1
    if expected_width and (width, height) != (expected_width, expected_height):
        return {"size": (width, height), "error": "it has another size than expected."}
    if min(width, height) < 1 or width * height > largest_pixel_count:
        return {"error": f"the header says {width} × {height} pixels; 1 to {largest_pixel_count} are read."}
    bytes_per_pixel = sum(2 if str(channel.type) == "HALF" else 4 for channel in channels.values())
    if width * height * bytes_per_pixel > largest_byte_count:
        return {"error": f"truncated: {width} × {height} pixels are more than the file can hold."}
    names = [name for name in channels if name == PREFERRED_CHANNEL] or sorted(channels)
    if len(names) != 1:
        listed = ", ".join(name[:20] for name in names[:8]) or "none"
        wanted = f"a disparity map has one channel or one called {PREFERRED_CHANNEL!r}"
        return {"error": f"{wanted}; this image has {listed!r}."}
    channel = channels[names[0]]
    if str(channel.type) not in PIXEL_TYPES or (channel.xSampling, channel.ySampling) != (1, 1):
        return {"error": f"the channel {names[0]!r} must hold one float per pixel; this one does not."}
    return {"channel": names[0], "type": PIXEL_TYPES[str(channel.type)], "width": width, "height": height}


if __name__ == "__main__":
    main()
