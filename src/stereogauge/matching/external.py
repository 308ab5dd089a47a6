"""Matchers outside of this process: any program, or a Python function in a process of its own.

`cmd:PROGRAM …` is given two image files and must write a disparity map. `py:module:function` is loaded once and timed
without loading; its process may be of another environment (`python=/path/to/python`) and stays for later pairs. The
function gets the images as they are, the number of disparities and the parameters of the call.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from string import Formatter
from types import ModuleType
from typing import IO, Any

import cv2
import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from stereogauge.errors import MatcherError, StereogaugeError
from stereogauge.io.encodings import read_disparity
from stereogauge.matching import python_worker_main as worker_program
from stereogauge.matching.declaration import Matcher, untuned
from stereogauge.matching.result import MatcherOutput, output_of_maps

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows
    resource = None

GIBIBYTE = 2**30
TAIL = 300
WATCH_SECONDS = 0.02
FIRST_LOOK_SECONDS = 0.001


class ProgramError(MatcherError):
    """An outside program that failed; `stderr` holds all that it wrote there."""

    def __init__(self, message: str, stderr: str) -> None:
        super().__init__(message)
        self.stderr = stderr


class Usage(Struct, frozen=True):
    """What a program took: processor seconds with all that it started (NaN where they are not reported), and its own
    largest memory in bytes.
    """

    cpu_seconds: float
    peak_memory: int | None
    stderr: str


def run_to_the_end(command: list[str], folder: str, time_limit: float, memory_limit: float) -> Usage:
    """Run to the end or to a limit of seconds and GiB; 0 GiB is no limit."""
    name = Path(command[0]).name
    if memory_limit > 0 and resource is None:
        raise MatcherError("cmd: this system cannot limit the memory of a program; leave memory_limit out.")
    # What the new process calls first.
    size = (int(memory_limit * GIBIBYTE),) * 2
    limiter = functools.partial(resource.setrlimit, resource.RLIMIT_AS, size) if resource and memory_limit > 0 else None
    before = _processor_seconds()
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                preexec_fn=limiter,
            )
        except OSError as error:
            raise MatcherError(f"cmd: cannot start {command[0]!r}: {error.strerror}.") from error
        try:
            peak = _watched(process, time_limit)
            expired = process.returncode is None
        finally:
            end_with_children(process)
        errors.seek(0)
        stderr = errors.read().decode(errors="replace")
    last = last_words(stderr, " and wrote nothing to standard error.")
    if expired:
        raise ProgramError(f"{name} was ended after its time limit of {time_limit:g} s{last}", stderr)
    if process.returncode:
        limits = f" (memory limit {memory_limit:g} GiB)" if memory_limit > 0 else ""
        raise ProgramError(f"{name} failed {reason(process.returncode)}{limits}{last}", stderr)
    return Usage(_processor_seconds() - before, peak, stderr)


def _processor_seconds() -> float:
    if resource is None:
        return math.nan
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(usage.ru_utime + usage.ru_stime)


def _watched(process: subprocess.Popen[bytes], time_limit: float) -> int | None:
    """Wait for the end or the limit, and read the program's largest memory on the way.

    None where the system does not report it.

    The kernel's own figure after the end would also count what our process held when it started the program. Looks come
    in growing steps, so that the last one lies near the end of a short program too.
    """
    deadline = time.monotonic() + time_limit
    peak: int | None = None
    pause = FIRST_LOOK_SECONDS
    while process.returncode is None and time.monotonic() < deadline:
        peak = largest_memory(process.pid) or peak
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(WATCH_SECONDS, 1.3 * pause)
    return peak


def largest_memory(process: int) -> int | None:
    """The largest memory in bytes of a running process; None where the system does not report it."""
    with contextlib.suppress(OSError, IndexError, ValueError):
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    return None


def end_with_children(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session of its own, and all that it started."""
    end_group: Callable[[int, int], None] | None = getattr(os, "killpg", None)
    if end_group is not None:
        with contextlib.suppress(ProcessLookupError):
            end_group(process.pid, signal.Signals["SIGKILL"].value)
    elif process.poll() is None:
        with contextlib.suppress(OSError):
            words = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
            subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        process.kill()
    process.wait()


def reason(code: int) -> str:
    """Why a process ended, from its return code."""
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def last_words(stderr: str, nothing: str) -> str:
    """The end of a sentence with the end of what a program wrote there, or `nothing` where it wrote nothing."""
    line = " ".join(stderr.split())
    return f"; its last words: {line[-TAIL:]}" if line else nothing


REQUIRED = ("left", "right", "out")
WRITTEN = {"out": "disparity", "out_right": "right", "out_confidence": "confidence", "out_sigma": "sigma"}
"""Files that a program may write, and the maps that they hold."""
FILLED_BY_US = ("left", "right", *WRITTEN, "ndisp")
PARAMETERS = (
    untuned("time_limit", "float", 600.0, "seconds after which the program is ended", low=0.01, high=1e6),
    untuned("memory_limit", "float", 0.0, "GiB of address space; 0 = no limit", low=0, high=4096),
    untuned("extension", "choice", "pfm", "suffix of {out}", choices=("pfm", "png", "npy", "tiff", "exr")),
)


def command_matcher(template: str) -> Matcher:
    """The matcher that runs `template`, for example `./run {left} {right} {out} --range {ndisp} --lambda
    {smoothness}`.

    {left} and {right} are PNG files, {out} is the file to write, {ndisp} the number of disparities. A template may also
    name {out_right}, the right view's map, and {out_confidence} (higher is more confident) or {out_sigma} (lower is
    more confident). Other names are parameters of the call. The template is split as a shell would split it, but no
    shell runs it.
    """
    words = _words(template)
    names = {name for word in words for _, name, _, _ in Formatter().parse(word) if name is not None}
    missing = [f"{{{name}}}" for name in REQUIRED if name not in names]
    if missing:
        raise MatcherError(
            f"cmd: the template {template!r} has no {', '.join(missing)}; it needs {{left}}, {{right}} and {{out}}."
        )

    def run(left: NDArray[Any], right: NDArray[Any], ndisp: int, **parameters: Any) -> MatcherOutput:
        return run_program(words, left, right, ndisp, **parameters)

    run.__doc__ = f"Runs {template}"
    name = Path(words[0]).name
    return Matcher(
        id=f"cmd:{name}",
        name=name,
        source=template,
        function=run,
        parameters=PARAMETERS,
        open_parameters=True,
        colour=True,
    )


def run_program(
    words: list[str],
    left: NDArray[Any],
    right: NDArray[Any],
    ndisp: int,
    *,
    time_limit: float,
    memory_limit: float,
    extension: str,
    encoding: str | None = None,
    scale: float | None = None,
    **parameters: Any,
) -> MatcherOutput:
    """Run the program in a folder of its own and read its map, by `encoding` and `scale` where they are given."""
    with tempfile.TemporaryDirectory(prefix="stereogauge-") as folder:
        floats = "pfm" if extension == "png" else extension
        files = {
            "left": f"{folder}/left.png",
            "right": f"{folder}/right.png",
            "out": f"{folder}/disparity.{extension}",
            "out_right": f"{folder}/right-disparity.{extension}",
            "out_confidence": f"{folder}/confidence.{floats}",
            "out_sigma": f"{folder}/sigma.{floats}",
        }
        for name, image in (("left", left), ("right", right)):
            if image.dtype not in (np.uint8, np.uint16):
                raise MatcherError(f"cmd: images are written as 8- or 16-bit PNG; found type {image.dtype}.")
            cv2.imwrite(files[name], image[:, :, ::-1] if image.ndim == 3 else image)
        values = {**parameters, **files, "ndisp": ndisp}
        command = [_filled(word, values) for word in words]
        started = time.perf_counter()
        usage = run_to_the_end(command, folder, time_limit, memory_limit)
        elapsed = time.perf_counter() - started
        decoding: dict[str, Any] = {"encoding": encoding, "scale": None if scale is None else float(scale)}
        maps = {}
        for name, part in WRITTEN.items():
            if not any(f"{{{name}}}" in word for word in words):
                continue
            out = Path(files[name])
            if not out.exists():
                written = ", ".join(sorted(set(os.listdir(folder)) - {"left.png", "right.png"})) or "nothing"
                raise ProgramError(
                    f"{Path(command[0]).name} ended after {elapsed:.1f} s without writing {{{name}}} ({out.name}); "
                    f"it wrote {written}.",
                    usage.stderr,
                )
            try:
                maps[part] = read_disparity(out, **(decoding if name in ("out", "out_right") else {}))
            except StereogaugeError as error:
                raise ProgramError(
                    f"{Path(command[0]).name} wrote a file that cannot be read: {error}", usage.stderr
                ) from error
    found = output_of_maps(maps)
    return msgspec.structs.replace(found, peak_memory=usage.peak_memory, cpu_seconds=usage.cpu_seconds)


def _words(template: str) -> list[str]:
    try:
        # A backslash is a part of a path on Windows and an escape elsewhere.
        words = shlex.split(template.replace("\\", "\\\\") if os.name == "nt" else template)
    except ValueError as error:
        raise MatcherError(f"cmd: the template {template!r} cannot be split into words: {error}.") from error
    if not words:
        raise MatcherError("cmd: the template is empty; write cmd:PROGRAM {left} {right} {out} {ndisp}.")
    has_folder = os.sep in words[0] or "/" in words[0]
    # The program runs in a folder of its own: files of this one, such as the script of an interpreter, stay findable.
    rest = [os.path.abspath(word) if os.path.isfile(word) else word for word in words[1:]]
    return [os.path.abspath(words[0]) if has_folder else words[0], *rest]


def _filled(word: str, values: dict[str, Any]) -> str:
    try:
        return word.format_map(values)
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        known = ", ".join(f"{{{name}}}" for name in FILLED_BY_US)
        raise MatcherError(
            f"cmd: {word!r} cannot be filled: {error}; known are {known} and the parameters of the call."
        ) from None


WORKER_PARAMETERS = (
    untuned("time_limit", "float", 600.0, "seconds for one pair, and for loading", low=0.01, high=1e6),
    untuned("warm_up", "bool", True, "run each image size once before the clock starts"),
)


def python_matcher(target: str) -> Matcher:
    """The matcher that calls `module:function`; the module may be a file that ends in .py."""
    module, colon, name = target.rpartition(":")
    if not colon or not module or not name.isidentifier():
        raise MatcherError(f"py:{target} names no function; write py:MODULE:FUNCTION or py:FILE.py:FUNCTION.")
    place = str(Path(module).expanduser().absolute()) if module.endswith(".py") else module

    def run(left: NDArray[Any], right: NDArray[Any], ndisp: int, **parameters: Any) -> MatcherOutput:
        limit, python = parameters.pop("time_limit"), str(parameters.pop("python", sys.executable))
        parameters.pop("warm_up")
        return running_worker(place, name, python, limit).match(left, right, ndisp, parameters, limit)

    def prepare(left: NDArray[Any], right: NDArray[Any], ndisp: int, **parameters: Any) -> None:
        worker = running_worker(place, name, str(parameters.get("python", sys.executable)), parameters["time_limit"])
        if parameters["warm_up"] and left.shape not in worker.warm:
            run(left, right, ndisp, **parameters)
            worker.warm.add(left.shape)

    run.__doc__ = f"Calls {name} of {module}."
    return Matcher(
        id=f"py:{name}",
        name=name,
        source=f"py:{target}",
        function=run,
        parameters=WORKER_PARAMETERS,
        open_parameters=True,
        colour=True,
        prepare=prepare,
    )


class PythonWorker:
    """A process that has imported the function and waits for pairs; `warm` are the image sizes that it has seen."""

    def __init__(self, module: str, name: str, python: str, time_limit: float) -> None:
        self.warm: set[tuple[int, ...]] = set()
        self.title = f"py:{Path(module).name}:{name}"
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the worker
        command = [python, str(worker_program.__file__), module, name]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
            )
        except OSError as problem:
            raise MatcherError(f"{self.title}: cannot start {python!r}: {problem.strerror}.") from None
        self._questions: Any = self.process.stdin
        self._answers: Any = self.process.stdout
        self._end = weakref.finalize(self, _finish, self.process, self._errors)
        self._answer(time_limit, "loading")

    @property
    def alive(self) -> bool:
        """Whether it still answers."""
        return self.process.poll() is None

    def match(
        self, left: NDArray[Any], right: NDArray[Any], ndisp: int, parameters: dict[str, Any], time_limit: float
    ) -> MatcherOutput:
        """Call the function on one pair."""
        values = {name: _plain(value) for name, value in parameters.items()}
        question = {"ndisp": ndisp, "parameters": values}, {"left": left, "right": right}
        answer, maps = self._answer(time_limit, "matching", *question)
        return msgspec.structs.replace(
            output_of_maps(maps),
            seconds=answer["seconds"],
            cpu_seconds=answer["cpu_seconds"],
            peak_memory=largest_memory(self.process.pid),
            device=str(answer.get("device", "")),
            weights=answer.get("weights"),
        )

    def _answer(self, time_limit: float, what: str, *question: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What it says to a question, or when it has loaded."""
        with self._watched(time_limit, what):
            if question:
                worker_program.send(self._questions, *question)
            answer, maps = worker_program.receive(self._answers)
        if "error" in answer:
            raise ProgramError(f"{self.title} failed: {answer['error']}", self._words())
        return answer, maps

    @contextlib.contextmanager
    def _watched(self, time_limit: float, what: str) -> Iterator[None]:
        """End the process at the limit, and say why there is no answer."""
        expired = threading.Event()

        def stop() -> None:
            expired.set()
            end_with_children(self.process)

        timer = threading.Timer(time_limit, stop)
        timer.start()
        try:
            yield
        except (EOFError, OSError, ValueError):
            with contextlib.suppress(subprocess.TimeoutExpired):  # an exit code of its own says more than our signal
                self.process.wait(1)
            end_with_children(self.process)
            words = self._words()
            self._end()
            ended = f"ended {reason(self.process.returncode)}"
            why = f"was ended after its time limit of {time_limit:g} s" if expired.is_set() else ended
            raise ProgramError(f"{self.title} {why} while {what}{last_words(words, '.')}", words) from None
        finally:
            timer.cancel()

    def _words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")


def _finish(process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    end_with_children(process)
    for stream in (process.stdin, process.stdout, errors):
        if stream is not None:
            with contextlib.suppress(OSError):  # what was not sent any more
                stream.close()


@functools.lru_cache(maxsize=8)
def _workers(module: str, name: str, python: str) -> dict[str, PythonWorker]:
    return {}


def running_worker(module: str, name: str, python: str, time_limit: float) -> PythonWorker:
    """The worker of this function, started where there is none or the last one has ended."""
    place = _workers(module, name, python)
    if "worker" not in place or not place["worker"].alive:
        place["worker"] = PythonWorker(module, name, python, time_limit)
    return place["worker"]


def _plain(value: Any) -> Any:
    """A value that was written as text, as the number or truth value that it looks like."""
    if not isinstance(value, str):
        return value
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value
