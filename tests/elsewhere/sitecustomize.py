"""A system without what only Unix has: Python imports this file at its start when the folder is on its path.

Worker processes get it too. Names that other libraries need on this machine stay.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

UNIX_ONLY = {"resource", "fcntl", "pwd", "grp", "termios", "tty", "pty", "syslog", "crypt", "spwd", "nis"}


class Hidden(importlib.abc.MetaPathFinder):
    """Answers every import of a module that only Unix has as Windows would."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name in UNIX_ONLY:
            raise ModuleNotFoundError(f"No module named {name!r} (hidden)", name=name)
        return None


sys.meta_path.insert(0, Hidden())
for hidden in UNIX_ONLY:
    sys.modules.pop(hidden, None)
for name in ("killpg", "getpgid", "sched_getaffinity", "nice", "setsid"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2", "SIGCHLD"):
    if hasattr(signal, name):
        delattr(signal, name)
