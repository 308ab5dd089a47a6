"""What a worker process gives up before it reads files of strangers: memory, large files, rights, and its user.

Only a server that runs as root, as in most containers, can start a process as somebody else; elsewhere a worker keeps
the server's user.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from stereogauge.errors import StereogaugeError

NOBODY = "nobody"
PR_SET_NO_NEW_PRIVS = 38
"""Linux: neither this process nor its children gain rights from a program's set-user-ID bit."""
CLONE_NEWNET = 0x40000000
"""Linux: a network of its own, in which there is nothing."""
NEEDED = "import stereogauge.io, stereogauge.datasets.validation"


class Account(NamedTuple):
    """A user of the system without rights."""

    name: str
    user: int
    group: int


def unprivileged_account(name: str | None = None) -> Account | None:
    """The account for processes that read untrusted files: `name`, or `nobody`; None where the user must stay.

    The user stays unless this process is root's on Linux, and where `nobody` cannot run this program. `name` may be
    "root", for a host who wants it so.
    """
    if not hasattr(os, "geteuid") or sys.platform != "linux" or os.geteuid() != 0:
        if name is not None:
            raise StereogaugeError(
                f"Only a server that root starts on Linux can read uploads as {name!r}; leave --worker-user out."
            )
        return None
    import pwd

    try:
        found = pwd.getpwnam(name or NOBODY)
    except KeyError:
        if name is None:
            return None
        raise StereogaugeError(
            f"There is no user {name!r} on this system; name one without rights with --worker-user."
        ) from None
    account = Account(found.pw_name, found.pw_uid, found.pw_gid)
    if account.user == 0 or (name is None and not can_run(account)):
        return None
    return account


@lru_cache
def can_run(account: Account) -> bool:
    """Whether the account can run this program: Python, the packages and Stereogauge itself."""
    command = [sys.executable, "-P", "-c", NEEDED]
    try:
        done = subprocess.run(
            command, user=account.user, group=account.group, extra_groups=[], cwd="/", capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


def readable(account: Account, paths: Iterable[str]) -> list[str]:
    """Those of the files that an account may read."""
    names = list(paths)
    code = "import json, os, sys; print(json.dumps([os.access(name, os.R_OK) for name in json.load(sys.stdin)]))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], input=json.dumps(names).encode(),
        user=account.user, group=account.group, extra_groups=[], cwd="/", capture_output=True, check=True,
    )  # fmt: skip
    return [name for name, can in zip(names, json.loads(done.stdout), strict=True) if can]


def limit_memory(memory_bytes: int) -> None:
    """Limit the address space of this process where the system can do that."""
    try:
        import resource
    except ImportError:  # not on this system: the host limits the service instead
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = memory_bytes if hard == resource.RLIM_INFINITY else min(memory_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def limit_rights(file_bytes: int | None, account: Account | None = None) -> None:
    """Give up what the reading of a stranger's files does not need."""
    os.umask(0o077)
    if sys.platform == "win32":
        return
    os.nice(5)
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        if account is not None:
            system.unshare(CLONE_NEWNET)  # refused in many containers, which have their own rules for the network
            _become(account)
        system.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def _become(account: Account) -> None:
    """Change the user of this process for good."""
    os.chdir("/")
    os.setgroups([])
    os.setgid(account.group)
    os.setuid(account.user)
    os.environ["HOME"] = "/"
