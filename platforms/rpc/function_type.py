"""Signatures of functions called by name: parsed from the device's text, and used to check arguments."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array, DType
from aot.wording import counted
from codegen.element_numbers import ELEMENT_NUMBERS
from platforms.rpc.messages import MalformedPayloadError
from platforms.rpc.protocol import Argument

MOST_ARGUMENTS = 8
MOST_TEXT = 512  # characters of a name with its signature
_TEXT = re.compile(r"([A-Za-z_]\w*) +(\w+) *\((.*)\)")
_PARAMETER = re.compile(r"(\w+) *(?:\[ *(\d+) *\])?")
_HEAD = struct.Struct("<HH")
_DESCRIPTION = struct.Struct("<BBxxI")
_ALIGNMENT = 8


@dataclass(frozen=True, slots=True)
class DeviceArrayType:
    """An array in the device's RAM: its type, and the device's handle."""

    dtype: DType
    count: int
    handle: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """The type of a parameter: a scalar, or an array with a fixed number of elements."""

    dtype: DType
    count: int | None = None  # None: a scalar

    def __str__(self) -> str:
        return str(self.dtype.value) if self.count is None else f"{self.dtype.value}[{self.count}]"

    @property
    def bytes(self) -> int:
        return self.dtype.bytes * (1 if self.count is None else self.count)


@dataclass(frozen=True, slots=True)
class FunctionType:
    """Name and signature of a function in the firmware."""

    number: int
    name: str
    result: DType | None
    parameters: tuple[Parameter, ...]

    def __str__(self) -> str:
        result = self.result.value if self.result else "void"
        return f"{self.name}: {result}({', '.join(map(str, self.parameters)) or 'void'})"


Value = Any  # a Python number, an array, bytes, or a DeviceArrayType


def read_function(number: int, text: str) -> FunctionType:
    """Parses a signature such as "blink i32(i32, u8[16])". Raises MalformedPayloadError."""
    found = _TEXT.fullmatch(text) if len(text) <= MOST_TEXT else None
    if found is None:
        raise MalformedPayloadError(f"a name and a signature expected, {text[:MOST_TEXT]!r} came")
    name, result, inside = found.groups()
    words = [word.strip() for word in inside.split(",")] if inside.strip() not in ("", "void") else []
    if len(words) > MOST_ARGUMENTS:
        raise MalformedPayloadError(f"at most {MOST_ARGUMENTS} arguments expected, {name} has {len(words)}")
    parameters = tuple(_parameter(name, word) for word in words)
    return FunctionType(number, name, None if result == "void" else _dtype(name, result), parameters)


def _parameter(name: str, word: str) -> Parameter:
    found = _PARAMETER.fullmatch(word)
    if found is None:
        raise MalformedPayloadError(f"{name} has a parameter {word!r}, which is not a type")
    dtype, count = found.groups()
    return Parameter(_dtype(name, dtype), None if count is None else int(count))


def _dtype(name: str, word: str) -> DType:
    try:
        return DType(word)
    except ValueError:
        raise MalformedPayloadError(f"{name} has the unknown type {word!r}") from None


def pack_call(function: FunctionType, values: Sequence[Value]) -> bytes:
    """Packs a call with checked values: headers, then the data, each value aligned."""
    heads, data = b"", b""
    first = _HEAD.size + _DESCRIPTION.size * len(values)
    for parameter, value in zip(function.parameters, values, strict=True):
        number = ELEMENT_NUMBERS[parameter.dtype]
        if isinstance(value, DeviceArrayType):
            heads += _DESCRIPTION.pack(number, Argument.HANDLE, value.handle)
            continue
        kind = Argument.SCALAR if parameter.count is None else Argument.ARRAY
        heads += _DESCRIPTION.pack(number, kind, parameter.count or 0)
        data += bytes(-(first + len(data)) % _ALIGNMENT) + value.tobytes()
    return _HEAD.pack(function.number, len(values)) + heads + data


def unpack_result(function: FunctionType, payload: bytes) -> Any:
    """Returns the result as a Python number, or None for void functions. Raises MalformedPayloadError."""
    expected = bytes([0]) if function.result is None else bytes([ELEMENT_NUMBERS[function.result]])
    size = 0 if function.result is None else function.result.bytes
    if payload[:1] != expected or len(payload) != 1 + size:
        raise MalformedPayloadError(f"a result of {function} expected, {payload[:16]!r} came")
    if function.result is None:
        return None
    return np.frombuffer(payload[1:], function.result.numpy)[0].item()


def checked(function: FunctionType, values: Sequence[Value]) -> list[Array | DeviceArrayType]:
    """Converts the values to the signature's types. Raises InputError with the wrong argument."""
    if len(values) != len(function.parameters):
        raise InputError(
            f"{function.name} needs {counted(len(function.parameters), 'argument')}, not {len(values)}",
            str(function),
        )
    pairs = zip(function.parameters, values, strict=True)
    return [_checked(function, number, *pair) for number, pair in enumerate(pairs, 1)]


def _checked(
    function: FunctionType, number: int, parameter: Parameter, value: Value
) -> Array | DeviceArrayType:
    if isinstance(value, (bytes, bytearray)):
        value = np.frombuffer(value, np.uint8)
    if isinstance(value, DeviceArrayType):
        given = str(Parameter(value.dtype, value.count))
        fits = (value.dtype, value.count) == (parameter.dtype, parameter.count)
    elif isinstance(value, np.ndarray) and value.ndim > 0:
        given = f"{value.dtype}[{', '.join(map(str, value.shape))}]"
        fits = value.dtype == parameter.dtype.numpy and value.size == parameter.count
    elif parameter.count is None:
        return _scalar(function, number, parameter.dtype, value)
    else:
        given, fits = type(value).__name__, False
    if not fits:
        hint = "" if parameter.count is None else f"np.array(..., np.{parameter.dtype.numpy})"
        raise _wrong(function, number, f"must be {parameter}, not {given}", hint)
    return value if isinstance(value, DeviceArrayType) else np.ascontiguousarray(value)


def _wrong(function: FunctionType, number: int, what: str, hint: str = "") -> InputError:
    return InputError(f"argument {number} of {function.name} {what}", str(function), hint)


def _scalar(function: FunctionType, number: int, dtype: DType, value: Value) -> Array:
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    is_right = {
        DType.BOOL: isinstance(value, bool),
        DType.F32: isinstance(value, (int, float)) and not isinstance(value, bool),
    }.get(dtype, isinstance(value, int) and not isinstance(value, bool))
    if not is_right:
        raise _wrong(function, number, f"must be {dtype.value}, not {type(value).__name__}")
    if dtype not in (DType.BOOL, DType.F32):
        low, high = _limits(dtype)
        if not low <= value <= high:
            raise _wrong(function, number, f"is {value:,}, but {dtype.value} holds {low:,} to {high:,}")
    return np.array(value).astype(dtype.numpy)


def _limits(dtype: DType) -> tuple[int, int]:
    bits, is_signed = 8 * dtype.bytes, dtype.numpy.kind == "i"
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)
