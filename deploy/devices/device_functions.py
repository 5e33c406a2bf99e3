"""The functions of a device's firmware by name: its registered C functions, and its models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import InputError, did_you_mean
from deploy.devices.device_array import DeviceArray, Turn
from platforms.rpc.function_type import FunctionType


@dataclass(frozen=True)
class DeviceFunction:
    """A C function of the firmware. Called with numbers, arrays and arrays on the device; gives a number."""

    type: FunctionType
    _turn: Turn

    @property
    def name(self) -> str:
        return self.type.name

    def __call__(self, *values: Any) -> Any:
        """Calls it. Raises InputError for wrong arguments, DeviceError for what the device says."""
        with self._turn() as device:
            given = [each.type_in(device) if isinstance(each, DeviceArray) else each for each in values]
            return device.session.invoke(self.type, given)

    def __repr__(self) -> str:
        return f"<{self.type}>"


@dataclass(frozen=True)
class ModelFunction:
    """A model of the firmware as a function: arrays in, outputs by name."""

    name: str
    signature: str
    _run: Callable[[Any], Mapping[str, Any]]

    def __call__(self, *inputs: Any) -> Mapping[str, Any]:
        """Runs it on a sample, from the state that the last run left."""
        return self._run(inputs[0] if len(inputs) == 1 else list(inputs))

    def __repr__(self) -> str:
        return f"<{self.name}: {self.signature}>"


class FunctionTable(Mapping[str, "DeviceFunction | ModelFunction"]):
    """The functions by name; prints as a list of their signatures."""

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
        """The function of that name. Raises InputError, which says what there is."""
        if name not in self:
            raise InputError(
                f'the firmware has no function "{name}"{did_you_mean(name, self)}',
                f"{self._where}: {', '.join(self) or 'none'}",
                'deploy.connect(..., functions=["file.c"]), where SOLDER_FUNCTION makes functions known',
            )
        return self._functions[name]
