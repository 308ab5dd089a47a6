"""Archives that try to do harm are refused before anything is written; good ones arrive whole."""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereogauge import StereogaugeError
from stereogauge.datasets.archives import Limits, member_names, safe_name, unpack
from stereogauge.errors import DatasetError, FileError

Files = dict[str, bytes]


def _zip(path: Path, files: Files) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _tar(path: Path, files: Files) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


BOTH = pytest.mark.parametrize("make", [_zip, _tar])


def _is_untouched(folder: Path) -> bool:
    return not folder.exists() or not any(folder.iterdir())


@BOTH
def test_a_good_archive_arrives_whole_beside_what_is_there(tmp_path: Path, make: Callable[..., Path]) -> None:
    target = tmp_path / "data"
    target.mkdir()
    (target / "mine.txt").write_text("kept")
    archive = make(tmp_path / "a", {"scene/im0.png": b"left" * 1000, "scene/deep/er.txt": b"", "top": b"x"})
    seen: list[tuple[int, int]] = []
    files = unpack(archive, target, progress=lambda done, total: seen.append((done, total)))
    assert {path.relative_to(target).as_posix() for path in files} == {"scene/im0.png", "scene/deep/er.txt", "top"}
    assert (target / "scene" / "im0.png").read_bytes() == b"left" * 1000
    assert (target / "mine.txt").read_text() == "kept"
    assert seen[-1] == (4001, 4001)
    assert sorted(path.name for path in target.iterdir()) == ["mine.txt", "scene", "top"]


@BOTH
@pytest.mark.parametrize(
    "name", ["../evil.txt", "good/../../evil.txt", "/evil.txt", "C:/evil.txt", "..\\evil.txt", "\\\\host\\evil.txt"]
)
def test_a_name_that_leaves_the_folder_is_refused(tmp_path: Path, make: Callable[..., Path], name: str) -> None:
    archive = make(tmp_path / "a", {"first.txt": b"1", name: b"2"})
    with pytest.raises(DatasetError, match="outside the folder"):
        unpack(archive, tmp_path / "out" / "in")
    assert _is_untouched(tmp_path / "out" / "in")
    assert not list(tmp_path.rglob("evil.txt"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("innocent")
        member.type, member.linkname = kind, "../../etc/passwd"
        archive.addfile(member)
        inside = tarfile.TarInfo("innocent/inside")
        archive.addfile(inside, io.BytesIO())
    with pytest.raises(DatasetError, match="link or device"):
        unpack(path, tmp_path / "out")
    assert _is_untouched(tmp_path / "out")


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(DatasetError, match="link or device"):
        unpack(path, tmp_path / "out")


@BOTH
def test_too_many_files_or_bytes_are_refused_before_writing(tmp_path: Path, make: Callable[..., Path]) -> None:
    many = make(tmp_path / "many", {f"{number}": b"" for number in range(11)})
    with pytest.raises(DatasetError, match="more than 10 files"):
        unpack(many, tmp_path / "out", Limits(entries=10))
    bomb = make(tmp_path / "bomb", {"zeros": bytes(5_000_000)})
    assert bomb.stat().st_size < 20_000
    with pytest.raises(DatasetError, match="1,000,000 bytes"):
        unpack(bomb, tmp_path / "out", Limits(size=1_000_000))
    assert _is_untouched(tmp_path / "out")


def test_an_entry_that_holds_more_or_less_than_it_declares_is_refused(tmp_path: Path) -> None:
    honest = _zip(tmp_path / "honest.zip", {"a": bytes(1000)}).read_bytes()
    for size, word in ((10, "lying small"), (100_000, "lying large")):
        path = tmp_path / f"{word}.zip"
        path.write_bytes(honest.replace((1000).to_bytes(4, "little"), size.to_bytes(4, "little")))
        with pytest.raises(StereogaugeError, match=r"damaged|refused"):
            unpack(path, tmp_path / "out")
    assert _is_untouched(tmp_path / "out")


def test_a_name_given_twice_or_as_file_and_folder_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", "2")
    with pytest.raises(DatasetError, match="twice"):
        unpack(tmp_path / "twice.zip", tmp_path / "out")
    with pytest.raises(FileError, match="cannot be unpacked"):
        unpack(_tar(tmp_path / "both.tar", {"a": b"1", "a/b": b"2"}), tmp_path / "out")


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = _zip(tmp_path / "a.zip", {"a": b"secret"})
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(DatasetError, match="encrypted"):
        unpack(path, tmp_path / "out")


@BOTH
@given(cut=st.integers(min_value=0, max_value=399), flip=st.integers(min_value=0, max_value=255))
def test_a_damaged_archive_gives_one_error_or_unpacks(
    tmp_path_factory: pytest.TempPathFactory, make: Callable[..., Path], cut: int, flip: int
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    content = bytearray(make(folder / "a", {"x/y": bytes(range(200)), "z": b"z" * 50}).read_bytes())
    place = cut % len(content)
    (folder / "short").write_bytes(content[:place])
    content[place] ^= flip
    (folder / "flipped").write_bytes(content)
    with pytest.raises(StereogaugeError):
        unpack(folder / "short", folder / "out")
    try:
        written = unpack(folder / "flipped", folder / "out")
    except StereogaugeError:
        return
    assert all(path.resolve().is_relative_to((folder / "out").resolve()) for path in written)


@given(st.text(min_size=1, max_size=30))
def test_a_safe_name_never_leaves_its_folder(name: str) -> None:
    try:
        safe = safe_name(name, Path("a.zip"))
    except DatasetError:
        return
    assert ".." not in safe.split("/")
    assert not safe.startswith("/")
    assert "\\" not in safe


def _before_its_start(path: Path) -> None:
    """A directory that says that it starts later than it does: zipfile then looks for entries at negative places."""
    data = bytearray(_zip(path, {"a.pfm": bytes(100)}).read_bytes())
    place = data.rfind(b"PK\x05\x06") + 16
    struct.pack_into("<L", data, place, struct.unpack_from("<L", data, place)[0] + 7)
    path.write_bytes(data)


@pytest.mark.parametrize("damage", ["gzip", "nameless", "negative"])
def test_damage_that_fuzzing_found_is_one_sentence(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "archive"
    if damage == "gzip":
        with tarfile.open(path, "w:gz") as archive:
            archive.addfile(tarfile.TarInfo("a.pfm"), None)
        data = bytearray(path.read_bytes())
        data[-6] ^= 255
        path.write_bytes(data)
    elif damage == "negative":
        _before_its_start(path)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(zipfile.ZipInfo(""), b"x")
    for read in (member_names, lambda archive: unpack(archive, tmp_path / "out")):
        with pytest.raises(StereogaugeError, match=r"damaged|outside"):
            read(path)
