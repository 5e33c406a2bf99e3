"""Functions of a device's firmware by name: registered C functions, and models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import InputError, did_you_mean
from deploy.devices.device_array import DeviceArray, Turn
from platforms.rpc.function_type import FunctionType


@dataclass(frozen=True)
class DeviceFunction:
    """A C function of the firmware.

    Arguments are numbers, arrays, and arrays on the device; returns a number.
    """

    type: FunctionType
    _turn: Turn

    @property
    def name(self) -> str:
        return self.type.name

    def __call__(self, *values: Any) -> Any:
        """Calls the function.

        Raises InputError for wrong arguments, and DeviceError for errors on the device.
        """
        with self._turn() as device:
            given = [each.type_in(device) if isinstance(each, DeviceArray) else each for each in values]
            return device.session.invoke(self.type, given)

    def __repr__(self) -> str:
        return f"<{self.type}>"


@dataclass(frozen=True)
class ModelFunction:
    """A model of the firmware as a function of arrays that returns outputs by name."""

    name: str
    signature: str
    _run: Callable[[Any], Mapping[str, Any]]

    def __call__(self, *inputs: Any) -> Mapping[str, Any]:
        """Runs the model on a sample, continuing from the last run's state."""
        return self._run(inputs[0] if len(inputs) == 1 else list(inputs))

    def __repr__(self) -> str:
        return f"<{self.name}: {self.signature}>"


class FunctionTable(Mapping[str, "DeviceFunction | ModelFunction"]):
    """The functions by name. Prints as a list of their signatures."""

    def __init__(self, functions: Mapping[str, DeviceFunction | ModelFunction], where: str) -> None:
        self._functions, self._where = functions, where

    def __getitem__(self, name: str) -> DeviceFunction | ModelFunction:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)

    def __repr__(self) -> str:
        return "\n".join(repr(function).strip("<>") for function in self._functions.values())

    def named(self, name: str) -> DeviceFunction | ModelFunction:
        """Returns the function with this name. Raises InputError, which lists the available ones."""
        if name not in self:
            raise InputError(
                f'the firmware has no function "{name}"{did_you_mean(name, self)}',
                f"{self._where}: {', '.join(self) or 'none'}",
                'use deploy.connect(..., functions=["file.c"]), and declare functions in it with '
                "SOLDER_FUNCTION",
            )
        return self._functions[name]
