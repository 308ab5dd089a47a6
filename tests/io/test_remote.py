"""Files of an object store: listed once, copied into a bounded cache, and never another content than was listed."""

from __future__ import annotations

import os
import pickle
import threading
import uuid
from pathlib import Path

import numpy as np
import pytest
from tests.object_store import BUCKET, ObjectStore, forget_connections

from stereogauge import read_disparity, write_disparity
from stereogauge.errors import FileError, Unreachable
from stereogauge.io import content_hash
from stereogauge.io.content import fetch, stream
from stereogauge.io.remote import (
    Entry,
    FileCache,
    FileListing,
    RemotePath,
    entries_below,
    file_cache,
    local_copy,
    place,
)

TREE = ("a/left.png", "a/right.png", "a/deep/er/x.pfm", "b/left.png", ".hidden", "top.toml", "b/.dot/y.pfm")


def copies() -> list[Path]:
    return sorted(path for path in file_cache().folder.rglob("*") if path.is_file())


@pytest.fixture
def top() -> str:
    """A folder of the bucket that no other test uses."""
    return uuid.uuid4().hex


def test_a_listed_folder_answers_as_a_local_one(tmp_path: Path) -> None:
    for name in TREE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    remote = RemotePath("s3://b/top", None, FileListing("s3://b/top", {name: Entry(1, "m") for name in TREE}))

    def told(root, paths):
        return sorted((path.relative_to(root).as_posix(), path.is_file(), path.is_dir()) for path in paths)

    for pattern in ("*", "*/*.png", "*.toml", "**/*.pfm", "a/*", "?/left.png", "[ab]/right.png", "none/*"):
        assert told(remote, remote.glob(pattern)) == told(tmp_path, tmp_path.glob(pattern)), pattern
    assert told(remote, remote.glob("**/*.pfm")) == told(tmp_path, tmp_path.rglob("*.pfm"))
    assert told(remote, (remote / "a").glob("**/*")) == told(tmp_path, (tmp_path / "a").rglob("*"))
    assert told(remote, (remote / "b").iterdir()) == told(tmp_path, (tmp_path / "b").iterdir())
    for name in (*TREE, "a", "a/deep", "none", "a/none.png"):
        here, there = tmp_path / name, remote / name
        assert (here.is_file(), here.is_dir(), here.exists()) == (there.is_file(), there.is_dir(), there.exists())
        assert (here.name, here.stem, here.suffix, here.parent.name) == (
            there.name, there.stem, there.suffix, there.parent.name if "/" in name else tmp_path.name
        )  # fmt: skip
    with pytest.raises(FileError, match=r"has no '\.\.'"):
        remote / "../other/secret"


def test_names_from_a_listing_cannot_leave_the_folder(object_store: ObjectStore, top: str) -> None:
    hostile = ("x/../../outside.pfm", "a//b.pfm", "back\\slash.pfm", "empty/", "x/./c.pfm")
    object_store.put({f"{top}/{name}": b"harm" for name in hostile} | {f"{top}/good.pfm": b"fine"})
    listed = place(f"s3://{BUCKET}/{top}")
    assert [str(path) for path in listed.glob("**/*")] == [f"s3://{BUCKET}/{top}/good.pfm"]
    assert bytes(fetch(next(listed.glob("*.pfm"))).data) == b"fine"
    assert all(path.parent.parent == file_cache().folder for path in copies())


def test_names_that_no_file_of_a_folder_has_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("good.pfm", "../up.pfm", "new\nline.pfm", "a/../b.pfm", "zero\0.pfm", "a//b.pfm", "folder/")
    found = {f"/top/{name}": {"size": 3, "ETag": '"e"'} for name in names}
    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.find", lambda *_, **__: found)
    assert entries_below("memory://top", "top") == {"good.pfm": Entry(3, "e")}


def test_a_copy_is_made_once_and_only_of_the_content_that_was_listed(object_store: ObjectStore, top: str) -> None:
    object_store.put({f"{top}/map.bin": b"first"})
    url = f"s3://{BUCKET}/{top}/map.bin"
    listed = place(f"s3://{BUCKET}/{top}") / "map.bin"
    sent = pickle.loads(pickle.dumps(listed))
    assert bytes(fetch(sent).data) == b"first"
    object_store.put({f"{top}/map.bin": b"other"})  # the same size, another content
    assert bytes(fetch(sent).data) == b"first", "the copy of what was listed is still the right one"
    assert bytes(fetch(url).data) == b"other", "an address alone means what is there now"
    assert len(copies()) == 2
    for path in copies():
        path.unlink()
    with pytest.raises(FileError, match=r"map.bin: the file changed during the run .* run the same command again"):
        fetch(sent)
    assert copies() == []


def test_local_and_remote_content_have_one_hash(object_store: ObjectStore, top: str, tmp_path: Path) -> None:
    disparity = np.arange(12, dtype=np.float32).reshape(3, 4)
    local, remote = tmp_path / "map.pfm", f"s3://{BUCKET}/{top}/map.pfm"
    write_disparity(local, disparity)
    write_disparity(remote, disparity)
    assert content_hash(local) == content_hash(remote) == content_hash(place(remote))
    assert np.array_equal(read_disparity(remote), disparity)
    assert b"".join(stream(remote)) == local.read_bytes()


def test_a_damaged_copy_is_fetched_again(object_store: ObjectStore, top: str) -> None:
    object_store.put({f"{top}/map.bin": b"whole"})
    path = place(f"s3://{BUCKET}/{top}/map.bin")
    local_copy(path, "map").write_bytes(b"who")  # as a full disk leaves it
    assert bytes(fetch(path).data) == b"whole"


def test_the_cache_keeps_its_limit_and_what_was_used_last(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, 1000)

    def get(key: str) -> Path:
        return cache.get(key, 100, key, lambda target: target.write_bytes(key.encode().ljust(100)) and None)

    first = get("first")
    for place_, number in enumerate(range(30)):
        path = get(f"copy {number}")
        os.utime(path, (place_, place_))
        os.utime(first, (10**6, 10**6))  # used again and again
        assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= 1000
    assert first.exists()
    assert get("copy 29").read_bytes().startswith(b"copy 29")
    abandoned = first.with_name("ab.tmp")
    abandoned.write_bytes(b"half a download")
    os.utime(abandoned, (0, 0))
    get("one more")
    assert not abandoned.exists()


def test_several_readers_at_once_all_get_the_whole_content(tmp_path: Path) -> None:
    """With a limit that removes copies while others want them."""
    caches = [FileCache(tmp_path, 5000) for _ in range(4)]
    problems: list[object] = []

    def read(cache: FileCache, seed: int) -> None:
        for number in np.random.default_rng(seed).integers(0, 20, 200):
            content = bytes([number]) * 1000
            try:
                found = cache.get(str(number), 1000, "x", lambda target, c=content: target.write_bytes(c) and None)
                if found.read_bytes() != content:
                    problems.append(number)
            except FileNotFoundError:
                pass  # removed by another one between finding and opening; `fetch` asks again
            except Exception as problem:
                problems.append(problem)

    threads = [threading.Thread(target=read, args=(cache, seed)) for seed, cache in enumerate(caches)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_cache_that_cannot_be_written_or_has_no_sensible_limit_says_so(
    object_store: ObjectStore, top: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file"
    blocked.write_text("in the way")
    with pytest.raises(FileError, match=r"map.pfm: the copy cannot be kept in .* STEREOGAUGE_CACHE"):
        FileCache(blocked, 10).get("k", 1, "map.pfm", lambda target: None)
    monkeypatch.setenv("STEREOGAUGE_CACHE_GB", "plenty")
    file_cache.cache_clear()
    object_store.put({f"{top}/x": b"1"})
    with pytest.raises(FileError, match=r"STEREOGAUGE_CACHE_GB is a positive number of gigabytes.*found 'plenty'"):
        fetch(f"s3://{BUCKET}/{top}/x")


def test_what_is_not_there_or_not_allowed_is_one_sentence(
    object_store: ObjectStore, top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileError, match=r"s3://no-such-bucket/x: there is no such bucket\."):
        place("s3://no-such-bucket/x")
    with pytest.raises(FileError, match=r"none.pfm: there is no such file\."):
        fetch(f"s3://{BUCKET}/{top}/none.pfm")
    object_store.put({f"{top}/in/x": b"1"})
    with pytest.raises(FileError, match=r"in: this is a folder"):
        fetch(f"s3://{BUCKET}/{top}/in")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/nonexistent")
    forget_connections()
    with pytest.raises(FileError, match=r"no credentials were found; set AWS_ACCESS_KEY_ID"):
        place(f"s3://{BUCKET}/{top}")


def test_a_server_that_refuses_access_is_named(
    object_store: ObjectStore, top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    object_store.put({f"{top}/x": b"1"})
    import s3fs

    def refuse(self, path, **options):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(s3fs.S3FileSystem, "info", refuse)
    with pytest.raises(FileError, match=r"x: access is denied \(Access Denied\); may AWS_ACCESS_KEY_ID"):
        fetch(f"s3://{BUCKET}/{top}/x")


def test_a_server_that_does_not_answer_is_no_fault_of_the_file(
    object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("s3fs.core.S3FileSystem.retries", 1)
    forget_connections()
    with pytest.raises(Unreachable, match=r"s3://any/map.pfm: no server answers at http://127.0.0.1:1 .* same command"):
        fetch("s3://any/map.pfm")
