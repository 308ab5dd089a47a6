"""An S3-like server of our own for tests: moto's, as a process that can be killed, with its objects in memory."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

BUCKET = "stereo"
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "tester",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class ObjectStore:
    """A server on a port of its own; what it holds is lost when it is killed."""

    def __init__(self, port: int | None = None) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        words = [sys.executable, "-c", "from moto.server import main; main()", "-H", "127.0.0.1", "-p", str(self.port)]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not _answers(self.port):
            assert self.process.poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which programs reach it."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": self.url}

    def kill(self) -> None:
        """End it at once, as a machine that fails does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def put(self, objects: Mapping[str, bytes], bucket: str = BUCKET) -> None:
        """Store objects by key; the bucket is made where it is not there."""
        client = self.client()
        if bucket not in [entry["Name"] for entry in client.list_buckets()["Buckets"]]:
            client.create_bucket(Bucket=bucket)
        for key, content in objects.items():
            client.put_object(Bucket=bucket, Key=key, Body=content)
        client.close()

    def client(self) -> Any:
        """A connection that is not the one under test."""
        import boto3

        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
            region_name=CREDENTIALS["AWS_DEFAULT_REGION"],
        )

    def put_folder(self, folder: Path, prefix: str) -> int:
        """Store every file of a folder; returns the number of bytes."""
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        self.put({f"{prefix}/{name}": path.read_bytes() for name, path in files.items()})
        return sum(path.stat().st_size for path in files.values())


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def forget_connections() -> None:
    """Let this process connect anew: fsspec keeps one connection per kind of file system."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture(scope="session")
def object_store_server() -> Iterator[ObjectStore]:
    """A server for all tests of a process; each takes keys of its own."""
    pytest.importorskip("s3fs", reason="the extra 'cluster' is not installed")
    pytest.importorskip("moto", reason="moto is not installed")
    server = ObjectStore()
    try:
        server.put({})
        yield server
    finally:
        server.kill()


@pytest.fixture
def object_store(
    object_store_server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ObjectStore]:
    """The server as this process and those that it starts reach it, with an empty cache of copies."""
    from stereogauge.io.remote import file_cache
    from stereogauge.paths import cache_folder

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in object_store_server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("STEREOGAUGE_CACHE", str(tmp_path / "cache"))
    caches = (file_cache, cache_folder)
    for cache in caches:
        cache.cache_clear()
    forget_connections()
    yield object_store_server
    for cache in caches:
        cache.cache_clear()
    forget_connections()
