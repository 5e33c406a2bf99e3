"""An open connection to a board, for repeated runs, measurements and profiles of a model."""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np

from aot.errors import BoardError, InputError
from aot.ir.tensor_spec import TensorSpec
from codegen.model import LayerInfo
from codegen.options import OPTIONS
from deploy.benchmark.field_statistics import Observed, read_observed
from deploy.benchmark.meter import Meter, Spread, spread
from deploy.benchmark.run_series import run_on
from deploy.cli.command_result import Answer, Paged
from deploy.cli.console import OnProgress, reports_progress, table
from deploy.compiler.compile_model import Compiled
from deploy.devices.cartridge import go_back, load_into, read_cartridge
from deploy.devices.connection_options import LINE, LineOptions
from deploy.devices.device_array import DeviceArray
from deploy.devices.device_functions import DeviceFunction, FunctionTable, ModelFunction
from deploy.devices.firmware import Prepared, Ready, build
from deploy.devices.function_files import with_functions
from deploy.devices.session import Device, open_device
from deploy.inputs.given_arrays import Inputs, only_inputs
from deploy.inputs.input_options import DataOptions, make_data
from deploy.inputs.size_choice import at_size_of
from deploy.python_api.board_arguments import line_arguments, prepared_of
from deploy.python_api.model import Model
from deploy.python_api.on_board import Run, run_of
from deploy.python_api.option_keywords import accepts_options
from platforms.base import BuildChoices
from platforms.rpc.function_type import DeviceArrayType
from platforms.rpc.messages import Expected, Stats
from platforms.rpc.session import Session

_OF_DEADLINE = 0.5  # a repeat may last this fraction of the time limit; the rest is reserve
_LONGER = 1.1  # factor on the requested duration, because runs vary slightly


@dataclass(frozen=True)
class RunTime(Paged):
    """The time of a run, measured in repeats of `number` runs."""

    number: int  # runs per repeat
    unit: str  # "instructions", "cycles", or "" if the board counts neither
    count: Spread  # per run, in that unit
    seconds: Spread  # per run

    def __str__(self) -> str:
        counted = f"{self.count.mean:,.0f} {self.unit}, " if self.unit else ""
        return f"{counted}{self.seconds.mean * 1e3:,.4g} ms a run, of {self.number} together"

    def __repr__(self) -> str:
        return f"<{self}>"


class OpenLine:
    """A model on a board, connected until the line is closed. Use it in a `with` block, or call close()."""

    def __init__(self, ready: Ready, prepared: Prepared, line: LineOptions, profile: bool) -> None:
        self._prepared, self._line, self._has_profile = prepared, line, profile
        self._busy = Lock()
        self._functions: FunctionTable | None = None
        self._awaitable: AwaitableLine | None = None
        self._forgotten: list[tuple[int, DeviceArrayType]] = []  # unreferenced arrays to free
        stack = ExitStack()
        self._device: Device | None = stack.enter_context(open_device(ready, line))
        self._end = weakref.finalize(self, stack.close)  # at the latest at program exit
        self.model = self._device.model
        self._meter = Meter(self._device.board)

    def __enter__(self) -> OpenLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._device is None else "open"
        return f"<{self.model.name} on {self._prepared.board.name}, line {state}>"

    @property
    def inputs(self) -> tuple[TensorSpec, ...]:
        return self._prepared.inputs or self.model.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...]:
        return self._prepared.outputs or self.model.outputs

    @property
    def functions(self) -> FunctionTable:
        """The functions that can be called by name: registered C functions of the firmware, and its model."""
        if self._functions is None:
            with self._turn() as device:
                types = device.session.functions()
            name = self.model.name
            signature = f"({_listed(self.inputs)}) -> ({_listed(self.outputs)})"
            model = {name: ModelFunction(name, signature, lambda inputs: self.run(inputs).outputs)}
            known = {
                each.name: DeviceFunction(each, self._turn) for each in sorted(types, key=lambda t: t.name)
            }
            self._functions = FunctionTable({**model, **known}, self._prepared.board.name)
        return self._functions

    def call(self, name: str, *values: Any) -> Any:
        """Calls a function of the firmware with numbers and arrays, and returns its result."""
        return self.functions.named(name)(*values)

    def __getattr__(self, name: str) -> DeviceFunction | ModelFunction:
        """Returns a function of the firmware: device.blink(3, data)."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        try:
            return self.functions.named(name)
        except InputError as error:
            raise AttributeError(str(error), name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(self._functions or ())})

    def array(self, array: Any) -> DeviceArray:
        """Copies an array to the device's free RAM, for functions that modify it or use it repeatedly."""
        self._require_functions()
        return DeviceArray(self._turn, np.asarray(array, order="C"), self._forgotten)

    def _require_functions(self) -> None:
        with self._turn() as device:
            if not device.session.can_call:
                raise InputError(
                    "this firmware was built without functions and arrays",
                    self._prepared.board.name,
                    'use deploy.connect(..., functions=["file.c"]), or deploy new --functions file.c',
                )

    def load(self, cartridge: str | Path | bytes) -> None:
        """Replaces the model by a cartridge's. If the firmware rejects it, nothing changes."""
        data = cartridge if isinstance(cartridge, bytes) else read_cartridge(Path(cartridge))
        self._replace_model(lambda session: load_into(session, data))

    def load_previous(self) -> None:
        """Reverts to the cartridge before the last one, which is erased."""
        self._replace_model(go_back)

    def _replace_model(self, change: Callable[[Session], None]) -> None:
        with self._turn() as device:
            change(device.session)
            (model, *_) = device.session.describe()
            self._device = replace(device, model=model)
        self.model, self._functions = model, None
        self._prepared = replace(self._prepared, artifact=None, compiled=None, model=None)

    @property
    def awaitable(self) -> AwaitableLine:
        """This connection for programs with an event loop: await device.awaitable.run(x)."""
        if self._awaitable is None:
            self._awaitable = AwaitableLine(self)
        return self._awaitable

    def close(self) -> None:
        """Ends the firmware started for this connection. Closing again does nothing."""
        self._device = None
        self._end()

    def run(self, inputs: Inputs, quantize: bool = False, dequantize: bool = False) -> Run:
        """Runs the model on one sample, or on several in order, continuing from the last run's state.

        `quantize` converts float inputs to the model's integers, `dequantize` its outputs to floats.
        """
        arrays = only_inputs(inputs)
        prepared = at_size_of(self._prepared, arrays)
        samples = make_data(arrays, DataOptions(quantize=quantize), prepared.inputs or self.inputs, 1)
        with self._turn() as device:
            asked = device
            if prepared.model is not None:
                asked = replace(device, model=device.session.find_model(Expected(prepared.model, b"")))
            return run_of(self._meter, prepared, samples, run_on(asked, samples), dequantize)

    def reset(self) -> None:
        """Resets the model's state to its initial value."""
        with self._turn() as device:
            device.session.reset()

    def save_state(self) -> bytes:
        """Returns the states after the last run. Raises InputError if the model keeps none."""
        with self._turn() as device:
            return device.session.save_state(device.model)

    def restore_state(self, saved: bytes) -> None:
        """Continues from saved states. Raises InputError if they are damaged or of another model."""
        with self._turn() as device:
            device.session.restore_state(device.model, saved)

    def time(self, number: int = 1, repeat: int = 3, min_repeat_ms: float = 0.0) -> RunTime:
        """Measures `number` runs together, `repeat` times; more runs if they last under `min_repeat_ms`.

        The device measures alone, so the line has no influence. The state is reset.
        """
        self._require_short(min_repeat_ms)
        for name, value in (("number", number), ("repeat", repeat)):
            if value < 1:
                raise InputError(f"{name} must be 1 or more, not {value}")
        with self._turn() as device:
            number = self._long_enough(device, number, min_repeat_ms / 1e3)
            timing = device.session.time(device.model, number, repeat)
            device.session.reset()
        counts = [self._meter.count(ticks) / number for ticks in timing.net_ticks]
        seconds = [self._meter.seconds(ticks) / number for ticks in timing.net_ticks]
        return RunTime(number, self._meter.unit, spread(counts), spread(seconds))

    def _require_short(self, min_repeat_ms: float) -> None:
        if not min_repeat_ms >= 0:
            raise InputError(f"min_repeat_ms must be 0 or more, not {min_repeat_ms:g}")
        most = self._line.run_s * _OF_DEADLINE
        if min_repeat_ms / 1e3 > most:
            raise InputError(
                f"a repeat of {min_repeat_ms:,.0f} ms is asked for; a device that is silent for "
                f"{self._line.run_s:g} s is given up, so a repeat may take {most * 1e3:,.0f} ms",
                hint="use a longer deadline, or a smaller min_repeat_ms",
            )

    def _long_enough(self, device: Device, number: int, least_s: float) -> int:
        """Returns the number of runs that last `least_s` seconds in total."""
        if not least_s:
            return number
        once = device.session.time(device.model, number, 1)
        took_s = self._meter.seconds(once.net_ticks[0])
        return max(number, math.ceil(number * least_s * _LONGER / max(took_s, 1e-9)))

    def profile(self, inputs: Inputs, quantize: bool = False) -> Answer:
        """Measures each layer on a sample from the initial state, with a checksum of its rows."""
        if not self._has_profile:
            raise InputError(
                "this firmware does not measure layers", hint="deploy.connect(..., profile=True)"
            )
        samples = make_data(only_inputs(inputs), DataOptions(quantize=quantize), self.inputs, 1)
        if len(samples) != 1:
            raise InputError(f"layers are measured on one sample, not {len(samples)}")
        specs = self.model.inputs
        data = [spec.to_bytes(array) for spec, array in zip(specs, samples.each[0], strict=True)]
        with self._turn() as device:
            found = device.session.profile(device.model, data)
        facts = [
            {
                "index": index,
                "op": layer.op if layer else None,
                "origin": layer.origin if layer else None,
                "count": self._meter.count(each.ticks),
                "seconds": self._meter.seconds(each.ticks),
                "crc32": each.crc32,
            }
            for index, (each, layer) in enumerate(zip(found, self._layers(len(found)), strict=True))
        ]
        return Answer(facts, _profile_page(facts, self._meter.unit))

    def _layers(self, count: int) -> tuple[LayerInfo | None, ...]:
        return self._prepared.layers or (None,) * count

    @property
    def observed(self) -> Observed | None:
        """Returns statistics of the model's runs since the firmware started, or None without --observe."""
        with self._turn() as device:
            data = device.session.observed(device.model)
        return None if data is None else read_observed(data)

    @property
    def stats(self) -> Stats:
        """Returns the device's stack size, and how much of it was used in total and by runs."""
        with self._turn() as device:
            return device.session.stats()

    @contextmanager
    def _turn(self) -> Iterator[Device]:
        """Permits one call at a time, because the device answers one request after the other."""
        if not self._busy.acquire(blocking=False):
            raise BoardError(
                f"{self._prepared.board.name} is busy with another call of this program",
                hint="wait for it, or connect to another board",
            )
        try:
            if self._device is None:
                raise BoardError(
                    f"the line to {self._prepared.board.name} is closed",
                    hint="open a new one with deploy.connect",
                )
            self._free_forgotten(self._device)
            yield self._device
        finally:
            self._busy.release()

    def _free_forgotten(self, device: Device) -> None:
        while self._forgotten:
            session_id, array = self._forgotten.pop()
            if session_id == device.session.session_id:
                device.session.free(array)


def _listed(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(map(str, specs))


def _profile_page(facts: list[dict[str, Any]], unit: str) -> str:
    rows = [
        (str(f["index"]), f["op"] or "", f"{f['count']:,}", f"{f['seconds'] * 1e3:.4g}", f["origin"] or "")
        for f in facts
    ]
    return table(("layer", "op", unit or "ticks", "ms", "in the model"), rows)


@accepts_options([*OPTIONS, *LINE])
@reports_progress
def connect(
    model: str | Path | Model | Compiled,
    board: str | None = None,
    profile: bool = False,
    toolchain: str | None = None,
    functions: Sequence[str | Path] = (),
    *,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> OpenLine:
    """Connects to a board that runs a model file, an archive, a project folder or a compiled model.

    The board "host" is a program on this machine; emulated boards run in QEMU. With `profile` the firmware
    measures layers, too. `functions` are C files (and their headers) for functions called by name.
    """
    line = line_arguments(options)
    prepared = with_functions(prepared_of(model, board, options), functions)
    ready = build(prepared, BuildChoices(toolchain, profile=profile))
    return OpenLine(ready, prepared, line, profile)


# A connection for programs with an event loop. Calls are awaited and queued.


class AwaitableLine:
    """The methods of an open connection and the functions of its firmware, as coroutines.

    A thread communicates with the device. Calls from several tasks run in sequence. A canceled task ends
    after the device has answered, so that the line is free for the next call.
    """

    def __init__(self, line: Any) -> None:
        """Wraps an open line, which creates this object. The type is not named to avoid a cyclic import."""
        self._line = line
        self._turn = asyncio.Lock()

    async def __aenter__(self) -> AwaitableLine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._later(self._line.close)

    def __repr__(self) -> str:
        return f"<awaitable {repr(self._line).strip('<>')}>"

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

        def awaited(*values: Any, **named: Any) -> Coroutine[Any, Any, Any]:
            # Looked up in the thread, because the list of functions may have to be requested.
            return self._later(lambda: getattr(self._line, name)(*values, **named))

        return awaited

    async def _later(self, work: Callable[[], Any]) -> Any:
        async with self._turn:
            done = asyncio.get_running_loop().run_in_executor(None, partial(work))
            try:
                return await asyncio.shield(done)
            except asyncio.CancelledError:
                await asyncio.wait([done])
                raise
