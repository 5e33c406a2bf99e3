"""Checks the bounds of a flatbuffer before it is used: every offset and count stays inside the file.

A layout lists the fields that are read later; only those are checked. After `check_flatbuffer` the schema's
accessors cannot read outside the data, and no loop over a vector runs too long.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from tflite import BuiltinOptions, BuiltinOptions2, SparseIndexVector

from aot.errors import BrokenFileError

# A small file can claim millions of tables, or gigabytes, by pointing at the same bytes again and again.
# Models have thousands of tables, and share few of their bytes.
MAX_TABLES = 50_000
MAX_SHARING = 4  # parts, counted once per reference, may be this many times as large as the file
_FREE_BYTES = 4096  # not counted, so that tiny files may share freely


@dataclass(frozen=True)
class Scalar:
    """A number stored in the table itself."""

    bytes: int


@dataclass(frozen=True)
class Vector:
    """A counted sequence of numbers; strings are sequences of bytes."""

    element_bytes: int


@dataclass(frozen=True)
class Layout:
    """A table: its fields by number."""

    name: str
    fields: Mapping[int, Field]


@dataclass(frozen=True)
class Tables:
    """A counted sequence of tables."""

    layout: Layout


@dataclass(frozen=True)
class Union:
    """A table whose layout is selected by another field, one byte wide."""

    kind_field: int
    layouts: Mapping[int, Layout]


Field = Scalar | Vector | Layout | Tables | Union

_ANY_TABLE = Layout("table", {})


def check_flatbuffer(data: bytes, root: Layout, file_name: str) -> None:
    """Raises ModelError if an offset or count of the file points outside the file."""
    checker = _Checker(data, file_name)
    checker.table(checker.follow(0, "the root"), root)


class _Checker:
    def __init__(self, data: bytes, file_name: str) -> None:
        self._data = data
        self._file_name = file_name
        self._tables = 0
        self._unspent_bytes = MAX_SHARING * len(data) + _FREE_BYTES

    def follow(self, position: int, what: str) -> int:
        """Returns the position that the unsigned offset at `position` points to."""
        return position + self._number("<I", position, what)

    def table(self, position: int, layout: Layout) -> None:
        self._count_table()
        vtable = position - self._number("<i", position, layout.name)
        vtable_bytes = self._number("<H", vtable, layout.name)
        table_bytes = self._number("<H", vtable + 2, layout.name)
        self._inside(vtable, vtable_bytes, layout.name)
        self._inside(position, table_bytes, layout.name)
        for number, field in layout.fields.items():
            offset = self._field_offset(vtable, vtable_bytes, number)
            if offset:
                self._field(position, offset, table_bytes, field, f"{layout.name} field {number}")
                if isinstance(field, Union):
                    kind = self._kind(position, vtable, vtable_bytes, field)
                    target = self.follow(position + offset, layout.name)
                    self.table(target, field.layouts.get(kind, _ANY_TABLE))

    def _field(self, position: int, offset: int, table_bytes: int, field: Field, what: str) -> None:
        width = field.bytes if isinstance(field, Scalar) else 4
        if offset + width > table_bytes:
            self._fail(f"{what} is outside its table")
        if isinstance(field, Scalar | Union):
            return
        target = self.follow(position + offset, what)
        if isinstance(field, Layout):
            self.table(target, field)
        elif isinstance(field, Vector):
            self._vector(target, field.element_bytes, what)
        else:
            self._table_vector(target, field.layout, what)

    def _vector(self, position: int, element_bytes: int, what: str) -> int:
        count = self._number("<I", position, what)
        self._inside(position + 4, count * element_bytes, what)
        self._unspent_bytes -= count * element_bytes
        if self._unspent_bytes < 0:
            self._fail(f"its parts add up to more than {MAX_SHARING} times its size")
        return count

    def _table_vector(self, position: int, layout: Layout, what: str) -> None:
        for index in range(self._vector(position, 4, what)):
            element = position + 4 + 4 * index
            self.table(self.follow(element, what), layout)

    def _field_offset(self, vtable: int, vtable_bytes: int, number: int) -> int:
        slot = 4 + 2 * number
        # A table of odd size may end in half a field, which readers would read.
        return self._number("<H", vtable + slot, "a table") if slot < vtable_bytes else 0

    def _kind(self, position: int, vtable: int, vtable_bytes: int, field: Union) -> int:
        offset = self._field_offset(vtable, vtable_bytes, field.kind_field)
        return self._number("<B", position + offset, "a union") if offset else 0

    def _number(self, form: str, position: int, what: str) -> int:
        self._inside(position, struct.calcsize(form), what)
        number: int = struct.unpack_from(form, self._data, position)[0]
        return number

    def _inside(self, position: int, count: int, what: str) -> None:
        if position < 0 or position + count > len(self._data):
            self._fail(
                f"{what} would be at bytes {position} to {position + count}, the file has {len(self._data)}"
            )

    def _count_table(self) -> None:
        self._tables += 1
        if self._tables > MAX_TABLES:
            self._fail(f"it claims to hold more than {MAX_TABLES:,} tables")

    def _fail(self, fact: str) -> None:
        raise BrokenFileError(
            f"the TFLite file is truncated or corrupted: {fact}",
            where=self._file_name,
            hint="get or convert the file again; compare its size with the original's",
        )


# The part of TFLite's schema that is read, as layouts for the bounds checks; numbers as in the schema.


BLOCKWISE = 2  # of QuantizationDetails; the schema of the package tflite is older
_BYTE, _INT, _LONG = Scalar(1), Scalar(4), Scalar(8)
_BYTES, _INTS, _LONGS = Vector(1), Vector(4), Vector(8)

_OPTIONS = {
    BuiltinOptions.Conv2DOptions: Layout(
        "Conv2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _INT, 5: _INT, 6: _BYTE}
    ),
    BuiltinOptions.DepthwiseConv2DOptions: Layout(
        "DepthwiseConv2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _INT, 4: _BYTE, 5: _INT, 6: _INT}
    ),
    BuiltinOptions.Pool2DOptions: Layout(
        "Pool2DOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _INT, 4: _INT, 5: _BYTE}
    ),
    BuiltinOptions.FullyConnectedOptions: Layout(
        "FullyConnectedOptions", {0: _BYTE, 1: _BYTE, 2: _BYTE, 3: _BYTE, 4: _BYTE}
    ),
    BuiltinOptions.L2NormOptions: Layout("L2NormOptions", {0: _BYTE}),
    BuiltinOptions.SoftmaxOptions: Layout("SoftmaxOptions", {0: _INT}),
    BuiltinOptions.AddOptions: Layout("AddOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.MulOptions: Layout("MulOptions", {0: _BYTE}),
    BuiltinOptions.ConcatenationOptions: Layout("ConcatenationOptions", {0: _INT, 1: _BYTE}),
    BuiltinOptions.DivOptions: Layout("DivOptions", {0: _BYTE}),
    BuiltinOptions.CumsumOptions: Layout("CumsumOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.DepthToSpaceOptions: Layout("DepthToSpaceOptions", {0: _INT}),
    BuiltinOptions.GatherOptions: Layout("GatherOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.MirrorPadOptions: Layout("MirrorPadOptions", {0: _BYTE}),
    BuiltinOptions.ResizeBilinearOptions: Layout("ResizeBilinearOptions", {2: _BYTE, 3: _BYTE}),
    BuiltinOptions.ResizeNearestNeighborOptions: Layout("ResizeNearestNeighborOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.SpaceToDepthOptions: Layout("SpaceToDepthOptions", {0: _INT}),
    BuiltinOptions.GeluOptions: Layout("GeluOptions", {0: _BYTE}),
    BuiltinOptions.LeakyReluOptions: Layout("LeakyReluOptions", {0: _INT}),
    BuiltinOptions.PackOptions: Layout("PackOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.StridedSliceOptions: Layout(
        "StridedSliceOptions", {0: _INT, 1: _INT, 2: _INT, 3: _INT, 4: _INT, 5: _BYTE}
    ),
    BuiltinOptions.UnpackOptions: Layout("UnpackOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.SubOptions: Layout("SubOptions", {0: _BYTE, 1: _BYTE}),
    BuiltinOptions.SVDFOptions: Layout("SVDFOptions", {0: _INT, 1: _BYTE, 2: _BYTE}),
    BuiltinOptions.TransposeConvOptions: Layout(
        "TransposeConvOptions", {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _BYTE}
    ),
    BuiltinOptions.BatchMatMulOptions: Layout("BatchMatMulOptions", {0: _BYTE, 1: _BYTE, 2: _BYTE}),
    BuiltinOptions.UnidirectionalSequenceLSTMOptions: Layout(
        "UnidirectionalSequenceLSTMOptions",
        {0: _BYTE, 1: _INT, 2: _INT, 3: _BYTE, 4: _BYTE, 5: _BYTE},
    ),
    BuiltinOptions.ReverseSequenceOptions: Layout("ReverseSequenceOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.VarHandleOptions: Layout("VarHandleOptions", {0: _BYTES, 1: _BYTES}),
    BuiltinOptions.CallOnceOptions: Layout("CallOnceOptions", {0: _INT}),
    BuiltinOptions.CallOptions: Layout("CallOptions", {0: _INT}),
    BuiltinOptions.IfOptions: Layout("IfOptions", {0: _INT, 1: _INT}),
    BuiltinOptions.WhileOptions: Layout("WhileOptions", {0: _INT, 1: _INT}),
}
_OPTIONS_2 = {
    BuiltinOptions2.StableHLOCompositeOptions: Layout(
        "StableHLOCompositeOptions", {0: _BYTES, 1: _INT, 3: _BYTE, 4: _INT}
    ),
}
OPTIONS = (*_OPTIONS.values(), *_OPTIONS_2.values())
_OPERATOR_CODE = Layout("OperatorCode", {0: _BYTE, 1: _BYTES, 3: _INT})
_OPERATOR = Layout(
    "Operator",
    {
        0: _INT,
        1: _INTS,
        2: _INTS,
        3: _BYTE,
        4: Union(3, _OPTIONS),
        5: _BYTES,
        11: _BYTE,
        12: Union(11, _OPTIONS_2),
    },
)
_BLOCKWISE = Layout("BlockwiseQuantization", {0: _INT, 1: _INT, 2: _INT})
_QUANTIZATION = Layout(
    "QuantizationParameters",
    {2: _INTS, 3: _LONGS, 4: _BYTE, 5: Union(4, {BLOCKWISE: _BLOCKWISE}), 6: _INT},
)
_INDEX_VECTORS = {
    SparseIndexVector.Int32Vector: Layout("Int32Vector", {0: _INTS}),
    SparseIndexVector.Uint16Vector: Layout("Uint16Vector", {0: Vector(2)}),
    SparseIndexVector.Uint8Vector: Layout("Uint8Vector", {0: _BYTES}),
}
_DIMENSION = Layout(
    "DimensionMetadata",
    {0: _BYTE, 1: _INT, 2: _BYTE, 3: Union(2, _INDEX_VECTORS), 4: _BYTE, 5: Union(4, _INDEX_VECTORS)},
)
_SPARSITY = Layout("SparsityParameters", {0: _INTS, 1: _INTS, 2: Tables(_DIMENSION)})
_TENSOR = Layout("Tensor", {0: _INTS, 1: _BYTE, 2: _INT, 3: _BYTES, 4: _QUANTIZATION, 5: _BYTE, 6: _SPARSITY})
_SUBGRAPH = Layout("SubGraph", {0: Tables(_TENSOR), 1: _INTS, 2: _INTS, 3: Tables(_OPERATOR), 4: _BYTES})
_BUFFER = Layout("Buffer", {0: _BYTES, 1: _LONG, 2: _LONG})
MODEL = Layout("Model", {0: _INT, 1: Tables(_OPERATOR_CODE), 2: Tables(_SUBGRAPH), 4: Tables(_BUFFER)})
