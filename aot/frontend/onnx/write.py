"""Writes a float graph as an ONNX file that computes the same, so that it can be quantized.

Images are channels-last in graphs and channels-first in ONNX. A value exists in the order in which its node
computes it, and in the other one once a node needs that; elements keep the order of what they are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from aot.errors import ModelError
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import BinaryOp
from aot.ops.combine import Combination, Combine
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import Mean
from aot.ops.pad import Pad
from aot.ops.rearrange import Rearrange
from aot.ops.reduce import Reduce, Reduction
from aot.ops.reshape import Reshape
from aot.ops.resize import Resize
from aot.ops.softmax import Softmax
from aot.ops.spatial import Padding
from aot.ops.unary import Clamp, LeakyRelu
from aot.ops.unary_math import MathFunction, UnaryMath

_OPSET = 17
_IR_VERSION = 8
_TO_IMAGE = (0, 3, 1, 2)  # from channels-last to channels-first
_TO_PLAIN = (0, 2, 3, 1)
_AXIS_OF_IMAGE = (0, 2, 3, 1)  # of each axis in channels-last order
_ELEMENTS = {
    DType.F32: TensorProto.FLOAT,
    DType.I32: TensorProto.INT32,
    DType.I64: TensorProto.INT64,
    DType.BOOL: TensorProto.BOOL,
}


@dataclass
class _Sheet:
    """The file being written: names of each value in channels-last and in channels-first order."""

    graph: Graph
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    plain: dict[str, str] = field(default_factory=dict)
    images: dict[str, str] = field(default_factory=dict)
    numbers: int = 0  # of constants that are not in the graph

    def shape(self, name: str) -> tuple[int, ...]:
        return self.graph.types[name].shape

    def as_plain(self, name: str) -> str:
        """Returns the value in the graph's order."""
        if name not in self.plain:
            data = self.graph.constants.get(name)
            self.plain[name] = (
                self._ordered(
                    self.images[name], name if name in self.graph.outputs else f"{name}/last", _TO_PLAIN
                )
                if data is None
                else self.constant(data, name)
            )
        return self.plain[name]

    def as_image(self, name: str) -> str:
        """Returns an image with its channels first."""
        if name not in self.images:
            data = self.graph.constants.get(name)
            self.images[name] = (
                self._ordered(self.plain[name], f"{name}/first", _TO_IMAGE)
                if data is None
                else self.constant(data.transpose(_TO_IMAGE), f"{name}/first")
            )
        return self.images[name]

    def is_image(self, names: Sequence[str]) -> bool:
        """Returns whether a node on elements of these values needs fewer changes of order on images."""
        computed = [name for name in names if name not in self.graph.constants]
        only_images = [name for name in computed if name in self.images and name not in self.plain]
        return bool(only_images) and all(len(self.shape(name)) == 4 for name in names)

    def operand(self, name: str, is_image: bool) -> str:
        return self.as_image(name) if is_image else self.as_plain(name)

    def constant(self, data: Array, name: str = "") -> str:
        """Adds a constant."""
        self.numbers += not name
        name = name or f"constant_{self.numbers}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(data), name))
        return name

    def integers(self, values: Sequence[int]) -> str:
        return self.constant(np.array(values, np.int64))

    def add(self, op_type: str, inputs: Sequence[str], name: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], name=name, **attributes))
        return name

    def deliver(
        self,
        node: Node,
        op_type: str,
        inputs: Sequence[str],
        is_image: bool,
        activation: Activation = Activation.NONE,
        **attributes: Any,
    ) -> None:
        """Adds the operator that computes the node's result, and its activation."""
        (output,) = node.outputs
        name = f"{output}/first" if is_image and output in self.graph.outputs else output
        if activation in (Activation.NONE, Activation.FINITE):
            self.add(op_type, inputs, name, **attributes)
        else:
            clamp, *limits = self.clamp(activation)
            made = self.add(op_type, inputs, f"{name}/sum", **attributes)
            self.add(clamp, [made, *limits], name)
        (self.images if is_image else self.plain)[output] = name

    def clamp(self, activation: Activation) -> tuple[str, ...]:
        """Returns the operator of an activation, and its limits."""
        if activation is Activation.RELU:
            return ("Relu",)
        return ("Clip", *(self.constant(np.array(limit, np.float32)) for limit in activation.real_limits))

    def _ordered(self, source: str, name: str, order: Sequence[int]) -> str:
        return self.add("Transpose", [source], name, perm=list(order))


_Writer = Callable[[_Sheet, Node], str | None]  # returns why the node cannot be written, or None


def write_onnx(graph: Graph, file_name: str) -> bytes:
    """Returns the bytes of the file. ModelError names every node without an ONNX operator."""
    quantized = next((name for name, each in graph.types.items() if each.quant is not None), None)
    if quantized is not None:
        raise ModelError(
            f'the model is already quantized: "{quantized}" has a scale',
            file_name,
            "compile it as it is, or give the float model to quantize it again",
        )
    given = (*graph.inputs, *(state.name for state in graph.states))
    sheet = _Sheet(graph, plain={name: name for name in given})
    refused = ["states that persist between runs"] if graph.states else []
    refused += [f'input "{name}": {fault}' for name in graph.inputs if (fault := _unfit(graph, [name]))]
    for node in graph.nodes:
        why = _unfit(graph, (*node.reads, *node.outputs)) or WRITERS.get(node.op.name, _unknown)(sheet, node)
        if why:
            refused.append(f'{node.op.name} "{node.name}": {why}')
            sheet.plain |= {output: output for output in node.outputs}
    if refused:
        raise ModelError(
            "the model cannot be written as ONNX, which is what is quantized",
            "\n".join((file_name, *refused)),
            "quantize the model with its framework's converter   (deploy docs exporting)",
        )
    for name in graph.outputs:
        if sheet.as_plain(name) != name:
            sheet.add("Identity", [sheet.as_plain(name)], name)
    made = helper.make_graph(
        sheet.nodes,
        graph.name or "model",
        [_described(graph, name) for name in graph.inputs],
        [_described(graph, name) for name in graph.outputs],
        sheet.constants,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="solder")
    model.ir_version = _IR_VERSION
    return bytes(model.SerializeToString())


def _described(graph: Graph, name: str) -> onnx.ValueInfoProto:
    tensor = graph.types[name]
    return helper.make_tensor_value_info(name, _ELEMENTS[tensor.dtype], tensor.shape)


def _unknown(_sheet: _Sheet, _node: Node) -> str:
    return "no operator is written for it"


def _unfit(graph: Graph, names: Sequence[str]) -> str:
    """Returns why the elements of these values cannot be written; empty if they can."""
    unknown = {graph.types[name].dtype for name in names} - _ELEMENTS.keys()
    return f"elements of {', '.join(sorted(dtype.value for dtype in unknown))}" if unknown else ""


def _elementwise(op_type: str, **attributes: Any) -> _Writer:
    def write(sheet: _Sheet, node: Node) -> None:
        is_image = sheet.is_image(node.reads)
        inputs = [sheet.operand(name, is_image) for name in node.reads]
        activation = node.op.activation if isinstance(node.op, BinaryOp) else Activation.NONE
        sheet.deliver(node, op_type, inputs, is_image, activation, **attributes)

    return write


def _clamp(sheet: _Sheet, node: Node) -> None:
    is_image = sheet.is_image(node.reads)
    operator = sheet.clamp(node.op_as(Clamp).activation)
    x = sheet.operand(node.reads[0], is_image)
    sheet.deliver(node, operator[0], [x, *operator[1:]], is_image)


def _conv2d(sheet: _Sheet, node: Node) -> str | None:
    op, w = node.op_as(Conv2d), sheet.graph.constants.get(node.reads[1])
    if w is None:
        return "its weights are not constant"
    _convolved(sheet, node, op, w.transpose(0, 3, 1, 2), 1)
    return None


def _depthwise(sheet: _Sheet, node: Node) -> str | None:
    op, w = node.op_as(DepthwiseConv2d), sheet.graph.constants.get(node.reads[1])
    if w is None:
        return "its weights are not constant"
    _convolved(sheet, node, op, w.transpose(2, 0, 1)[:, None], sheet.shape(node.reads[0])[3])
    return None


def _convolved(sheet: _Sheet, node: Node, op: Conv2d | DepthwiseConv2d, w: Array, group: int) -> None:
    x, weights, *bias = node.reads
    inputs = [sheet.as_image(x), sheet.constant(w, weights), *map(sheet.as_plain, bias)]
    sheet.deliver(
        node,
        "Conv",
        inputs,
        True,
        op.activation,
        kernel_shape=w.shape[2:],
        strides=op.stride,
        dilations=op.dilation,
        pads=_pads(op.padding),
        group=group,
    )


def _pads(padding: Padding) -> list[int]:
    (top, bottom), (left, right) = padding
    return [top, left, bottom, right]


def _dense(sheet: _Sheet, node: Node) -> None:
    inputs = [sheet.as_plain(name) for name in node.reads]
    sheet.deliver(node, "Gemm", inputs, False, node.op_as(Dense).activation, transB=1)


def _pool(op_type: str, **attributes: Any) -> _Writer:
    def write(sheet: _Sheet, node: Node) -> None:
        op = node.op
        assert isinstance(op, AveragePool2d | MaxPool2d)
        sheet.deliver(
            node,
            op_type,
            [sheet.as_image(node.reads[0])],
            True,
            op.activation,
            kernel_shape=op.size,
            strides=op.stride,
            pads=_pads(op.padding),
            **attributes,
        )

    return write


def _reduced(sheet: _Sheet, node: Node, op_type: str, axes: Sequence[int]) -> None:
    (x,) = node.reads
    is_image = sheet.is_image([x])
    places = [_AXIS_OF_IMAGE[axis] for axis in axes] if is_image else list(axes)
    if op_type == "ReduceSum":  # the only one whose axes are an operand in this operator set
        inputs = [sheet.operand(x, is_image), sheet.integers(places)]
        sheet.deliver(node, op_type, inputs, is_image, keepdims=1)
        return
    sheet.deliver(node, op_type, [sheet.operand(x, is_image)], is_image, axes=places, keepdims=1)


def _mean(sheet: _Sheet, node: Node) -> None:
    if len(node.op_as(Mean).axes) == 2 and sheet.is_image(node.reads):
        sheet.deliver(node, "GlobalAveragePool", [sheet.as_image(node.reads[0])], True)
        return
    _reduced(sheet, node, "ReduceMean", node.op_as(Mean).axes)


_REDUCTIONS = {
    Reduction.SUM: "ReduceSum",
    Reduction.PRODUCT: "ReduceProd",
    Reduction.MAXIMUM: "ReduceMax",
    Reduction.MINIMUM: "ReduceMin",
}


def _reduce(sheet: _Sheet, node: Node) -> str | None:
    op = node.op_as(Reduce)
    if op.by not in _REDUCTIONS:
        return str(op.by.value)
    _reduced(sheet, node, _REDUCTIONS[op.by], op.axes)
    return None


def _pad(sheet: _Sheet, node: Node) -> None:
    (top, bottom), (left, right) = node.op_as(Pad).padding
    amounts = sheet.integers((0, 0, top, left, 0, 0, bottom, right))
    fill = sheet.constant(np.array(node.op_as(Pad).value, np.float32))
    sheet.deliver(node, "Pad", [sheet.as_image(node.reads[0]), amounts, fill], True, mode="constant")


def _concat(sheet: _Sheet, node: Node) -> None:
    is_image, axis = sheet.is_image(node.reads), node.op_as(Concat).axis
    inputs = [sheet.operand(name, is_image) for name in node.reads]
    sheet.deliver(node, "Concat", inputs, is_image, axis=_AXIS_OF_IMAGE[axis] if is_image else axis)


def _reshape(sheet: _Sheet, node: Node) -> None:
    shape = sheet.integers(node.op_as(Reshape).shape)
    sheet.deliver(node, "Reshape", [sheet.as_plain(node.reads[0]), shape], False)


def _rearrange(sheet: _Sheet, node: Node) -> None:
    """Writes a transposition, or else picks each element by its number."""
    op, x = node.op_as(Rearrange), node.reads[0]
    shape, order = sheet.shape(x), _transposition(op, sheet.shape(x))
    if order is not None:
        sheet.deliver(node, "Transpose", [sheet.as_plain(x)], False, perm=order)
        return
    name = node.outputs[0]
    flat = sheet.as_plain(x)
    if len(shape) != 1:
        flat = sheet.add("Reshape", [flat, sheet.integers((-1,))], f"{name}/flat")
    picks = sheet.constant(op.loops.indices().astype(np.int64).reshape(op.shape))
    sheet.deliver(node, "Gather", [flat, picks], False, axis=0)


def _transposition(op: Rearrange, shape: tuple[int, ...]) -> list[int] | None:
    """Returns the axes of x in the order of the result's, or None if it is not a transposition."""
    steps = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
    if op.offset or op.sizes != op.shape or len(op.shape) != len(shape):
        return None
    left, order = list(range(len(shape))), []
    for size, stride in zip(op.sizes, op.strides, strict=True):
        axis = next((a for a in left if shape[a] == size and (steps[a] == stride or size == 1)), None)
        if axis is None:
            return None
        left.remove(axis)
        order.append(axis)
    return order


def _resize(sheet: _Sheet, node: Node) -> None:
    op, x = node.op_as(Resize), node.reads[0]
    number, channels = sheet.shape(x)[0], sheet.shape(x)[3]
    place = "align_corners" if op.align_corners else "half_pixel" if op.half_pixels else "asymmetric"
    inputs = [sheet.as_image(x), "", "", sheet.integers((number, channels, *op.size))]
    sheet.deliver(node, "Resize", inputs, True, mode="linear", coordinate_transformation_mode=place)


def _batch_matmul(sheet: _Sheet, node: Node) -> None:
    op, inputs = node.op_as(BatchMatmul), []
    for name, is_transposed in zip(node.reads, (op.x_transposed, op.y_transposed), strict=True):
        plain = sheet.as_plain(name)
        if is_transposed:
            order = [
                *range(len(sheet.shape(name)) - 2),
                len(sheet.shape(name)) - 1,
                len(sheet.shape(name)) - 2,
            ]
            plain = sheet.add("Transpose", [plain], f"{node.outputs[0]}/{name}", perm=order)
        inputs.append(plain)
    sheet.deliver(node, "MatMul", inputs, False)


def _squared_difference(sheet: _Sheet, node: Node) -> None:
    is_image = sheet.is_image(node.reads)
    operands = [sheet.operand(name, is_image) for name in node.reads]
    difference = sheet.add("Sub", operands, f"{node.outputs[0]}/difference")
    sheet.deliver(node, "Mul", [difference] * 2, is_image, node.op_as(BinaryOp).activation)


def _log_softmax(sheet: _Sheet, node: Node) -> None:
    sheet.deliver(node, "LogSoftmax", [sheet.as_plain(node.reads[0])], False, axis=-1)


def _softmax(sheet: _Sheet, node: Node) -> None:
    x, beta = sheet.as_plain(node.reads[0]), node.op_as(Softmax).beta
    if beta != 1.0:
        x = sheet.add("Mul", [x, sheet.constant(np.array(beta, np.float32))], f"{node.outputs[0]}/scaled")
    sheet.deliver(node, "Softmax", [x], False, axis=-1)


def _leaky_relu(sheet: _Sheet, node: Node) -> None:
    _elementwise("LeakyRelu", alpha=node.op_as(LeakyRelu).alpha)(sheet, node)


def _combine(sheet: _Sheet, node: Node) -> str | None:
    by = node.op_as(Combine).by
    found = {Combination.MAXIMUM: "Max", Combination.MINIMUM: "Min", Combination.POWER: "Pow"}.get(by)
    return f"{by.value} of two tensors" if found is None else _elementwise(found)(sheet, node)


_MATH = {
    MathFunction.NEGATE: "Neg",
    MathFunction.ABS: "Abs",
    MathFunction.SIGN: "Sign",
    MathFunction.SQRT: "Sqrt",
    MathFunction.RECIPROCAL: "Reciprocal",
    MathFunction.EXP: "Exp",
    MathFunction.LOG: "Log",
    MathFunction.SIN: "Sin",
    MathFunction.COS: "Cos",
    MathFunction.TAN: "Tan",
    MathFunction.ASIN: "Asin",
    MathFunction.ACOS: "Acos",
    MathFunction.ATAN: "Atan",
    MathFunction.SINH: "Sinh",
    MathFunction.COSH: "Cosh",
    MathFunction.ASINH: "Asinh",
    MathFunction.ACOSH: "Acosh",
    MathFunction.ATANH: "Atanh",
    MathFunction.ERF: "Erf",
    MathFunction.CEIL: "Ceil",
    MathFunction.FLOOR: "Floor",
    MathFunction.ROUND: "Round",
    MathFunction.ELU: "Elu",
    MathFunction.SOFTPLUS: "Softplus",
    MathFunction.SOFTSIGN: "Softsign",
}


def _unary_math(sheet: _Sheet, node: Node) -> str | None:
    op, is_image = node.op_as(UnaryMath), sheet.is_image(node.reads)
    if op.of is MathFunction.SQUARE:
        sheet.deliver(node, "Mul", [sheet.operand(node.reads[0], is_image)] * 2, is_image)
        return None
    if op.of is MathFunction.RSQRT:
        root = sheet.add("Sqrt", [sheet.operand(node.reads[0], is_image)], f"{node.outputs[0]}/root")
        sheet.deliver(node, "Reciprocal", [root], is_image)
        return None
    found = _MATH.get(op.of)
    if found is None:
        return str(op.of.value)
    attributes: dict[str, Any] = {"alpha": op.alpha} if op.of is MathFunction.ELU else {}
    return _elementwise(found, **attributes)(sheet, node)


WRITERS: Mapping[str, _Writer] = {
    "add": _elementwise("Add"),
    "average_pool2d": _pool("AveragePool"),
    "batch_matmul": _batch_matmul,
    "clamp": _clamp,
    "combine": _combine,
    "concat": _concat,
    "conv2d": _conv2d,
    "dense": _dense,
    "depthwise_conv2d": _depthwise,
    "div": _elementwise("Div"),
    "hard_swish": _elementwise("HardSwish"),
    "leaky_relu": _leaky_relu,
    "log_softmax": _log_softmax,
    "logistic": _elementwise("Sigmoid"),
    "max_pool2d": _pool("MaxPool"),
    "mean": _mean,
    "mul": _elementwise("Mul"),
    "pad": _pad,
    "prelu": _elementwise("PRelu"),
    "rearrange": _rearrange,
    "reduce": _reduce,
    "reshape": _reshape,
    "resize": _resize,
    "softmax": _softmax,
    "squared_difference": _squared_difference,
    "sub": _elementwise("Sub"),
    "tanh": _elementwise("Tanh"),
    "unary_math": _unary_math,
}
