"""What a process that reads files of strangers may still do."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import Any

import pytest

from stereogauge.errors import FileError, StereogaugeError
from stereogauge.evaluation import rights
from stereogauge.evaluation.processes import WorkerDied, WorkerProcess
from stereogauge.evaluation.rights import Account, unprivileged_account

AS_ROOT = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root can start a process as another user"
)


def look_around(folder: str, secret: str) -> dict[str, Any]:
    """What the process is and what it can reach."""
    tried = {"secret": secret, "above": f"{folder}/../secret", "parent": f"{folder}/.."}
    reached = [name for name, path in tried.items() if _reaches(path)]
    (Path(folder) / "written").write_text("by the worker")
    return {"users": os.getresuid(), "groups": os.getgroups(), "reached": reached, "given": os.listdir(folder)}


def _reaches(path: str) -> bool:
    try:
        return bool(os.listdir(path) if os.path.isdir(path) else Path(path).read_text())
    except OSError:
        return False


def become_root(folder: str) -> int:
    os.setuid(0)
    return os.getuid()


class Trap:
    """An answer that would do something to whoever rebuilds it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("/tmp/stereogauge-trap",)


def answer_with_a_trap() -> Any:
    return {"maps": [Trap()]}


def fail(kind: str) -> None:
    raise {"known": FileError, "memory": MemoryError, "foreign": KeyError}[kind]("what happened")


@AS_ROOT
def test_a_worker_of_nobody_reaches_only_its_folder(tmp_path: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    account = Account("nobody", nobody.pw_uid, nobody.pw_gid)
    secret, folder = tmp_path / "secret", tmp_path / "upload"
    secret.write_text("hidden truth")
    secret.chmod(0o600)
    folder.mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    os.chown(folder, account.user, account.group)
    worker = WorkerProcess(4 << 30, untrusted=True, account=account)
    try:
        seen = worker.call(look_around, str(secret), within=folder)
        assert seen == {"users": [account.user] * 3, "groups": [], "reached": [], "given": ["written"]}
        assert (folder / "written").stat().st_uid == account.user
        with pytest.raises(StereogaugeError, match="PermissionError"):
            worker.call(become_root, within=folder)
    finally:
        worker.end()


def test_an_untrusted_worker_sends_plain_values_only() -> None:
    worker = WorkerProcess(4 << 30, untrusted=True, errors=(FileError,))
    try:
        with pytest.raises(StereogaugeError, match="cannot be sent"):
            worker.call(answer_with_a_trap)
        assert not Path("/tmp/stereogauge-trap").exists()
        with pytest.raises(FileError, match="what happened"):
            worker.call(fail, "known")
        with pytest.raises(MemoryError):
            worker.call(fail, "memory")
        with pytest.raises(StereogaugeError, match="KeyError"):
            worker.call(fail, "foreign")
        with pytest.raises(WorkerDied, match="no answer"):
            worker._received(_Sending(b"\x80\x04."))  # type: ignore[arg-type]
    finally:
        worker.end()


class _Sending:
    """A connection over which a process that was taken over sends what it likes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv_bytes(self, most: int) -> bytes:
        return self._data


def test_who_reads_uploads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert unprivileged_account() is None
    with pytest.raises(StereogaugeError, match="leave --worker-user out"):
        unprivileged_account("nobody")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert unprivileged_account("root") is None
    with pytest.raises(StereogaugeError, match="no user 'nowhere-to-be-found'"):
        unprivileged_account("nowhere-to-be-found")
    monkeypatch.setattr(rights, "can_run", lambda account: True)
    found = unprivileged_account()
    assert found is not None
    assert found.user != 0
    monkeypatch.setattr(rights, "can_run", lambda account: False)
    assert unprivileged_account() is None
    assert unprivileged_account("nobody") == found
