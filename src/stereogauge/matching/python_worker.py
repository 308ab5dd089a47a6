"""A Python function in a process of its own as a matcher: `py:module:function`, loaded once and timed without loading.

The process may be of another environment (`python=/path/to/python`) and stays for later pairs. The function gets the
images as they are, the number of disparities and the parameters of the call.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from stereogauge.errors import MatcherError
from stereogauge.matching import python_worker_main as protocol
from stereogauge.matching.declaration import Matcher, untuned
from stereogauge.matching.external import ProgramError, end_with_children, largest_memory
from stereogauge.matching.result import MatcherOutput, output_of_maps

PARAMETERS = (
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
        parameters=PARAMETERS,
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
        command = [python, str(protocol.__file__), module, name]
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
            )
        except OSError as problem:
            raise MatcherError(f"{self.title}: cannot start {python!r}: {problem.strerror}.") from None
        self._end = weakref.finalize(self, _finish, self.process, self._errors)
        with self._watched(time_limit, "loading"):
            answer, _ = protocol.receive(self._stdout)
        self._check(answer)

    @property
    def _stdout(self) -> Any:
        return self.process.stdout

    @property
    def alive(self) -> bool:
        """Whether it still answers."""
        return self.process.poll() is None

    def match(
        self, left: NDArray[Any], right: NDArray[Any], ndisp: int, parameters: dict[str, Any], time_limit: float
    ) -> MatcherOutput:
        """Call the function on one pair."""
        values = {name: _plain(value) for name, value in parameters.items()}
        with self._watched(time_limit, "matching"):
            stream: Any = self.process.stdin
            protocol.send(stream, {"ndisp": ndisp, "parameters": values}, {"left": left, "right": right})
            answer, maps = protocol.receive(self._stdout)
        self._check(answer)
        return dataclasses.replace(
            output_of_maps(maps),
            seconds=answer["seconds"],
            cpu_seconds=answer["cpu_seconds"],
            peak_memory=largest_memory(self.process.pid),
            device=str(answer.get("device", "")),
            weights=answer.get("weights"),
        )

    def _check(self, answer: dict[str, Any]) -> None:
        if "error" in answer:
            raise ProgramError(f"{self.title} failed: {answer['error']}", self._words())

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
            if expired.is_set():
                reason = f"was ended after its time limit of {time_limit:g} s while {what}"
            else:
                reason = f"ended with exit code {self.process.returncode} while {what}"
            last = f"; its last words: {words[-300:]}" if words else "."
            raise ProgramError(f"{self.title} {reason}{last}", words) from None
        finally:
            timer.cancel()

    def _words(self) -> str:
        self._errors.seek(0)
        return " ".join(self._errors.read().decode(errors="replace").split())


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
