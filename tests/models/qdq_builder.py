"""Builds small quantised ONNX models as exporters write them: floats between Quantize and Dequantize.

    build = QdqBuilder("twin")
    x = build.input("image", (1, 3, 8, 8), scale=0.5)
    y = build.quantised(build.node("Conv", x, build.weights(w, scales)), scale=0.25)
    data = build.finish(y)

Inputs and outputs of the model are integers; values in between are named by strings.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from aot.ir.types import Array

_ELEMENTS = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16}


class QdqBuilder:
    """Grows a model; finish() writes it."""

    def __init__(self, name: str = "model", opset: int = 21) -> None:
        self.name = name
        self.opset = opset
        self.inputs: list[onnx.ValueInfoProto] = []
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.integers: dict[str, tuple[str, int]] = {}  # real value -> the quantised one, its element type

    def input(
        self, name: str, shape: tuple[int, ...], scale: float, zero_point: int = 0, dtype: str = "int8"
    ) -> str:
        """The real values that an input of integers stands for."""
        self.inputs.append(helper.make_tensor_value_info(name, _ELEMENTS[dtype], shape))
        return self._dequantised(name, np.float32(scale), np.dtype(dtype).type(zero_point))

    def real_input(self, name: str, shape: tuple[int, ...]) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        return name

    def quantised(self, real: str, scale: float, zero_point: int = 0, dtype: str = "int8") -> str:
        """The value rounded to integers, as floats again."""
        operands = (real, self.constant(np.float32(scale)), self.constant(np.dtype(dtype).type(zero_point)))
        return self._dequantised(self.node("QuantizeLinear", *operands), *self._arrays(operands[1:]))

    def weights(
        self, integers: Array, scales: Sequence[float], axis: int = 0, zero_points: Array | None = None
    ) -> str:
        """Constants with one scale or one for each index of the axis."""
        scale = np.array(scales[0], np.float32) if len(scales) == 1 else np.array(scales, np.float32)
        zeros = np.zeros(scale.shape, integers.dtype) if zero_points is None else zero_points
        return self._dequantised(self.constant(integers), scale, zeros, axis=axis)

    def node(self, op_type: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> str:
        names = [f"{op_type.lower()}_{len(self.nodes)}{'_' * number}" for number in range(outputs)]
        self.nodes.append(helper.make_node(op_type, inputs, names, domain=domain, **attributes))
        return names[0]

    def constant(self, array: Array | np.generic) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def finish(self, *outputs: str) -> bytes:
        """Outputs are given as integers where they are quantised."""
        found = [self.integers.get(name, (name, TensorProto.FLOAT)) for name in outputs]
        results = [helper.make_tensor_value_info(name, element, None) for name, element in found]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, results, self.constants)
        domains = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=domains, ir_version=10)
        data: bytes = model.SerializeToString()
        return data

    def _arrays(self, names: Sequence[str]) -> list[Array]:
        found = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.constants}
        return [found[name] for name in names]

    def _dequantised(self, integers: str, scale: Array, zero_point: Array, **attributes: int) -> str:
        operands = (integers, self.constant(scale), self.constant(zero_point))
        real = self.node("DequantizeLinear", *operands, **attributes)  # type: ignore[arg-type]
        self.integers[real] = integers, _ELEMENTS.get(np.asarray(zero_point).dtype.name, TensorProto.INT32)
        return real
