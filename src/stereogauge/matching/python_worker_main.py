"""The program that a Python worker runs: it imports a function once and calls it for every pair that it is sent.

It needs NumPy and nothing of Stereogauge, so that the function may live in an environment of its own. A message is a
line of JSON, which names the arrays that follow it in NumPy's format and their sizes. What the function prints goes to
standard error.

The module of the function may say more: `synchronize()`, called before the clock starts and before it stops, waits for
a device that works by itself; `device` is its name and `weights` the number of learned parameters, each a value or a
function without arguments. Where the function uses PyTorch on a CUDA device, `torch.cuda.synchronize` and the device's
name are taken unless the module has its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import os
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any, BinaryIO

import numpy as np

KEYS = ("disparity", "right", "confidence", "sigma")


def send(stream: BinaryIO, message: dict[str, Any], arrays: dict[str, Any]) -> None:
    """One message with its arrays."""
    parts = {}
    for name, array in arrays.items():
        content = io.BytesIO()
        np.save(content, np.ascontiguousarray(array), allow_pickle=False)
        parts[name] = content.getvalue()
    sizes = {name: len(part) for name, part in parts.items()}
    stream.write(json.dumps({**message, "arrays": sizes}).encode() + b"\n")
    stream.writelines(parts.values())
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], dict[str, Any]]:
    """The next message with its arrays; EOFError when the other side is gone."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    message: dict[str, Any] = json.loads(line)
    parts = {name: io.BytesIO(stream.read(size)) for name, size in message.pop("arrays").items()}
    return message, {name: np.load(part, allow_pickle=False) for name, part in parts.items()}


def named_function(module: str, name: str) -> Callable[..., Any]:
    """The function of a module, or of a file that ends in .py."""
    if module.endswith(".py"):
        spec = importlib.util.spec_from_file_location(os.path.basename(module)[:-3], module)
        if spec is None or spec.loader is None or not os.path.isfile(module):
            raise ImportError(f"there is no file {module}")
        sys.path.insert(0, os.path.dirname(os.path.abspath(module)))
        loaded = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = loaded
        spec.loader.exec_module(loaded)
    else:
        sys.path.insert(0, os.getcwd())
        loaded = importlib.import_module(module)
    function: Callable[..., Any] = getattr(loaded, name)
    return function


def hooks_of(function: Callable[..., Any]) -> tuple[Callable[[], Any], Callable[[], dict[str, Any]]]:
    """What waits for the function's device, and what tells the facts of its module."""
    module = sys.modules.get(getattr(function, "__module__", ""))

    def cuda() -> Any:
        torch = sys.modules.get("torch")
        return torch.cuda if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized() else None

    def synchronize() -> None:
        own = getattr(module, "synchronize", None)
        if callable(own):
            own()
        elif cuda() is not None:
            cuda().synchronize()

    def facts() -> dict[str, Any]:
        found = {}
        for name, kind in (("device", str), ("weights", int)):
            stated = getattr(module, name, None)
            value = stated() if isinstance(stated, FunctionType) else stated  # a network is callable too
            if isinstance(value, kind) and not isinstance(value, bool):
                found[name] = value
        if "device" not in found and cuda() is not None:
            found["device"] = str(cuda().get_device_name())
        return found

    return synchronize, facts


def as_maps(returned: Any) -> dict[str, Any]:
    """What a function returned, as maps by name: a map, a tuple of left and right maps, or a dict of maps."""
    if isinstance(returned, tuple):
        if len(returned) != 2:
            raise TypeError(f"a matcher returns a tuple of left and right map, or a dict; found {len(returned)} things")
        returned = dict(zip(KEYS[:2], returned, strict=True))
    elif not isinstance(returned, dict):
        returned = {"disparity": returned}
    if set(returned) - set(KEYS) or "disparity" not in returned:
        raise TypeError(f"a matcher returns maps called {', '.join(KEYS)}; found {', '.join(returned) or 'none'}")
    maps = {name: np.asarray(values) for name, values in returned.items() if values is not None}
    kinds = {name: maps[name].dtype if name in maps else None for name in ("disparity", *maps)}
    for name, kind in kinds.items():
        if kind is None or kind.kind not in "fiub":
            raise TypeError(f"a matcher returns arrays of real numbers; its {name} holds {kind}")
    return maps


def main() -> None:
    """Serve until the other side is gone."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the function prints must not get between the messages
    try:
        function = named_function(*sys.argv[1:3])
    except Exception as problem:
        send(outgoing, {"error": f"{type(problem).__name__}: {problem}"}, {})
        return
    send(outgoing, {"ready": True}, {})
    synchronize, facts = hooks_of(function)
    while True:
        try:
            message, images = receive(incoming)
        except (EOFError, ValueError):
            return
        try:
            synchronize()
            wall, processor = time.perf_counter(), time.process_time()
            returned = function(images["left"], images["right"], message["ndisp"], **message["parameters"])
            maps = as_maps(returned)
            synchronize()
            taken = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - processor, **facts()}
        except Exception as problem:
            send(outgoing, {"error": f"{type(problem).__name__}: {problem}"}, {})
            continue
        send(outgoing, taken, maps)


if __name__ == "__main__":
    main()
