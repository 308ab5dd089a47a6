"""Names that look alike: each name is folded so that two with the same folded form can be taken for one another.

After compatibility normalisation (NFKC) and case folding, letters of other scripts and signs that are drawn as a Latin
letter, digit or hyphen stand for it, and letters that Latin fonts hardly tell apart are one: i, l, 1 and |; o and 0; rn
and m; vv and w. The choice follows the skeletons of Unicode's Technical Standard 39, limited to the scripts in which
readers of this field write.
"""

from __future__ import annotations

import unicodedata

_DRAWN_AS = {
    "a": "аɑαⱥ", "b": "ьƅвβ", "c": "сϲⅽ", "d": "ԁɗ", "e": "еєҽεɛ", "f": "ғƒ", "g": "ɡցǥ", "h": "һհнη",
    "j": "јϳ", "k": "кκ", "m": "мϻ", "n": "пոռ", "o": "оοσօөѳ", "p": "рρҏ", "q": "ԛգզ", "r": "гᴦ", "s": "ѕꜱ", "t": "тτ",
    "u": "υսц", "v": "νѵ", "w": "ԝшωա", "x": "хχ×", "y": "уγүʏ", "z": "ᴢᴣ", "i": "іıιΙӏӀɩľłǀ∣¦!", "-": "‐‑‒–—―−﹣－_·•",
    "3": "зʒэ", "4": "ч", "6": "б", ".": "․。", "'": "’‘ʼ`´", "/": "∕⁄",
}  # fmt: skip
_LETTERS = {ord(other): letter for letter, others in _DRAWN_AS.items() for other in others}
_ALIKE = str.maketrans({"l": "i", "1": "i", "|": "i", "0": "o", "5": "s", "$": "s"})


def folded(name: str) -> str:
    """The name as a glance sees it.

    >>> folded("SGM") == folded("ＳＧМ") == folded("sgm ")
    True
    >>> folded("SGM 1") == folded("SGM 2")
    False
    """
    text = unicodedata.normalize("NFKC", name).casefold()
    text = "".join(letter for letter in text if unicodedata.category(letter) not in ("Cf", "Cc", "Mn"))
    text = unicodedata.normalize("NFKC", text.translate(_LETTERS)).translate(_ALIKE)
    return " ".join(text.replace("rn", "m").replace("vv", "w").split())
