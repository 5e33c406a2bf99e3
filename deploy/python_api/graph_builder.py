"""Builds a graph in Python. Each operator is checked when it is added; the result is a model.

Internally the graph is ONNX, so it can be read, compiled, quantized and saved like an ONNX file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from math import inf, prod
from pathlib import Path
from typing import Any

import numpy as np

from aot.errors import OutputError, did_you_mean
from aot.frontend.onnx.written import (
    WRITTEN_TYPES,
    UnwritableError,
    WrittenGraph,
    WrittenSlot,
    numpy_of,
    operators,
)
from aot.ir.types import Array
from artifact.whole_file import write_whole
from codegen.lang.misuse import checks_arguments, misuse
from codegen.lang.operators import WholeOperators, refuse_operators
from deploy.devices.build_cache import cached
from deploy.python_api.model import Model, load

# ONNX operators for Python's integer and comparison operators.

# ONNX operator, supported types, attributes.
WHOLE: Mapping[str, tuple[str, tuple[str, ...], Mapping[str, str]]] = {
    "&": ("And", ("bool",), {}),
    "|": ("Or", ("bool",), {}),
    "^": ("Xor", ("bool",), {}),
    "~": ("Not", ("bool",), {}),
    "<<": ("BitShift", ("u8",), {"direction": "LEFT"}),
    ">>": ("BitShift", ("u8",), {"direction": "RIGHT"}),
    "%": ("Mod", ("i8", "u8", "i16", "i32", "i64"), {}),
    "//": ("", (), {}),
}


_ACTIVATIONS = ("relu", "relu6", "sigmoid", "tanh")


class GraphValue(WholeOperators["GraphValue"]):
    """A value of a graph: an input, a constant, or an operator's result."""

    __array_ufunc__ = None  # so that `array + value` calls GraphValue's operator

    def __init__(self, graph: ModelGraph, name: str, slot: WrittenSlot) -> None:
        self.graph, self.name, self.slot = graph, name, slot

    @property
    def shape(self) -> tuple[int, ...]:
        return self.slot.shape

    @property
    def dtype(self) -> str:
        """The element type in the compiler's notation: "f32", "i8"."""
        return self.slot.dtype

    def __repr__(self) -> str:
        return f"<{self.name}: {self.slot}>"

    def __add__(self, other: Any) -> GraphValue:
        return self.graph.apply("Add", self, other)

    def __radd__(self, other: Any) -> GraphValue:
        return self.graph.apply("Add", other, self)

    def __sub__(self, other: Any) -> GraphValue:
        return self.graph.apply("Sub", self, other)

    def __rsub__(self, other: Any) -> GraphValue:
        return self.graph.apply("Sub", other, self)

    def __mul__(self, other: Any) -> GraphValue:
        return self.graph.apply("Mul", self, other)

    def __rmul__(self, other: Any) -> GraphValue:
        return self.graph.apply("Mul", other, self)

    def __truediv__(self, other: Any) -> GraphValue:
        return self.graph.apply("Div", self, other)

    def __rtruediv__(self, other: Any) -> GraphValue:
        return self.graph.apply("Div", other, self)

    def __matmul__(self, other: Any) -> GraphValue:
        return self.graph.apply("MatMul", self, other)

    def __rmatmul__(self, other: Any) -> GraphValue:
        return self.graph.apply("MatMul", other, self)

    def __neg__(self) -> GraphValue:
        return self.graph.apply("Neg", self)

    def _by(self, op: str, other: Any) -> GraphValue:
        return self._combined(op, (self,) if op == "~" else (self, other))

    def _under(self, op: str, other: Any) -> GraphValue:
        return self._combined(op, (other, self))

    def _combined(self, op: str, operands: tuple[Any, ...]) -> GraphValue:
        operator, types, attributes = WHOLE[op]
        if self.dtype not in types:
            said = f"supported by {', '.join(types)}" if types else _APPLIED
            raise misuse(f"a value of a graph of type {self.dtype} has no {op}", said)
        return self.graph.apply(operator, *operands, **attributes)


_APPLIED = "use graph.apply(...), which has all ONNX operators"
_REFUSED = {
    "divmod": ("divided with a remainder", _APPLIED),
    "pow": ("raised to powers by **", 'graph.apply("Pow", x, 2.0)'),
    **dict.fromkeys(("lt", "le", "gt", "ge"), ("compared", _APPLIED)),
    "getitem": ("taken apart by [...]", 'graph.apply("Slice", x, starts, ends)'),
    "bool": ("known while the graph is written", 'graph.apply("Where", condition, x, y)'),
    "len": ("counted by len", "x.shape"),
}
refuse_operators(GraphValue, "values of a graph", _REFUSED)


class ModelGraph:
    """A graph under construction. Images are [batch, channels, rows, columns], as in ONNX."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.inputs: dict[str, GraphValue] = {}
        self.outputs: dict[str, GraphValue] = {}
        self._written = WrittenGraph(name)
        self._names: set[str] = set()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(repr, each.values())) for each in (self.inputs, self.outputs))
        return f"<graph {self.name}: {inputs} -> {outputs}, {len(self._written.nodes)} nodes>"

    # ---- inputs and outputs ----

    @checks_arguments
    def input(self, name: str, shape: Sequence[int], dtype: str = "f32") -> GraphValue:
        if dtype not in WRITTEN_TYPES:
            near = did_you_mean(dtype, WRITTEN_TYPES)
            raise misuse(f'there is no type "{dtype}"{near}', f"there are {', '.join(WRITTEN_TYPES)}")
        if any(size < 1 for size in shape):
            raise misuse(f"{name} has the shape {list(shape)}; sizes must be at least 1")
        if not name:
            raise misuse("an input needs a name")
        slot = self._written.put_input(self._free(name), dtype, shape)
        self.inputs[name] = GraphValue(self, name, slot)
        return self.inputs[name]

    @checks_arguments
    def constant(self, array: Array | float, name: str = "") -> GraphValue:
        """Adds a constant; double becomes single precision."""
        found = self._numbers(array)
        found = found.astype(np.float32) if found.dtype == np.float64 else found
        taken = self._free(name) if name else self._new("constant")
        return GraphValue(self, taken, self._written.put_constant(taken, found))

    @checks_arguments
    def output(self, value: GraphValue, name: str = "") -> GraphValue:
        """Makes a value an output, optionally with a new name."""
        self._require_own(value)
        result = self.apply("Identity", value, name=name) if name else value
        self.outputs[result.name] = result
        return result

    # ---- operators ----

    @checks_arguments
    def apply(self, operator: str, *operands: Any, name: str = "", **attributes: Any) -> GraphValue:
        """Adds any ONNX operator with one result. Shape and type are inferred; None omits an operand."""
        if operator not in operators():
            raise misuse(f'ONNX has no operator "{operator}"{did_you_mean(operator, operators())}')
        given = [None if each is None else self._operand(each, operands) for each in operands]
        result = self._free(name) if name else self._new(operator.lower())
        try:
            slot = self._written.put_node(
                operator, [each.name if each is not None else "" for each in given], result, attributes
            )
        except (UnwritableError, TypeError, ValueError) as error:
            self._names.discard(result)
            raise misuse(f"{operator}({_listed(given)}): {error}") from None
        return GraphValue(self, result, slot)

    @checks_arguments
    def conv2d(
        self,
        x: GraphValue,
        weights: Any,
        bias: Any = None,
        stride: int = 1,
        padding: int | str = 0,
        groups: int = 1,
        activation: str = "",
        name: str = "",
    ) -> GraphValue:
        """Adds a 2-D convolution. Padding is a number of pixels at each side, or "same".

        Weights are [outputs, inputs per group, rows, columns].
        """
        kernel = self._operand(weights, (x,))
        depth = kernel.shape[1] * groups if len(kernel.shape) == 4 else 0
        if len(x.shape) == 4 and depth != x.shape[1]:
            raise misuse(
                f"conv2d({_listed([x, kernel])}): the image has {x.shape[1]} channels, the weights {depth}"
            )
        outputs = kernel.shape[:1]
        added = None if bias is None else self._operand(bias, (x,))
        if added is not None and added.shape != outputs:
            raise misuse(
                f"conv2d({_listed([x, kernel, added])}): the bias has the shape {list(added.shape)}, "
                f"and the weights have {outputs[0]} output channels"
            )
        made = self.apply(
            "Conv",
            x,
            kernel,
            added,
            name="" if activation else name,
            strides=[stride, stride],
            group=groups,
            **_padding(padding),
        )
        return self.activation(made, activation, name) if activation else made

    @checks_arguments
    def dense(
        self, x: GraphValue, weights: Any, bias: Any = None, activation: str = "", name: str = ""
    ) -> GraphValue:
        """Adds a dense layer. Weights are [outputs, inputs]; `x` is flattened."""
        flat = x if len(x.shape) == 2 else self.apply("Flatten", x)
        made = self.apply("Gemm", flat, weights, bias, name="" if activation else name, transB=1)
        return self.activation(made, activation, name) if activation else made

    @checks_arguments
    def max_pool2d(
        self, x: GraphValue, size: int, stride: int = 0, padding: int | str = 0, name: str = ""
    ) -> GraphValue:
        """Adds max pooling. The stride defaults to the size."""
        return self._pool("MaxPool", x, size, stride, padding, name)

    @checks_arguments
    def average_pool2d(
        self, x: GraphValue, size: int, stride: int = 0, padding: int | str = 0, name: str = ""
    ) -> GraphValue:
        """Adds average pooling. The stride defaults to the size."""
        return self._pool("AveragePool", x, size, stride, padding, name)

    @checks_arguments
    def mean_of_image(self, x: GraphValue, name: str = "") -> GraphValue:
        """Adds the mean of each channel over all rows and columns."""
        return self.apply("GlobalAveragePool", x, name=name)

    @checks_arguments
    def activation(self, x: GraphValue, kind: str, name: str = "") -> GraphValue:
        """Adds an activation: "relu", "relu6", "sigmoid" or "tanh"."""
        if kind not in _ACTIVATIONS:
            raise misuse(
                f'there is no activation "{kind}"{did_you_mean(kind, _ACTIVATIONS)}',
                f"there are {', '.join(_ACTIVATIONS)}",
            )
        if kind == "relu6":
            return self.apply("Clip", x, np.float32(0), np.float32(6), name=name)
        return self.apply(kind.title(), x, name=name)

    @checks_arguments
    def softmax(self, x: GraphValue, axis: int = -1, name: str = "") -> GraphValue:
        return self.apply("Softmax", x, name=name, axis=axis)

    @checks_arguments
    def reshape(self, x: GraphValue, shape: Sequence[int], name: str = "") -> GraphValue:
        if any(size < 1 for size in shape if size != -1) or list(shape).count(-1) > 1:
            raise misuse(
                f"{list(shape)} is not a valid shape for {x!r}",
                "sizes must be at least 1; one may be -1 (the rest)",
            )
        if -1 not in shape and prod(shape) != prod(x.shape):
            raise misuse(f"reshape: {x!r} has {prod(x.shape)} elements, {list(shape)} has {prod(shape)}")
        return self.apply("Reshape", x, np.asarray(shape, np.int64), name=name)

    @checks_arguments
    def concat(self, values: Sequence[GraphValue], axis: int = 1, name: str = "") -> GraphValue:
        return self.apply("Concat", *values, name=name, axis=axis)

    @checks_arguments
    def quantize(
        self, x: GraphValue, scale: float, zero_point: int = 0, dtype: str = "i8", name: str = ""
    ) -> GraphValue:
        """Converts to the nearest integers of x / scale + zero point.

        Layers up to the next `dequantize` compute with integers.
        """
        zero = self._zero_point(scale, zero_point, dtype)
        return self.apply("QuantizeLinear", x, np.float32(scale), zero, name=name)

    @checks_arguments
    def dequantize(self, x: GraphValue, scale: float, zero_point: int = 0, name: str = "") -> GraphValue:
        """Converts integers to floats: (x - zero point) * scale."""
        zero = self._zero_point(scale, zero_point, x.dtype)
        return self.apply("DequantizeLinear", x, np.float32(scale), zero, name=name)

    # ---- results ----

    def model(self, **options: Any) -> Model:
        """Returns the graph as a model, like deploy.load. Raises ModelError for unsupported graphs."""
        data = self._data()
        digest = hashlib.sha256(data).hexdigest()[:16]
        file = f"{self.name}.onnx"
        folder = cached(f"graph-{digest}", lambda place: write_whole(place / file, data))
        return load(folder / file, **options)

    @checks_arguments
    def save(self, path: str | Path) -> Path:
        """Writes an ONNX file, for `deploy quantize` and other tools."""
        place = Path(path)
        if place.suffix != ".onnx":
            raise OutputError("a graph is saved as ONNX", str(place), f"{place.with_suffix('.onnx')}")
        write_whole(place, self._data())
        return place

    def _data(self) -> bytes:
        if not self.outputs:
            raise misuse(f"{self.name} has no output", "graph.output(value)")
        return self._written.file(list(self.inputs), list(self.outputs))

    # ---- helpers ----

    def _pool(
        self, operator: str, x: GraphValue, size: int, stride: int, padding: int | str, name: str
    ) -> GraphValue:
        edge = 2 * padding if isinstance(padding, int) else size
        if not 1 <= size <= min(x.shape[2:], default=size) + edge:
            raise misuse(
                f"windows of {size} do not fit {x!r}", "images must be [batch, channels, rows, columns]"
            )
        step = stride or size
        return self.apply(
            operator, x, name=name, kernel_shape=[size, size], strides=[step, step], **_padding(padding)
        )

    def _operand(self, given: Any, beside: Sequence[Any]) -> GraphValue:
        if isinstance(given, GraphValue):
            self._require_own(given)
            return given
        array = self._numbers(given)
        if isinstance(given, int | float):  # a plain number gets the type of the other operand
            types = [each.dtype for each in beside if isinstance(each, GraphValue)]
            array = array.astype(numpy_of(types[0])) if types else array
        return self.constant(array)

    def _numbers(self, given: Any) -> Array:
        try:
            array = np.asarray(given)
        except ValueError:  # lists of different lengths
            array = np.asarray(None)
        if array.dtype.kind not in "fiub" or not array.size:
            raise misuse(f"{given!r} is neither a value of the graph nor an array of numbers")
        return array

    def _zero_point(self, scale: float, zero_point: int, dtype: str) -> Array:
        """Returns the zero point in its type. Raises InputError if it or the scale is invalid."""
        kind = numpy_of(dtype)
        if not 0 < scale < inf:
            raise misuse(
                f"the scale must be finite and more than 0, not {scale:g}",
                "a scale is finite and more than 0",
            )
        if kind.kind not in "iu" or not np.iinfo(kind).min <= zero_point <= np.iinfo(kind).max:
            raise misuse(f"the zero point {zero_point} does not fit {dtype}", "i8 holds -128 to 127")
        return np.asarray(zero_point, kind)

    def _require_own(self, value: GraphValue) -> None:
        if not isinstance(value, GraphValue) or value.graph is not self:
            raise misuse(f"{value!r} is not a value of the graph {self.name}")

    def _free(self, name: str) -> str:
        if name in self._names:
            raise misuse(f'the name "{name}" is taken')
        self._names.add(name)
        return name

    def _new(self, stem: str) -> str:
        number = next(n for n in range(len(self._names) + 1) if f"{stem}_{n}" not in self._names)
        return self._free(f"{stem}_{number}")


@checks_arguments
def graph(name: str = "model") -> ModelGraph:
    """Returns a new, empty graph.

    >>> import deploy
    >>> g = deploy.graph("twice")
    >>> x = g.input("x", (1, 4))
    >>> g.output(x * 2 + 1, "y")
    <y: f32[1, 4]>
    """
    return ModelGraph(name)


def _padding(padding: int | str) -> dict[str, Any]:
    if isinstance(padding, str):
        if padding != "same":
            raise misuse(f'padding must be a number of pixels or "same", not "{padding}"')
        return {"auto_pad": "SAME_UPPER"}
    return {"pads": [padding] * 4}


def _listed(given: Sequence[GraphValue | None]) -> str:
    return ", ".join("none" if each is None else str(each.slot) for each in given)
