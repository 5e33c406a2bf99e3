"""Arrays in a device's free RAM, which its functions use without copying."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType

import numpy as np

from aot.errors import BoardError, InputError
from aot.ir.types import Array
from deploy.devices.session import Device
from platforms.rpc.function_type import DeviceArrayType, Parameter

Turn = Callable[[], AbstractContextManager[Device]]


class DeviceArray:
    """An array on a device, freed by `free`, at the end of a `with` block, or when it is garbage collected.

    It is valid only within the device's session, which a reset ends.
    """

    def __init__(self, turn: Turn, array: Array, forgotten: list[tuple[int, DeviceArrayType]]) -> None:
        self._turn, self.shape, self.dtype = turn, array.shape, array.dtype
        with turn() as device:
            self._type: DeviceArrayType | None = device.session.make_array(array)
            self._session_id = device.session.session_id
        entry = (self._session_id, self._type)
        # Freed at the next use of the line, because garbage collection may occur in the middle of a call.
        self._end = weakref.finalize(self, forgotten.append, entry)
        self._end.atexit = False

    def __enter__(self) -> DeviceArray:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    def __repr__(self) -> str:
        state = "freed" if self._type is None else f"at {self._type.handle - 1:#x} of the free RAM"
        return f"<{self.dtype}{list(self.shape)} on the device, {state}>"

    def numpy(self) -> Array:
        """Reads the array from the device."""
        with self._turn() as device:
            return device.session.get(self.type_in(device)).reshape(self.shape)

    def write(self, array: Array) -> None:
        """Writes new values of the same type and shape."""
        given = np.asarray(array)
        if (given.dtype, given.shape) != (self.dtype, self.shape):
            raise InputError(
                f"the array on the device is {self.dtype}{list(self.shape)}, "
                f"but the data is {given.dtype}{list(given.shape)}"
            )
        with self._turn() as device:
            device.session.put(self.type_in(device), 0, np.ascontiguousarray(given).tobytes())

    def free(self) -> None:
        """Frees its memory. Freeing it again does nothing."""
        if self._type is None:
            return
        with self._turn() as device:
            if device.session.session_id == self._session_id:
                device.session.free(self._type)
            self._type = None
            self._end.detach()

    def type_in(self, device: Device) -> DeviceArrayType:
        """Returns the array's handle in this session. Raises BoardError if it no longer exists."""
        if self._type is None:
            raise BoardError("the array was freed", hint="create another with device.array(...)")
        if device.session.session_id != self._session_id:
            shown = Parameter(self._type.dtype, self._type.count)
            raise BoardError(
                f"the array {shown} no longer exists: the device was reset or reconnected",
                hint="create another with device.array(...)",
            )
        return self._type
