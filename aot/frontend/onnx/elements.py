"""ONNX's element types, and the element types that stand for them in a graph."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import onnx
from onnx import TensorProto

from aot.errors import BrokenFileError, UnsupportedError
from aot.ir.types import Array, DType
from aot.ops.round_mantissa import Overflow, RoundMantissa

MAX_ELEMENTS = 1 << 26  # of one constant: what no microcontroller has


def numbers_of(*names: str) -> tuple[int, ...]:
    """The numbers of those element types that the installed `onnx` knows."""
    return tuple(TensorProto.DataType.Value(n) for n in names if n in set(TensorProto.DataType.keys()))


# Narrow and wide floats become float32: no core here computes with them. Narrow integers take a byte,
# unsigned ones without a type of their own take the next wider signed type.
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
REALS = frozenset(element for element, dtype in STORED.items() if dtype is DType.F32)
# The formats that floats are rounded to where the file says so, although they are kept as float32.
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
# The bits of integers that are kept in wider ones, and whether they have a sign.
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
    """Rounds constants to the nearest number that float16 has."""
    known = TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(element)).lower() if element in known else f"type {element}"


def stored_type(element: int, where: str) -> DType:
    """The element type that stands for one of ONNX's; ModelError where none does."""
    if element not in STORED:
        names = ", ".join(sorted(element_name(e) for e in STORED))
        raise UnsupportedError(
            f"{element_name(element)} elements are not supported", where, f"supported: {names}"
        )
    return STORED[element]


def array_of(tensor: TensorProto, where: str) -> Array:
    """The elements of a tensor in the file, as they are stored in a graph."""
    if tensor.data_location == TensorProto.EXTERNAL:
        raise UnsupportedError(
            "tensors in files beside the model are not supported",
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
    except Exception as error:  # whatever the reader of a broken tensor may meet
        raise BrokenFileError(
            f"a tensor's data does not fit its shape {list(tensor.dims)}: {error}",
            where,
            "get or convert the file again",
        ) from None
    with np.errstate(all="ignore"):  # wide numbers that no float32 is near to become infinite
        stored: Array = np.ascontiguousarray(array).reshape(array.shape).astype(dtype.numpy)
    return stored
