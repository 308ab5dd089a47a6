"""Photographs cut short or with bytes changed: an image or one sentence, and nothing printed."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from stereogauge.errors import FileError
from stereogauge.io import load_image

PIXELS = np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("JPEG", {}),
        ("JPEG", {"progressive": True}),
        ("PNG", {}),
        ("PPM", {}),
        ("BMP", {}),
        ("WEBP", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
    ],
)
def test_damage_is_met_with_one_sentence(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str, options: dict[str, Any]
) -> None:
    buffer = io.BytesIO()
    Image.fromarray(PIXELS).save(buffer, kind, **options)
    chance = random.Random(4)
    path = tmp_path / "photograph"
    sentences = []
    for number in range(100):
        data = bytearray(buffer.getvalue())
        if number % 2:
            del data[chance.randrange(len(data)) :]
        else:
            data[chance.randrange(min(len(data), 300))] = chance.randrange(256)
        path.write_bytes(data)
        try:
            image = load_image(path)
            assert image.ndim in (2, 3)
        except FileError as error:
            sentences.append(str(error))
    assert len(sentences) > 30
    assert all("photograph: " in sentence and sentence.isprintable() for sentence in sentences)
    assert capfd.readouterr() == ("", "")
