"""Messages in the words of the command line: `encoding="kitti"` becomes `--encoding kitti`, `scale=4` `--scale 4`."""

from __future__ import annotations

import re

OPTIONS = (
    "encoding",
    "gt_encoding",
    "scale",
    "offset",
    "unknown",
    "flip",
    "crop",
    "baseline",
    "focal",
    "template",
    "protocol",
    "ndisp",
)
FLAGS = {"resize=True": "--resize"}
_KEYWORD = re.compile(
    rf"""(?<![\w{{.-])(?P<name>{"|".join(OPTIONS)})=(?:"(?P<text>[^"]*)"|\((?P<list>[^)]*)\)|(?P<number>-?[\d.]+(?:e[-+]?\d+)?))"""
)


def spoken(sentence: str) -> str:
    """A sentence of the library, whose keywords become options.

    >>> spoken('give encoding="middlebury" and the scene\'s scale (for example scale=4).')
    "give --encoding middlebury and the scene's scale (for example --scale 4)."
    >>> spoken("it was padded; give crop=(8, 4).")
    'it was padded; give --crop 8,4.'
    """
    for keyword, option in FLAGS.items():
        sentence = sentence.replace(keyword, option)
    return _KEYWORD.sub(_option, sentence)


def _option(found: re.Match[str]) -> str:
    number, name = found["number"], found["name"].replace("_", "-")
    if number is not None:
        ended = number.rstrip(".")
        return f"--{name} {ended}{number[len(ended) :]}"
    value = found["list"].replace(" ", "") if found["list"] is not None else found["text"]
    return f"--{name} {value}"
