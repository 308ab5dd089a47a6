"""A program: OpenEXR file on standard input, the raw samples of the channel in its argument on standard output."""

from __future__ import annotations

import io
import sys


def main() -> None:
    """Decode; any failure ends the process, and the caller sees that."""
    import OpenEXR

    file = OpenEXR.InputFile(io.BytesIO(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(file.channel(sys.argv[1]))


if __name__ == "__main__":
    main()
