"""A TFLite file as stored: its subgraphs, their operators by name, and which subgraphs they call."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TypeVar

import tflite
from flatbuffers import number_types

from aot.errors import BrokenFileError, ModelError
from aot.frontend.tflite.tensors import tensor_name

CORRUPTED = "the file looks corrupted: get or convert it again"
Options = TypeVar("Options")
_EMPTY_TABLE = struct.pack("<HHi", 4, 4, 4)  # a vtable without fields, and the table at byte 4 that uses it
_CODE_NAMES: dict[int, str] = {
    number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)
}


@dataclass(frozen=True)
class ModelFile:
    model: tflite.Model
    name: str
    bytes: int

    def fail(self, what: str, hint: str = CORRUPTED) -> ModelError:
        return BrokenFileError(what, self.name, hint)

    def part(self, number: int) -> Subgraph:
        if not 0 <= number < self.model.SubgraphsLength():
            raise self.fail(f"subgraph {number} is called, the file has {self.model.SubgraphsLength()}")
        return Subgraph(self, number, self.model.Subgraphs(number))

    def called_parts(self) -> list[Subgraph]:
        """Returns the first subgraph and all that it calls, each once."""
        found = [self.part(0)]
        for part in found:
            known = {p.number for p in found}
            found += [self.part(n) for n in dict.fromkeys(part.callees()) if n not in known]
        return found

    def code(self, index: int, where: str) -> str:
        """Returns the schema's name of an operator code."""
        if index >= self.model.OperatorCodesLength():
            raise self.fail(
                f"{where} uses operator code {index}, the file has {self.model.OperatorCodesLength()}"
            )
        code = self.model.OperatorCodes(index)
        # Codes above 127 did not fit the first version's field; files hold both, the larger one is used.
        builtin = max(_newer_code(code), code.DeprecatedBuiltinCode())
        if builtin == tflite.BuiltinOperator.CUSTOM:
            return f"CUSTOM {(code.CustomCode() or b'').decode('utf-8', 'replace')}"
        return _CODE_NAMES.get(builtin, f"number {builtin}")


def _newer_code(code: tflite.OperatorCode) -> int:
    """Returns the code as stored: the package ignores it below 127, but files may contain only this one."""
    field = code._tab.Offset(10)
    return int(code._tab.Get(number_types.Int32Flags, code._tab.Pos + field)) if field else 0


@dataclass(frozen=True)
class Subgraph:
    """One subgraph."""

    file: ModelFile
    number: int
    table: tflite.SubGraph

    @property
    def operator_count(self) -> int:
        return int(self.table.OperatorsLength())

    def code(self, number: int) -> str:
        return self.file.code(self.table.Operators(number).OpcodeIndex(), f"node {number}")

    def indices(self, table: tflite.Operator | tflite.SubGraph, which: str) -> tuple[int, ...]:
        """Returns tensor indices of an operator or the subgraph, all checked; -1 means absent."""
        stored = table.InputsAsNumpy() if which == "inputs" else table.OutputsAsNumpy()
        indices = () if isinstance(stored, int) else tuple(int(i) for i in stored)
        count = self.table.TensorsLength()
        for index in indices:
            if not -1 <= index < count:
                raise self.file.fail(f"tensor {index} does not exist, the file has {count}")
        return indices

    def interface(self, which: str) -> tuple[int, ...]:
        indices = self.indices(self.table, which)
        is_twice = self.number == 0 and which == "inputs" and len(set(indices)) != len(indices)
        if -1 in indices or is_twice:
            raise self.file.fail(f"the model's {which} contain a tensor twice, or an absent one")
        if not indices and self.number == 0:
            raise self.file.fail(f"the model has no {which}", "export it with inputs and outputs")
        return indices

    def inputs_of(self, number: int) -> tuple[int, ...]:
        """Returns tensor indices of an operator's inputs; inputs that no importer reads count as absent."""
        unread = _UNREAD.get(self.code(number), ())
        indices = self.indices(self.table.Operators(number), "inputs")
        indices = tuple(-1 if n in unread else index for n, index in enumerate(indices))
        return self._without_empty_shape(indices) if self.code(number) == "RESHAPE" else indices

    def _without_empty_shape(self, indices: tuple[int, ...]) -> tuple[int, ...]:
        """Drops the empty shape of a RESHAPE to a scalar, which adds nothing to the declared result."""
        shapes = [self.table.Tensors(i) for i in indices[1:] if i != -1]
        is_empty = any(s.ShapeLength() == 1 and s.Shape(0) == 0 for s in shapes)
        return indices[:1] if is_empty else indices

    def is_unsigned(self, index: int) -> bool:
        """Returns whether the tensor has unsigned bytes with a scale."""
        if index == -1:
            return False
        tensor = self.table.Tensors(index)
        quant = tensor.Quantization()
        return tensor.Type() == tflite.TensorType.UINT8 and quant is not None and quant.ScaleLength() > 0

    def used_tensors(self) -> list[int]:
        used = {*self.interface("inputs"), *self.interface("outputs")}
        for number in range(self.operator_count):
            operator = self.table.Operators(number)
            used.update(self.inputs_of(number), self.indices(operator, "outputs"))
        return sorted(used - {-1})

    def whole_constants(self) -> frozenset[int]:
        """Returns tensors that operators create from sparse constants while the file is read."""
        makers = (n for n in range(self.operator_count) if self.code(n) == "DENSIFY")
        return frozenset(i for n in makers for i in self.indices(self.table.Operators(n), "outputs"))

    def label(self, index: int) -> str:
        return "" if index == -1 else short_name(tensor_name(self.table.Tensors(index), index), index)

    def place(self, number: int) -> str:
        outputs = self.indices(self.table.Operators(number), "outputs")
        where = f"node {number}" + (f" of subgraph {self.number}" if self.number else "")
        return f'{where} "{self.label(outputs[0])}"' if outputs else where

    def callees(self) -> list[int]:
        """Returns the subgraphs that its operators call."""
        found = []
        for number in range(self.operator_count):
            if self.code(number) in _CALLS:
                options_class, names = _CALLS[self.code(number)]
                options: object = operator_options(self.table.Operators(number), options_class)
                found += [int(getattr(options, name)()) for name in names]
        return found


def short_name(name: str, index: int) -> str:
    """Returns the first of the names that converters join with semicolons for fused ops."""
    return name.split(";")[0] or f"tensor_{index}"


def operator_options(table: tflite.Operator, options_class: type[Options]) -> Options:
    """Returns an operator's attributes, or the schema's defaults if the file has none of this class."""
    options, name = options_class(), options_class.__name__
    kind, stored = table.BuiltinOptionsType(), table.BuiltinOptions()
    wanted = getattr(tflite.BuiltinOptions, name, None)
    if wanted is None:  # newer operators have a separate union
        kind, stored = table.BuiltinOptions2Type(), table.BuiltinOptions2()
        wanted = getattr(tflite.BuiltinOptions2, name)
    if stored is None or kind != wanted:
        options.Init(_EMPTY_TABLE, 4)  # type: ignore[attr-defined]
    else:
        options.Init(stored.Bytes, stored.Pos)  # type: ignore[attr-defined]
    return options


# TRANSPOSE_CONV stores the shape of its result twice, and some writers leave this one empty.
_UNREAD: dict[str, tuple[int, ...]] = {"TRANSPOSE_CONV": (0,)}
# Operator -> the options that name its subgraphs.
_CALLS: dict[str, tuple[type, tuple[str, ...]]] = {
    "CALL": (tflite.CallOptions, ("Subgraph",)),
    "CALL_ONCE": (tflite.CallOnceOptions, ("InitSubgraphIndex",)),
    "IF": (tflite.IfOptions, ("ThenSubgraphIndex", "ElseSubgraphIndex")),
    "STABLEHLO_COMPOSITE": (tflite.StableHLOCompositeOptions, ("DecompositionSubgraphIndex",)),
    "WHILE": (tflite.WhileOptions, ("CondSubgraphIndex", "BodySubgraphIndex")),
}
