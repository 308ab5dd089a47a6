"""Files as values, the loaders, paths of every kind, and content hashes."""

from __future__ import annotations

import functools
import http.server
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import cv2
import fsspec
import numpy as np
import pytest
from PIL import Image

from stereogauge import read_disparity, write_disparity
from stereogauge.errors import FileError, SizeError
from stereogauge.io import DisparityFile, ImageFile, MaskFile, content_hash, load_disparity, load_image, load_mask


def write_png(path: Path, samples: Any) -> Path:
    assert cv2.imwrite(str(path), np.asarray(samples))
    return path


def test_files_are_values(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", np.array([[0, 8]], np.uint8))
    file = DisparityFile(path, "middlebury", 4)
    assert pickle.loads(pickle.dumps(file)) == file
    assert len({file, DisparityFile(path, "middlebury", 4), DisparityFile(path, "middlebury", 8)}) == 2
    assert file.read()[0, 1] == 2
    assert load_disparity(file)[0, 1] == 2
    assert hash(MaskFile(path, (1, 2))) == hash(MaskFile(path, (1, 2)))


def test_an_array_is_taken_as_it_is() -> None:
    disparity = np.array([[1, np.nan]], np.float32)
    assert load_disparity(disparity) is disparity
    assert np.isnan(load_disparity(np.array([[np.inf]]))[0, 0])


def test_what_numpy_can_take_as_an_array_is_one() -> None:
    assert load_disparity([[1, 2], [3, float("inf")]]).tolist()[0] == [1.0, 2.0]  # type: ignore[arg-type]
    assert load_mask([[True, False]]).tolist() == [[True, False]]  # type: ignore[arg-type]
    assert load_image(memoryview(bytes(6)).cast("B", (2, 3))).shape == (2, 3)  # type: ignore[arg-type]
    assert content_hash([[1.0, 2.0]]) == content_hash(np.array([[1.0, 2.0]]))
    with pytest.raises(SizeError, match="two dimensions"):
        load_disparity(None)  # type: ignore[arg-type]


def test_images_of_any_whole_numbers_are_eight_or_sixteen_bits() -> None:
    assert load_image(np.array([[0, 255]])).dtype == np.uint8
    assert load_image(np.array([[0, 256]])).dtype == np.uint16
    for wrong, said in (
        (np.array([[-1, 3]]), "found -1 to 3"),
        (np.array([[70000]]), "found 70000 to 70000"),
        (np.array([[True]]), "found type bool"),
    ):
        with pytest.raises(FileError, match=said):
            load_image(wrong)


def test_images_are_rgb_never_bgr(tmp_path: Path) -> None:
    path = write_png(tmp_path / "a.png", np.array([[[1, 2, 3]]], np.uint8))  # OpenCV's order: blue, green, red
    assert load_image(path).tolist() == [[[3, 2, 1]]]
    assert ImageFile(str(path)).read().tolist() == [[[3, 2, 1]]]


def test_images_keep_sixteen_bits_and_lose_transparency(tmp_path: Path) -> None:
    deep = write_png(tmp_path / "deep.png", np.array([[[1000, 2000, 3000]]], np.uint16))
    assert load_image(deep).tolist() == [[[3000, 2000, 1000]]]
    clear = write_png(tmp_path / "clear.png", np.array([[[1, 2, 3, 128]]], np.uint8))
    assert load_image(clear).tolist() == [[[3, 2, 1]]]
    assert load_image(np.zeros((2, 3, 4), np.uint8)).shape == (2, 3, 3)


def test_images_of_other_formats(tmp_path: Path) -> None:
    pixels = np.full((8, 16, 3), (200, 100, 50), np.uint8)
    for name in ("a.jpg", "a.bmp", "a.webp", "a.ppm", "a.tif"):
        Image.fromarray(pixels).save(tmp_path / name, quality=95)
        read = load_image(tmp_path / name).astype(int)
        assert read.shape == pixels.shape
        assert np.abs(read - pixels).max() < 8, name
    Image.fromarray(pixels[..., 0]).save(tmp_path / "grey.jpg")
    assert load_image(tmp_path / "grey.jpg").shape == (8, 16)


def test_a_broken_image_gets_one_sentence(tmp_path: Path) -> None:
    Image.fromarray(np.zeros((80, 160, 3), np.uint8)).save(tmp_path / "a.jpg")
    whole = (tmp_path / "a.jpg").read_bytes()
    (tmp_path / "a.jpg").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=r"a\.jpg: the image is truncated or damaged"):
        load_image(tmp_path / "a.jpg")
    (tmp_path / "b.png").write_bytes(b"not an image")
    with pytest.raises(FileError, match=r"b\.png: not an image that can be read"):
        load_image(tmp_path / "b.png")


def test_a_mask_is_true_where_it_is_255_or_as_told(tmp_path: Path) -> None:
    path = write_png(tmp_path / "m.png", np.array([[0, 128, 255]], np.uint8))
    assert load_mask(path).tolist() == [[False, False, True]]
    assert load_mask(MaskFile(path, 128)).tolist() == [[False, True, False]]
    assert load_mask(MaskFile(path, (128, 255))).tolist() == [[False, True, True]]
    assert load_mask(MaskFile(path, 0, invert=True)).tolist() == [[False, True, True]]


def test_a_mask_of_three_channels_must_be_grey(tmp_path: Path) -> None:
    grey = write_png(tmp_path / "grey.png", np.full((1, 2, 3), 255, np.uint8))
    assert load_mask(grey).all()
    coloured = write_png(tmp_path / "coloured.png", np.array([[[255, 0, 0]]], np.uint8))
    with pytest.raises(FileError, match=r"coloured\.png: a mask has one channel"):
        load_mask(coloured)


def test_a_mask_that_never_has_the_expected_value_is_not_taken_as_empty(tmp_path: Path) -> None:
    ones = write_png(tmp_path / "ones.png", np.array([[0, 1]], np.uint8))
    with pytest.raises(FileError, match=r"ones\.png: a mask is true where it is 255, this one holds 0, 1"):
        load_mask(ones)
    assert not load_mask(write_png(tmp_path / "none.png", np.zeros((2, 2), np.uint8))).any()


def test_a_mask_array_is_boolean_or_has_one_value_beside_zero() -> None:
    mask = np.array([[True, False]])
    assert load_mask(mask) is mask
    assert load_mask(np.array([[0, 7]])).tolist() == [[False, True]]
    with pytest.raises(FileError, match=r"found 0, 128, 255"):
        load_mask(np.array([[0, 128, 255]]))
    with pytest.raises(SizeError, match=r"two dimensions .* found shape \(1, 1, 3\)"):
        load_mask(np.zeros((1, 1, 3), bool))


def test_addresses_go_through_fsspec() -> None:
    disparity = np.array([[1.5, np.nan], [3, 4]], np.float32)
    write_disparity("memory://maps/a.pfm", disparity)
    assert np.array_equal(read_disparity("memory://maps/a.pfm"), disparity, equal_nan=True)
    assert content_hash("memory://maps/a.pfm") == content_hash(DisparityFile("memory://maps/a.pfm"))
    with pytest.raises(FileError, match=r"memory://maps/b\.pfm: there is no such file"):
        read_disparity("memory://maps/b.pfm")
    with pytest.raises(FileError, match="memory://maps: this is a folder"):
        read_disparity("memory://maps")
    fsspec.filesystem("memory").rm("/maps", recursive=True)


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the name that the base class has
        pass


def test_a_map_on_a_web_server(tmp_path: Path) -> None:
    pytest.importorskip("aiohttp")
    write_disparity(tmp_path / "a.npy", np.array([[1.5, 2]], np.float32))
    handler = functools.partial(QuietHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert read_disparity(f"{address}/a.npy").tolist() == [[1.5, 2]]
        assert content_hash(f"{address}/a.npy?download=1") == content_hash(tmp_path / "a.npy")
        with pytest.raises(FileError, match=r"/b\.npy: there is no such file"):
            read_disparity(f"{address}/b.npy")
        server.shutdown()


def test_an_address_shows_no_password_in_errors() -> None:
    with pytest.raises(FileError) as caught:
        read_disparity("nowhere://user:secret@host/a.pfm?token=secret")
    assert "secret" not in str(caught.value).split("(")[0]


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="this is a folder; a file is needed"):
        read_disparity(tmp_path)
    with pytest.raises(FileError, match=r"none\.pfm: there is no such file"):
        read_disparity(tmp_path / "none.pfm")
    os.mkfifo(tmp_path / "pipe.pfm")
    with pytest.raises(FileError, match=r"pipe\.pfm: this is not a regular file"):
        read_disparity(tmp_path / "pipe.pfm")
    (tmp_path / "empty.pfm").touch()
    with pytest.raises(FileError, match=r"empty\.pfm: the file is empty"):
        read_disparity(tmp_path / "empty.pfm")
    with pytest.raises(FileError, match="cannot be opened"):
        read_disparity("a\0b.pfm")
    with pytest.raises(FileError, match=r"'[^\n]*line\\nbreak\.pfm': there is no such file"):
        read_disparity(tmp_path / "line\nbreak.pfm")


def test_hashes_follow_content_and_decoding_not_the_place(tmp_path: Path) -> None:
    first = write_png(tmp_path / "a.png", np.array([[0, 8]], np.uint8))
    second = tmp_path / "b.png"
    second.write_bytes(first.read_bytes())
    other = write_png(tmp_path / "c.png", np.array([[0, 9]], np.uint8))
    assert content_hash(first) == content_hash(second) == content_hash(str(first)) == content_hash(ImageFile(first))
    kinds = [DisparityFile(first), DisparityFile(first, scale=4), DisparityFile(first, scale=8), DisparityFile(other)]
    kinds += [DisparityFile(first, scale=4, offset=1), DisparityFile(first, scale=4, masks=(other,))]
    hashes = [content_hash(kind) for kind in kinds] + [content_hash(MaskFile(first)), content_hash(MaskFile(first, 8))]
    assert len(set(hashes)) == len(hashes)


def test_hashes_of_arrays_see_values_shape_and_type_but_not_strides() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert content_hash(array) == content_hash(array.copy()) == content_hash(np.asfortranarray(array))
    others = [array.T, array.reshape(4, 3), array.astype(np.float64), array + 1]
    assert len({content_hash(other) for other in [array, *others]}) == 5
