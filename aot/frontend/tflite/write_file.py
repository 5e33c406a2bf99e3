"""Writes a TFLite file from a plain description of a model, which tests may make invalid on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import tflite
from flatbuffers import flexbuffers

from aot.frontend.tflite.tensors import Sparsity, WalkLevel
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType

SCHEMA_VERSION = 3
IDENTIFIER = b"TFL3"
DATA_ALIGN_BYTES = 16  # readers map weights in place
LARGEST_OLD_CODE = 127  # the deprecated field is one byte; larger codes store this value there


_CUSTOM = "CUSTOM "  # prefix of a custom operator's name


@dataclass(frozen=True)
class FileTensor:
    """One tensor. Without scales it is not quantized; without data it is computed at run time."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # NumPy's name: "int8", "int32", "float32"
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    axis: int = 0
    data: Array | None = None
    is_variable: bool = False  # persists between runs
    sparsity: Sparsity | None = None  # of `data`, which has the stored elements
    signature: tuple[int, ...] = ()  # the shape, with -1 for sizes known only at run time


@dataclass(frozen=True)
class OperatorSpec:
    """One operator, by the schema's names: code CONV_2D, options Conv2DOptions, fields StrideW, ..."""

    code: str
    version: int
    inputs: tuple[int, ...]  # indices of tensors; -1 for an absent optional one
    outputs: tuple[int, ...]
    options: str = ""
    fields: Mapping[str, float | str | Array] = field(default_factory=dict)
    custom: bytes = b""  # options of a custom operator that are not a map


@dataclass(frozen=True)
class ModelSpec:
    name: str
    tensors: tuple[FileTensor, ...]
    operators: tuple[OperatorSpec, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    called: tuple[ModelSpec, ...] = ()  # further subgraphs, numbered from 1


def write_tflite(model: ModelSpec) -> bytes:
    """Returns the bytes of a .tflite file; the same for the same model."""
    out = flatbuffers.Builder(1024)
    parts = (model, *model.called)
    constants = [t.data for part in parts for t in part.tensors if t.data is not None]
    buffers = _offsets(out, [_buffer(out, None), *(_buffer(out, array) for array in constants)])
    kinds = sorted({(op.code, op.version) for part in parts for op in part.operators})
    codes = _offsets(out, [_operator_code(out, code, version) for code, version in kinds])
    counts = [sum(t.data is not None for t in part.tensors) for part in parts]
    subgraphs = _offsets(
        out, [_subgraph(out, part, kinds, 1 + sum(counts[:n])) for n, part in enumerate(parts)]
    )
    description = out.CreateString(model.name)
    root = _table(
        out,
        "Model",
        Version=SCHEMA_VERSION,
        OperatorCodes=codes,
        Subgraphs=subgraphs,
        Description=description,
        Buffers=buffers,
    )
    out.Finish(root, IDENTIFIER)
    return bytes(out.Output())


def _table(out: flatbuffers.Builder, table: str, **fields: Any) -> int:
    getattr(tflite, f"{table}Start")(out)
    for name, value in fields.items():
        getattr(tflite, f"{table}Add{name}")(out, value)
    return int(getattr(tflite, f"{table}End")(out))


def _offsets(out: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    out.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        out.PrependUOffsetTRelative(offset)
    return int(out.EndVector())


def _numbers(out: flatbuffers.Builder, values: Sequence[float], dtype: str) -> int:
    return int(out.CreateNumpyVector(np.asarray(values, dtype=dtype)))


def _buffer(out: flatbuffers.Builder, array: Array | None) -> int:
    if array is None:
        return _table(out, "Buffer")
    data = np.ascontiguousarray(array).tobytes()
    out.Prep(DATA_ALIGN_BYTES, len(data))
    return _table(out, "Buffer", Data=out.CreateByteVector(data))


def _operator_code(out: flatbuffers.Builder, code: str, version: int) -> int:
    name = code.removeprefix(_CUSTOM)
    number = tflite.BuiltinOperator.CUSTOM if name != code else getattr(tflite.BuiltinOperator, code)
    fields = {"CustomCode": out.CreateString(name)} if name != code else {}
    old = min(number, LARGEST_OLD_CODE)
    return _table(
        out, "OperatorCode", DeprecatedBuiltinCode=old, BuiltinCode=number, Version=version, **fields
    )


def _subgraph(
    out: flatbuffers.Builder, model: ModelSpec, kinds: Sequence[tuple[str, int]], first_buffer: int
) -> int:
    filled = [i for i, tensor in enumerate(model.tensors) if tensor.data is not None]
    tensors = _offsets(
        out,
        [
            _tensor(out, t, filled.index(i) + first_buffer if i in filled else 0)
            for i, t in enumerate(model.tensors)
        ],
    )
    operators = _offsets(out, [_operator(out, op, kinds) for op in model.operators])
    inputs = _numbers(out, model.inputs, "int32")
    outputs = _numbers(out, model.outputs, "int32")
    name = out.CreateString("main")
    return _table(
        out, "SubGraph", Tensors=tensors, Inputs=inputs, Outputs=outputs, Operators=operators, Name=name
    )


def _tensor(out: flatbuffers.Builder, tensor: FileTensor, buffer: int) -> int:
    fields = {
        "Shape": _numbers(out, tensor.shape, "int32"),
        "Type": getattr(tflite.TensorType, tensor.dtype.upper()),
        "IsVariable": tensor.is_variable,
        "Buffer": buffer,
        "Name": out.CreateString(tensor.name),
    }
    if tensor.scales:
        fields["Quantization"] = _quantization(out, tensor)
    if tensor.signature:
        fields["ShapeSignature"] = _numbers(out, tensor.signature, "int32")
    if tensor.sparsity is not None:
        fields["Sparsity"] = _sparsity(out, tensor.sparsity)
    return _table(out, "Tensor", **fields)


def _quantization(out: flatbuffers.Builder, tensor: FileTensor) -> int:
    scales = _numbers(out, tensor.scales, "float32")
    zero_points = _numbers(out, tensor.zero_points, "int64")
    return _table(
        out,
        "QuantizationParameters",
        Scale=scales,
        ZeroPoint=zero_points,
        QuantizedDimension=tensor.axis,
    )


def _sparsity(out: flatbuffers.Builder, sparsity: Sparsity) -> int:
    levels = _offsets(out, [_level(out, level) for level in sparsity.levels])
    return _table(
        out,
        "SparsityParameters",
        TraversalOrder=_numbers(out, sparsity.order, "int32"),
        BlockMap=_numbers(out, sparsity.block_map, "int32"),
        DimMetadata=levels,
    )


def _level(out: flatbuffers.Builder, level: WalkLevel) -> int:
    if not level.is_sparse:
        return _table(out, "DimensionMetadata", DenseSize=level.size)
    lists = [
        _table(out, "Int32Vector", Values=_numbers(out, v, "int32")) for v in (level.segments, level.indices)
    ]
    return _table(
        out,
        "DimensionMetadata",
        Format=tflite.DimensionType.SPARSE_CSR,
        ArraySegmentsType=tflite.SparseIndexVector.Int32Vector,
        ArraySegments=lists[0],
        ArrayIndicesType=tflite.SparseIndexVector.Int32Vector,
        ArrayIndices=lists[1],
    )


def _apart(out: flatbuffers.Builder, value: float | str | Array) -> float:
    """Returns a field's value, or the place of a text or of numbers, which are stored before the table."""
    if isinstance(value, str):
        return int(out.CreateString(value))
    return _numbers(out, value.tolist(), value.dtype.name) if isinstance(value, np.ndarray) else value


def _operator(out: flatbuffers.Builder, op: OperatorSpec, kinds: Sequence[tuple[str, int]]) -> int:
    fields = {
        "OpcodeIndex": kinds.index((op.code, op.version)),
        "Inputs": _numbers(out, op.inputs, "int32"),
        "Outputs": _numbers(out, op.outputs, "int32"),
    }
    if op.options:
        apart = {name: _apart(out, value) for name, value in op.fields.items()}
        # Newer operators have a separate union.
        union = "BuiltinOptions" if hasattr(tflite.BuiltinOptions, op.options) else "BuiltinOptions2"
        fields[union] = _table(out, op.options, **apart)
        fields[f"{union}Type"] = getattr(getattr(tflite, union), op.options)
    elif op.custom:
        fields["CustomOptions"] = out.CreateByteVector(op.custom)
    elif op.code.startswith(_CUSTOM) and op.fields:
        fields["CustomOptions"] = out.CreateByteVector(bytes(flexbuffers.Dumps(dict(op.fields))))
    return _table(out, "Operator", **fields)


# The TFLite file being written: writers of operators add tensors and operators to it.


Fields = float | str


@dataclass
class Sheet:
    """The file being written."""

    graph: Graph
    tensors: list[FileTensor] = field(default_factory=list)
    operators: list[OperatorSpec] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def type(self, name: str) -> TensorType:
        return self.graph.types[name]

    def array(self, name: str) -> Array | None:
        return self.graph.constants.get(name)

    def value(self, name: str) -> int:
        """Returns the tensor of a value of the graph."""
        if name not in self.numbers:
            self.numbers[name] = self.tensor(name, self.type(name), self.array(name))
        return self.numbers[name]

    def tensor(self, name: str, tensor: TensorType, data: Array | None = None) -> int:
        """Adds a tensor."""
        quant = tensor.quant or Quant((), ())
        self.tensors.append(
            FileTensor(
                name,
                tensor.shape,
                tensor.dtype.numpy.name,
                quant.scales,
                quant.zero_points,
                quant.axis or 0,
                data,
            )
        )
        return len(self.tensors) - 1

    def integers(self, name: str, values: Sequence[int] | Array) -> int:
        """Adds a 32-bit integer constant."""
        array = np.asarray(values, np.int32)
        return self.tensor(name, TensorType(DType.I32, array.shape), array)

    def operator(
        self, code: str, version: int, inputs: Sequence[int], output: int, options: str = "", **fields: Fields
    ) -> None:
        self.operators.append(OperatorSpec(code, version, tuple(inputs), (output,), options, fields))


Writer = Callable[[Sheet, Node], str | None]  # returns why the node cannot be written, or None


def input_of(node: Node, number: int = 0) -> str:
    name = node.inputs[number]
    assert name is not None, f"{node.name} has no input {number}"
    return name


def view(sheet: Sheet, source: int, target: int, shape: tuple[int, ...]) -> None:
    wanted = sheet.integers(f"shape_{target}", shape)
    sheet.operator("RESHAPE", 1, (source, wanted), target, "ReshapeOptions")
