"""A session with a device. Its methods are the requests."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

from aot.errors import InputError
from aot.ir.tensor_spec import TensorSpec
from platforms.rpc import failures, messages
from platforms.rpc.cartridges import Cartridges
from platforms.rpc.messages import (
    Call,
    Code,
    Expected,
    LayerProfile,
    RemoteModel,
    Slot,
    Stats,
    Timing,
)
from platforms.rpc.protocol import (
    MOST_REPEATS,
    STATE_HEADER_BYTES,
    DescribedTensors,
    Message,
    Reset,
    StateRequest,
    Status,
)
from platforms.saved_states import HEAD_BYTES, HEADER_BYTES, require_fitting, size_in, with_header


class Session(Cartridges):
    """A session with a device. Call hello() first."""

    def describe(self) -> tuple[RemoteModel, ...]:
        """Returns descriptions of all models in the firmware."""
        return tuple(self._describe_model(number) for number in range(self._greeted().model_count))

    def _describe_model(self, number: int) -> RemoteModel:
        reply = self._describe(number, DescribedTensors.MODEL, 0)
        head = self._unpacked("describe", messages.unpack_model_head, reply)
        inputs = tuple(
            self._describe_tensor(number, DescribedTensors.INPUT, i) for i in range(head.input_count)
        )
        outputs = tuple(
            self._describe_tensor(number, DescribedTensors.OUTPUT, i) for i in range(head.output_count)
        )
        return RemoteModel(number, head.name, head.hash, head.arena_bytes, head.layer_count, inputs, outputs)

    def _describe_tensor(self, number: int, what: DescribedTensors, index: int) -> TensorSpec:
        tensor = self._unpacked("describe", messages.unpack_tensor, self._describe(number, what, index))
        if tensor.bytes > self._memory_bytes:
            sizes = f"{tensor.bytes:,} bytes announced, {self._memory_bytes:,} of RAM on the board"
            raise failures.malformed("describe", self.line_name, f'"{tensor.name}", {sizes}')
        return tensor

    def _describe(self, number: int, what: DescribedTensors, index: int) -> bytes:
        return self._request(Message.DESCRIBE, messages.pack_describe(number, what, index), "describe")

    def find_model(self, expected: Expected) -> RemoteModel:
        """Finds the expected model. Raises WrongModelError, which lists the models in the firmware."""
        on_board, hello = self.describe(), self._greeted()
        found = next((model for model in on_board if expected.is_met_by(model.name, model.hash)), None)
        if found is not None and expected.build_id in ("", hello.build_id):
            return found
        if found is None and self.accepts_cartridges and expected.build_id == hello.build_id and on_board:
            return on_board[0]  # it was replaced by a cartridge
        wrong = failures.wrong_model if found is None else failures.wrong_build
        held = [messages.named(model.name, model.hash) for model in on_board]
        raise wrong(self.line_name, hello, expected, held)

    def write_input(self, model: RemoteModel, index: int, data: bytes) -> None:
        tensor = model.inputs[index]
        if len(data) != tensor.bytes:
            raise InputError(
                f'input "{tensor.name}" needs {tensor.bytes} bytes, not {len(data)}',
                where=f'model "{model.name}" on {self.line_name}',
            )

        def piece(offset: int, count: int) -> bytes:
            return messages.pack_write(model.number, index, offset, data[offset : offset + count])

        if self.reaches_memory and self._greeted().reports_input_addresses:
            self.write_memory(self._input_address(model, index), data)
        else:
            self._in_pieces(Message.WRITE, f'write of "{tensor.name}"', tensor.bytes, piece)

    def _input_address(self, model: RemoteModel, index: int) -> int:
        """Returns the address of an input and marks it as written.

        Writing directly to an emulator's memory avoids its slow line.
        """
        operation = f'write of "{model.inputs[index].name}"'
        payload = messages.pack_input_address(model.number, index)
        reply = self._request(Message.INPUT_ADDRESS, payload, operation)
        return self._unpacked(operation, messages.unpack_input_address, reply)

    def read_output(self, model: RemoteModel, index: int) -> bytes:
        """Reads an output of the last run."""
        tensor = model.outputs[index]

        def piece(offset: int, count: int) -> bytes:
            return messages.pack_read(model.number, index, offset, count)

        return self._in_pieces(Message.READ, f'read of "{tensor.name}"', tensor.bytes, piece)

    def run(self, model: RemoteModel) -> Timing:
        """Runs the model once on the inputs written before. Inputs are consumed; outputs can then be read."""
        reply = self._request(Message.RUN, messages.pack_run(model.number), f'run of "{model.name}"')
        return self._timing("run", reply, 1)

    def _timing(self, operation: str, reply: bytes, repeat: int) -> Timing:
        return self._unpacked(operation, lambda payload: messages.unpack_timing(payload, repeat), reply)

    def time(self, model: RemoteModel, number: int, repeat: int) -> Timing:
        """Measures `number` runs together, `repeat` times. Inputs, outputs and state are lost."""
        batches = [min(MOST_REPEATS, repeat - done) for done in range(0, repeat, MOST_REPEATS)]
        timings = [self._time(model, number, batch) for batch in batches]
        return replace(timings[0], ticks=tuple(t for timing in timings for t in timing.ticks))

    def time_nothing(self, model: RemoteModel, calls: int) -> int:
        """Returns the ticks of calling an empty function. Inputs, outputs and state are lost."""
        return self._time(model, calls, 0).empty_ticks

    def _time(self, model: RemoteModel, number: int, repeat: int) -> Timing:
        payload = messages.pack_time(model.number, number, repeat)
        reply = self._request(Message.TIME, payload, f'timing of "{model.name}"', repeat)
        return self._timing("time", reply, repeat)

    def profile(self, model: RemoteModel, inputs: Sequence[bytes]) -> tuple[LayerProfile, ...]:
        """Measures ticks and checksums of all layers in one run from the initial state.

        If the device's reply is too small for all layers, the run is repeated for the rest.
        """
        layers: list[LayerProfile] = []
        while len(layers) < model.layer_count:
            self.reset(Reset.STATE)
            for index, data in enumerate(inputs):
                self.write_input(model, index, data)
            payload = messages.pack_profile(model.number, len(layers))
            reply = self._request(Message.PROFILE, payload, f'profile of "{model.name}"')
            layers += self._some_layers(reply, model.layer_count - len(layers))
        return tuple(layers)

    def _some_layers(self, reply: bytes, most: int) -> tuple[LayerProfile, ...]:
        """Unpacks a reply's layers. Raises if it is empty, which would cause an endless loop."""
        layers = self._unpacked("profile", messages.unpack_profile, reply).layers
        if not 1 <= len(layers) <= most:
            raise failures.malformed(
                "profile", self.line_name, f"1 to {most} layers expected, {len(layers)} came"
            )
        return layers

    def observed(self, model: RemoteModel) -> bytes | None:
        """Returns the counters of the model's runs, or None if it does not count."""
        try:
            reply = self._request(Message.OBSERVED, messages.pack_observed(model.number), "observed")
        except failures.RequestRefusedError as refused:
            if refused.status in (Status.NOT_BUILT, Status.UNKNOWN_MESSAGE):
                return None
            raise
        return self._unpacked("observed", messages.unpack_observed, reply)

    def save_state(self, model: RemoteModel) -> bytes:
        """Returns the states after the last run, in the format of <model>_save_state.

        Raises InputError if the model keeps none, or the firmware cannot save them.
        """
        operation = f'saving the state of "{model.name}"'
        head = self._state_head(model, operation)

        def piece(offset: int, count: int) -> bytes:
            return messages.pack_state_read(model.number, offset, count)

        size = size_in(head) - HEADER_BYTES
        states = self._in_pieces(
            Message.STATE, operation, size, piece, STATE_HEADER_BYTES, may_bring_less=True
        )
        return with_header(head, states)

    def _state_head(self, model: RemoteModel, operation: str) -> bytes:
        try:
            head = self._request(
                Message.STATE, messages.pack_state(model.number, StateRequest.HEAD), operation
            )
        except failures.RequestRefusedError as refused:
            if refused.status in (Status.NO_STATE, Status.UNKNOWN_MESSAGE):
                raise failures.no_state(model.name, self.line_name, refused.status) from None
            raise
        size = size_in(head) - HEADER_BYTES
        if len(head) != HEAD_BYTES or not 0 < size <= self._memory_bytes:
            reason = f"{len(head)} bytes came, and {size:,} bytes of states are announced"
            raise failures.malformed(operation, self.line_name, reason)
        return head

    def restore_state(self, model: RemoteModel, saved: bytes) -> None:
        """Continues from saved states, also another device's; inputs written before are lost.

        Raises InputError, and changes nothing, if they are damaged or of another model. If the session ends
        before all have arrived, the state is reset.
        """
        operation = f'restoring the state of "{model.name}"'
        require_fitting(
            saved, self._state_head(model, operation), f'model "{model.name}" on {self.line_name}'
        )
        states = saved[HEADER_BYTES:]

        def piece(offset: int, count: int) -> bytes:
            return messages.pack_state_write(model.number, offset, states[offset : offset + count])

        def request(action: StateRequest, rest: bytes = b"") -> None:
            self._request(Message.STATE, messages.pack_state(model.number, action, rest), operation)

        request(StateRequest.BEGIN, saved[:HEADER_BYTES])
        self._in_pieces(Message.STATE, operation, len(states), piece, STATE_HEADER_BYTES)
        request(StateRequest.FINISH)

    def stats(self) -> Stats:
        return self._unpacked("stats", messages.unpack_stats, self._request(Message.STATS, b"", "stats"))

    def reset(self, what: Reset = Reset.STATE) -> None:
        """Resets the model's state, or the whole device, which ends the session."""
        self._request(Message.RESET, messages.pack_reset(what), "reset")
        if what == Reset.DEVICE:
            self._hello = None

    def slot(self) -> Slot:
        """Returns the memory for loaded code. Raises RequestRefusedError without such memory."""
        return self._unpacked("slot", messages.unpack_slot, self._request(Message.SLOT, b"", "slot"))

    def load(self, offset: int, data: bytes) -> None:
        """Writes code or data into the slot."""

        def piece(at: int, count: int) -> bytes:
            return messages.pack_load(offset + at, data[at : at + count])

        self._in_pieces(Message.LOAD, "load", len(data), piece)

    def place(self, slot: Slot, offset: int, data: bytes) -> None:
        """Writes into the slot, directly to memory if the board allows it. Direct writes have no checksum."""
        if self.reaches_memory:
            self.write_memory(slot.address + offset, data)
        else:
            self.load(offset, data)

    def fetch(self, offset: int, count: int) -> bytes:
        """Reads bytes from the slot."""

        def piece(at: int, some: int) -> bytes:
            return messages.pack_fetch(offset + at, some)

        return self._in_pieces(Message.FETCH, "fetch", count, piece)

    def check(self, offset: int, count: int) -> int:
        """Returns the CRC-32 of bytes in the slot, to verify known content without fetching it."""
        reply = self._request(Message.CHECK, messages.pack_check(offset, count), "check")
        return self._unpacked("check", messages.unpack_check, reply)

    def place_code(self, slot: Slot, image: bytes) -> Code:
        """Writes code linked for the slot's address to the start of the slot."""
        self.place(slot, 0, image)
        return Code(len(image), zlib.crc32(image))

    def call(self, code: Code, call: Call) -> Timing:
        """Calls loaded code, whose checksum is verified before and after.

        A crash, a hang or a stray write resets the device and raises DeviceCrashedError; load everything
        again after it. A nonzero return value of the loaded code raises RequestRefusedError.
        """
        batches = [min(MOST_REPEATS, call.repeat - done) for done in range(0, call.repeat, MOST_REPEATS)]
        warm_ups = [call.warm_up] + [0] * len(batches)
        timings = [
            self._call(code, call, batch, warm) for batch, warm in zip(batches, warm_ups, strict=False)
        ]
        return replace(timings[0], ticks=tuple(t for timing in timings for t in timing.ticks))

    def _call(self, code: Code, call: Call, repeat: int, warm_up: int) -> Timing:
        payload = messages.pack_call(code, call, repeat, warm_up)
        reply = self._request(Message.CALL, payload, "call of loaded code", repeat + warm_up)
        return self._timing("call", reply, repeat)
