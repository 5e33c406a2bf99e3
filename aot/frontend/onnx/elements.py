"""ONNX's element types, and the element types that represent them in a graph."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import onnx
from onnx import TensorProto

from aot.errors import BrokenFileError, UnsupportedError
from aot.ir.types import Array, DType
from aot.ops.round_mantissa import Overflow, RoundMantissa

MAX_ELEMENTS = 1 << 26  # limit for one constant: beyond any microcontroller


def numbers_of(*names: str) -> tuple[int, ...]:
    """Returns the numbers of those element types that the installed `onnx` knows."""
    return tuple(TensorProto.DataType.Value(n) for n in names if n in set(TensorProto.DataType.keys()))


# Narrow and wide floats become float32: no supported core computes with them. Narrow integers use a byte
# each; unsigned ones without an equal type use the next wider signed type.
STORED: Mapping[int, DType] = MappingProxyType(
    {
        TensorProto.FLOAT: DType.F32,
        TensorProto.DOUBLE: DType.F32,
        TensorProto.FLOAT16: DType.F32,
        TensorProto.BFLOAT16: DType.F32,
        TensorProto.INT8: DType.I8,
        TensorProto.UINT8: DType.U8,
        TensorProto.INT16: DType.I16,
        TensorProto.UINT16: DType.I32,
        TensorProto.INT32: DType.I32,
        TensorProto.UINT32: DType.I64,
        TensorProto.INT64: DType.I64,
        TensorProto.UINT64: DType.I64,
        TensorProto.BOOL: DType.BOOL,
        TensorProto.INT4: DType.I8,
        TensorProto.UINT4: DType.U8,
        **dict.fromkeys(numbers_of("INT2"), DType.I8),
        **dict.fromkeys(numbers_of("UINT2"), DType.U8),
        **dict.fromkeys(numbers_of("FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2"), DType.F32),
        **dict.fromkeys(numbers_of("FLOAT8E5M2FNUZ", "FLOAT4E2M1", "FLOAT8E8M0"), DType.F32),
    }
)
FLOATS = frozenset(element for element, dtype in STORED.items() if dtype is DType.F32)
# Formats that floats are rounded to if the file uses them, although they are stored as float32.
NARROW: Mapping[int, RoundMantissa] = MappingProxyType(
    {
        TensorProto.FLOAT16: RoundMantissa(10, -14, 65504.0),
        TensorProto.BFLOAT16: RoundMantissa(7, -126, float.fromhex("0x1.fep127")),
        **{number: RoundMantissa(3, -6, 448.0, Overflow.NO_NUMBER) for number in numbers_of("FLOAT8E4M3FN")},
        **{
            number: RoundMantissa(3, -7, 240.0, Overflow.NO_NUMBER) for number in numbers_of("FLOAT8E4M3FNUZ")
        },
        **{number: RoundMantissa(2, -14, 57344.0) for number in numbers_of("FLOAT8E5M2")},
        **{
            number: RoundMantissa(2, -15, 57344.0, Overflow.NO_NUMBER)
            for number in numbers_of("FLOAT8E5M2FNUZ")
        },
        **{number: RoundMantissa(1, 0, 6.0, Overflow.LARGEST, False) for number in numbers_of("FLOAT4E2M1")},
    }
)
# The bits of integers that are stored in wider ones, and whether they are signed.
BITS: Mapping[int, tuple[int, bool]] = MappingProxyType(
    {
        TensorProto.UINT16: (16, False),
        TensorProto.UINT32: (32, False),
        TensorProto.INT4: (4, True),
        TensorProto.UINT4: (4, False),
        **dict.fromkeys(numbers_of("INT2"), (2, True)),
        **dict.fromkeys(numbers_of("UINT2"), (2, False)),
    }
)


def element_name(element: int) -> str:
    """Returns the type's name in ONNX."""
    known = TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(element)).lower() if element in known else f"type {element}"


def stored_type(element: int, where: str) -> DType:
    """Returns the element type that represents one of ONNX's. Raises ModelError if none does."""
    if element not in STORED:
        names = ", ".join(sorted(element_name(e) for e in STORED))
        raise UnsupportedError(
            f"{element_name(element)} elements are not supported", where, f"supported: {names}"
        )
    return STORED[element]


def array_of(tensor: TensorProto, where: str) -> Array:
    """Returns the elements of a tensor in the file, as a graph stores them."""
    if tensor.data_location == TensorProto.EXTERNAL:
        raise UnsupportedError(
            "tensors in separate files are not supported here",
            where,
            "save it in one file: onnx.save(onnx.load(path), path, save_as_external_data=False)",
        )
    dtype = stored_type(tensor.data_type, where)
    elements = 1
    for size in tensor.dims:
        elements *= size
        if size < 0 or elements > MAX_ELEMENTS:
            raise BrokenFileError(
                f"a tensor has shape {list(tensor.dims)}", where, "get or convert the file again"
            )
    try:
        array = onnx.numpy_helper.to_array(tensor)
    except Exception as error:  # reading a broken tensor may raise anything
        raise BrokenFileError(
            f"a tensor's data does not fit its shape {list(tensor.dims)}: {error}",
            where,
            "get or convert the file again",
        ) from None
    with np.errstate(all="ignore"):  # numbers out of float32's range become infinite
        stored: Array = np.ascontiguousarray(array).reshape(array.shape).astype(dtype.numpy)
    return stored
