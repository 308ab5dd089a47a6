"""A cost-volume matcher as a network of ONNX operators, and the same in NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

BLOCK = 7


def cost_volume_network(path: Path, ndisp: int, *, channels: int = 1, layout: str = "NCHW") -> Path:
    """argmin over d of the sum of |L(x, y) − R(x − d, y)| in a block, with the smallest cost as a second output."""
    from onnx import TensorProto, checker, helper, save

    names = [1, channels, "height", "width"] if layout == "NCHW" else [1, "height", "width", channels]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, names) for name in ("left", "right")]
    nodes: list[Any] = []
    constants = {
        "zero": ([0.0], TensorProto.FLOAT, []),
        "axes": ([3], TensorProto.INT64, [1]),
        "start": ([0], TensorProto.INT64, [1]),
        "block": ([1.0] * (ndisp * BLOCK * BLOCK), TensorProto.FLOAT, [ndisp, 1, BLOCK, BLOCK]),
    }
    sources = {"left": "left", "right": "right"}
    if layout == "NHWC":
        for name in sources:
            nodes.append(helper.make_node("Transpose", [name], [f"{name}_first"], perm=[0, 3, 1, 2]))
            sources[name] = f"{name}_first"
    costs = []
    for d in range(ndisp):
        constants[f"pads{d}"] = ([0, 0, 0, d, 0, 0, 0, 0], TensorProto.INT64, [8])
        constants[f"end{d}"] = ([-d if d else np.iinfo(np.int64).max], TensorProto.INT64, [1])
        nodes += [
            helper.make_node("Pad", [sources["right"], f"pads{d}", "zero"], [f"padded{d}"]),
            helper.make_node("Slice", [f"padded{d}", "start", f"end{d}", "axes"], [f"shifted{d}"]),
            helper.make_node("Sub", [sources["left"], f"shifted{d}"], [f"difference{d}"]),
            helper.make_node("Abs", [f"difference{d}"], [f"absolute{d}"]),
            helper.make_node("ReduceSum", [f"absolute{d}", "one"], [f"cost{d}"], keepdims=1),
        ]
        costs.append(f"cost{d}")
    constants["one"] = ([1], TensorProto.INT64, [1])
    half = BLOCK // 2
    nodes += [
        helper.make_node("Concat", costs, ["costs"], axis=1),
        helper.make_node("Conv", ["costs", "block"], ["sums"], group=ndisp, pads=[half] * 4),
        helper.make_node("ArgMin", ["sums"], ["winner"], axis=1, keepdims=1),
        helper.make_node("Cast", ["winner"], ["disparity"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMin", ["sums", "one"], ["sigma"], keepdims=1),
    ]
    shape = [1, 1, "height", "width"]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("disparity", "sigma")]
    values = [helper.make_tensor(name, kind, shape, data) for name, (data, kind, shape) in constants.items()]
    graph = helper.make_graph(nodes, "cost volume", inputs, outputs, initializer=values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    checker.check_model(model)
    save(model, str(path))
    return path


def cost_volume(left: NDArray[Any], right: NDArray[Any], ndisp: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The network's disparity and smallest cost, computed with NumPy and OpenCV on grey images."""
    first, second = left.astype(np.float32), right.astype(np.float32)
    sums = np.empty((ndisp, *first.shape), np.float32)
    for d in range(ndisp):
        shifted = np.zeros_like(second)
        shifted[:, d:] = second[:, : second.shape[1] - d]
        cost = np.abs(first - shifted)
        sums[d] = cv2.boxFilter(cost, -1, (BLOCK, BLOCK), normalize=False, borderType=cv2.BORDER_CONSTANT)
    return sums.argmin(axis=0).astype(np.float32), sums.min(axis=0)
