"""Builds the native library: every C++ source once per processor level, linked into one shared object.

Hatchling runs it for wheels and editable installs. As a script it builds into a folder, for this machine or another:

    python hatch_build.py                               # src/stereogauge/native
    python hatch_build.py FOLDER --target macos-aarch64
    python hatch_build.py FOLDER --sanitize             # with address and undefined-behaviour sanitizers
    python hatch_build.py FOLDER --levels v3 --sources planes views   # a part of it

The compiler is `CXX`, else the first of c++, g++ and clang++ that can compile the sources, else zig from the package
ziglang, which hatchling installs into the temporary build environment. `STEREOGAUGE_TARGET` builds a wheel for another
platform, with zig.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script in an environment without hatchling
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "src" / "stereogauge" / "native"
OBJECTS = ROOT / "build" / "native"
ZIG = "ziglang==0.17.0"
# No contraction of products and sums: the same digits on every level and with every compiler.
FLAGS = shlex.split(
    "-std=c++17 -O3 -fno-exceptions -fno-rtti -fvisibility=hidden -ffp-contract=off -fno-math-errno -Wall -Wno-psabi"
)
SANITIZE = shlex.split("-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined")
LEVELS = {  # name in the exported functions: -march, for each architecture
    "x86_64": {"v2": "x86-64-v2", "v3": "x86-64-v3", "v4": "x86-64-v4", "v4b": "x86-64-v4 -mavx512vbmi -mavx512bitalg"},
    "aarch64": {"base": "armv8-a"},
}
TARGETS = {  # zig's target and the wheel's platform tag
    "linux-x86_64": ("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64"),
    "linux-aarch64": ("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
    "macos-x86_64": ("x86_64-macos.11.0", "macosx_11_0_x86_64"),
    "macos-aarch64": ("aarch64-macos.11.0", "macosx_11_0_arm64"),
    "windows-x86_64": ("x86_64-windows-gnu", "win_amd64"),
}
NAMES = {"linux": "libstereogauge.so", "macos": "libstereogauge.dylib", "windows": "stereogauge.dll"}
NO_COMPILER = (
    "Stereogauge's native library needs a C++17 compiler and none was found: install GCC 12, Clang 14 or a later one "
    "(Debian: apt-get install g++) or name one in CXX, or install the package ziglang (pip install ziglang)."
)
PROBE = """
typedef int V __attribute__((vector_size(16)));
V rotate(V a) { return __builtin_shufflevector(a, a, 1, 2, 3, 0); }
template <int... I> int count() { if constexpr (sizeof...(I) > 0) return 1; else return 0; }
"""


class BuildError(Exception):
    """The library cannot be built; the text says why and what to do."""


def this_machine() -> str:
    """The name of this platform among the targets."""
    system = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}.get(platform.system(), platform.system())
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return f"{system}-{machine}"


def zig_compiler() -> list[str]:
    """zig's C++ compiler where the package ziglang is installed, else nothing."""
    return [sys.executable, "-m", "ziglang", "c++"] if importlib.util.find_spec("ziglang") else []


@functools.cache
def system_compiler() -> tuple[str, ...]:
    """`CXX`, or the first C++ compiler on the path that can compile the sources, else nothing."""
    chosen = shlex.split(os.environ.get("CXX", ""))
    candidates = [chosen] if chosen else [[name] for name in ("c++", "g++", "clang++") if shutil.which(name)]
    for command in candidates:
        if "ziglang" in command or "zig" in Path(command[0]).name or _compiles(command):
            return tuple(command)
    if chosen:
        raise BuildError(
            f"CXX names {shlex.join(chosen)!r}, which cannot compile C++17 with vector extensions; name another "
            "compiler, or none: then the first one on the path that can is used."
        )
    return ()


def _compiles(command: list[str]) -> bool:
    """Whether a compiler exists and knows what the sources need."""
    words = [*command, "-x", "c++", "-std=c++17", "-fsyntax-only", "-"]
    try:
        return subprocess.run(words, input=PROBE, text=True, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


class Build:
    """One library: compiler, flags and levels for a target."""

    def __init__(
        self, target: str = "", *, sanitize: bool = False, levels: Sequence[str] = (), sources: Sequence[str] = ()
    ) -> None:
        self.target = target or this_machine()
        if self.target not in TARGETS:
            raise BuildError(f"There is no native library for {self.target}; there is one for {', '.join(TARGETS)}.")
        self.system, self.machine = self.target.split("-")
        # A named target gets zig even here: its libraries also load on older systems.
        self.compiler = ([] if target else list(system_compiler())) or zig_compiler()
        if not self.compiler:
            raise BuildError(NO_COMPILER)
        self.zig = any("zig" in part for part in self.compiler)
        self.sanitize = sanitize
        self.levels = {name: march for name, march in LEVELS[self.machine].items() if name in (levels or [name])}
        found = {path.stem: path for path in sorted(SOURCES.glob("*.cpp"))}
        self.sources = [found[name] for name in ({*sources, "level"} if sources else found)]
        self.name = NAMES[self.system]
        self.tag = TARGETS[self.target][1] if self.zig else sysconfig.get_platform().replace("-", "_").replace(".", "_")

    def command(self) -> list[str]:
        """The compiler with the flags that all its calls share."""
        flags = ["-target", TARGETS[self.target][0]] if self.zig else []
        flags += [] if self.system == "windows" else ["-fPIC"]
        if self.sanitize:
            return [*self.compiler, *flags, *SANITIZE]
        return [*self.compiler, *flags, *(["-g0", "-fno-sanitize=all"] if self.zig else [])]

    def level_flags(self, march: str) -> list[str]:
        """The flags of a processor level; zig names processors in its own way."""
        model, *more = march.split()
        if not self.zig:
            return [f"-march={model}", *more]
        return (
            []
            if self.machine != "x86_64"
            else ["".join([f"-mcpu={model.replace('-', '_')}", *(f"+{m[2:]}" for m in more)])]
        )

    def compile(self, source: Path, level: str, march: str) -> Path:
        """The object of a source for a level; one that was made of the same text and flags before is used again."""
        flags = [flag for flag in FLAGS if not (self.sanitize and flag == "-O3")]
        flags += [*self.level_flags(march), f"-DSG_LEVEL={level}"]
        if source.stem == "level":
            flags.append(f'-DSG_LEVELS="{" ".join(self.levels)}"')
        text = b"".join(part.read_bytes() for part in (source, *sorted(SOURCES.glob("*.h"))))
        key = hashlib.sha256(repr((self.command(), flags, _version(tuple(self.compiler)))).encode() + text).hexdigest()
        made = OBJECTS / f"{source.stem}-{level}-{key[:24]}.o"
        if not made.exists():
            OBJECTS.mkdir(parents=True, exist_ok=True)
            unfinished = made.with_suffix(f".{_own_name()}.o")
            _run([*self.command(), *flags, "-c", str(source), "-o", str(unfinished)])
            unfinished.replace(made)
        return made

    def into(self, folder: Path) -> Path:
        """Write the library into a folder; returns its path."""
        work = [(source, *item) for source in self.sources for item in self.levels.items()]
        # Only one level of what chooses among them.
        work = [item for item in work if item[0].stem != "level" or item[1] == next(iter(self.levels))]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda item: str(self.compile(*item)), work))
        folder.mkdir(parents=True, exist_ok=True)
        library = folder / self.name
        unfinished = library.with_name(f"{_own_name()}-{self.name}")
        link = ["-shared", *(["-nostdlib++"] if self.zig or self.system == "macos" else ["-static-libgcc"])]
        more = ([] if self.system == "windows" else ["-lm"]) + (
            [] if self.system == "macos" or self.sanitize else ["-s"]
        )
        _run([*self.command(), *link, *objects, "-o", str(unfinished), *more])
        unfinished.replace(library)
        return library


def _own_name() -> str:
    """What no other thread of any process calls its files: two of them may build at the same moment."""
    return f"{os.getpid()}-{threading.get_ident()}"


@functools.cache
def _version(compiler: tuple[str, ...]) -> str:
    return subprocess.run([*compiler, "--version"], text=True, capture_output=True, check=False).stdout


def _run(command: list[str]) -> None:
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        raise BuildError(f"{shlex.join(command)} failed:\n{done.stdout}{done.stderr}")


class NativeLibrary(BuildHookInterface):  # type: ignore[type-arg,misc,unused-ignore]
    """The build hook of hatchling: builds the library beside its sources and adds it to the wheel."""

    def dependencies(self) -> list[str]:
        """zig, where no other compiler can build for the target."""
        return [ZIG] if os.environ.get("STEREOGAUGE_TARGET") or not system_compiler() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build for this machine, or for `STEREOGAUGE_TARGET`."""
        target = os.environ.get("STEREOGAUGE_TARGET", "")
        try:
            build = Build(target)
            library = build.into(ROOT / "build" / target if target else SOURCES)
        except BuildError as error:
            raise SystemExit(str(error)) from None
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{build.tag}"
        if version != "editable":
            build_data["force_include"][str(library)] = f"stereogauge/native/{build.name}"


def main() -> None:
    """Build from the command line."""
    parser = argparse.ArgumentParser(description="Build Stereogauge's native library.")
    parser.add_argument("folder", nargs="?", type=Path, default=SOURCES, help="where the library goes")
    parser.add_argument("--target", default="", choices=["", *TARGETS], help="another platform, built with zig")
    parser.add_argument("--sanitize", action="store_true", help="with address and undefined-behaviour sanitizers")
    parser.add_argument("--levels", nargs="+", default=[], help="only these processor levels")
    parser.add_argument("--sources", nargs="+", default=[], help="only the kernels of these sources")
    options = parser.parse_args()
    part = {"sanitize": options.sanitize, "levels": options.levels, "sources": options.sources}
    try:
        print(Build(options.target, **part).into(options.folder))  # noqa: T201 – a script
    except BuildError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
