"""Requests for registered functions, and for arrays in the device's free RAM."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from aot.errors import InputError
from aot.ir.types import Array
from codegen.element_numbers import ELEMENT_NUMBERS
from platforms.rpc import failures, messages
from platforms.rpc.conversation import Conversation
from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.function_type import (
    DeviceArrayType,
    FunctionType,
    Value,
    checked,
    pack_call,
    read_function,
    unpack_result,
)
from platforms.rpc.protocol import PUT_HEADER_BYTES, Capability, Message, Status

MOST_FUNCTIONS = 256


class Calls(Conversation):
    """Requests for calls by name. Array handles are valid only within a session."""

    @property
    def can_call(self) -> bool:
        return bool(self._greeted().capabilities & Capability.FUNCTIONS)

    @property
    def session_id(self) -> int:
        """Identifies the session. Arrays are lost when their session ends."""
        return self._id

    def functions(self) -> tuple[FunctionType, ...]:
        """Returns all registered functions. Raises MalformedReplyError for an invalid table."""
        found: dict[str, FunctionType] = {}
        for number in range(MOST_FUNCTIONS + 1 if self.can_call else 0):
            function = self._function(number)
            if function is None:
                break
            if function.name in found:
                raise failures.malformed(
                    "functions", self.line_name, f'two functions are named "{function.name}"'
                )
            found[function.name] = function
        if len(found) > MOST_FUNCTIONS:
            raise failures.malformed(
                "functions", self.line_name, f"at most {MOST_FUNCTIONS} expected, more came"
            )
        return tuple(found.values())

    def _function(self, number: int) -> FunctionType | None:
        try:
            reply = self._request(Message.FUNCTION, struct.pack("<H", number), "functions")
        except RequestRefusedError as refused:
            if refused.status == Status.NO_SUCH_FUNCTION:
                return None
            raise
        return self._unpacked("functions", lambda text: read_function(number, messages.text_of(text)), reply)

    def invoke(self, function: FunctionType, values: Sequence[Value]) -> Any:
        """Calls a function and returns its result.

        Raises InputError for wrong arguments, and RequestRefusedError for errors from the device. Arrays too
        long for one request are copied to the device's free RAM for the duration of the call.
        """
        arguments = checked(function, values)
        lent: list[DeviceArrayType] = []
        try:
            while len(pack_call(function, arguments)) > self._greeted().payload_bytes:
                lent.append(self._lend_longest(arguments))
            payload, operation = pack_call(function, arguments), f"call of {function.name}"
            reply = self._request(Message.INVOKE, payload, operation)
            return self._unpacked(operation, lambda got: unpack_result(function, got), reply)
        except failures.DeviceResetError:
            lent.clear()  # the reset has released them
            raise
        finally:
            for array in lent:
                self.free(array)

    def _lend_longest(self, arguments: list[Array | DeviceArrayType]) -> DeviceArrayType:
        """Moves the longest array to the device's free RAM."""
        sizes = [0 if isinstance(each, DeviceArrayType) else each.nbytes for each in arguments]
        number = int(np.argmax(sizes))
        array = arguments[number]
        assert isinstance(array, np.ndarray)
        arguments[number] = placed = self.make_array(array)
        return placed

    def make_array(self, array: Array) -> DeviceArrayType:
        """Copies an array to the device's free RAM. Raises InputError if there is not enough."""
        dtype = next((known for known in ELEMENT_NUMBERS if known.numpy == array.dtype), None)
        if dtype is None:
            known = ", ".join(str(each.numpy) for each in ELEMENT_NUMBERS)
            raise InputError(f"the device has no arrays of {array.dtype}", hint=f"it has {known}")
        payload = struct.pack("<BI", ELEMENT_NUMBERS[dtype], array.size) if array.nbytes < 1 << 32 else b""
        if not payload:
            raise self._no_room(array.nbytes, None)
        request = self._asked(Message.MAKE, payload, "array")
        if request.status == Status.NO_ROOM:
            raise self._no_room(array.nbytes, self._unpacked("array", messages.unpack_check, request.payload))
        handle = self._unpacked("array", messages.unpack_check, self._accepted(request, "array"))
        placed = DeviceArrayType(dtype, array.size, handle)
        self.put(placed, 0, np.ascontiguousarray(array).tobytes())
        return placed

    def _no_room(self, wanted: int, free: int | None) -> InputError:
        there = "" if free is None else f", the largest free piece has {free:,}"
        return InputError(
            f"not enough free RAM on the device for an array of {wanted:,} bytes{there}",
            self.line_name,
            "release other arrays with free()",
        )

    def put(self, array: DeviceArrayType, offset: int, data: bytes) -> None:
        """Writes bytes into an array at `offset`."""

        def piece(at: int, count: int) -> bytes:
            return struct.pack("<II", array.handle, offset + at) + data[at : at + count]

        if data:
            self._in_pieces(Message.PUT, "array", len(data), piece, PUT_HEADER_BYTES)

    def get(self, array: DeviceArrayType) -> Array:
        """Reads an array from the device."""

        def piece(at: int, count: int) -> bytes:
            return struct.pack("<IIH", array.handle, at, count)

        size = array.count * array.dtype.bytes
        data = self._in_pieces(Message.GET, "array", size, piece) if size else b""
        read: Array = np.frombuffer(data, array.dtype.numpy).copy()
        return read

    def free(self, array: DeviceArrayType) -> None:
        """Releases the array's memory."""
        self._request(Message.FREE, struct.pack("<I", array.handle), "free")
