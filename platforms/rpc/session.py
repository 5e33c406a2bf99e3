"""A session with one device: the requests as methods, and resets noticed whenever they happen."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from aot.errors import InputError
from platforms.rpc import failures, messages
from platforms.rpc.chunk import ChunkSize
from platforms.rpc.exchange import Deadlines, DeviceBooted, Effort, Exchange
from platforms.rpc.messages import Hello, LayerProfile, RemoteModel, RemoteTensor, Stats, Timing
from platforms.rpc.packet import SEQUENCE_MODULUS, Packet
from platforms.rpc.protocol import (
    MOST_REPEATS,
    PROTOCOL_VERSION,
    WRITE_HEADER_BYTES,
    Message,
    Reset,
    Status,
    Tensors,
)
from platforms.transport.base import Clock, Transport

T = TypeVar("T")
DEFAULT_DEADLINES = Deadlines()


def drop_log(_line: str) -> None:
    """For callers that do not want to hear the device's log."""


def random_token() -> int:
    return secrets.randbits(32)


class Session:
    """Speaks with the device at the other end of `line`, which it owns from now on. Starts with hello()."""

    def __init__(
        self,
        line: Transport,
        deadlines: Deadlines = DEFAULT_DEADLINES,
        clock: Clock = time.monotonic,
        on_log: Callable[[str], None] = drop_log,
        new_token: Callable[[], int] = random_token,
    ) -> None:
        self._exchange = Exchange(line, deadlines, clock, on_log)
        self._deadlines = deadlines
        self._new_token = new_token
        self._hello: Hello | None = None
        self._id = 0
        self._sequence = 0
        self._chunk = ChunkSize(0)

    @property
    def line_name(self) -> str:
        return self._exchange.line.name

    def close(self) -> None:
        self._exchange.line.close()

    def hello(self) -> Hello:
        """Begins a session; whatever was under way before is forgotten."""
        token = self._new_token()
        reply = self._ask_hello(Packet(Message.HELLO, 1, token, messages.pack_hello()))
        hello = self._unpacked("hello", messages.unpack_hello, reply.payload)
        if reply.status == Status.WRONG_PROTOCOL or hello.protocol != PROTOCOL_VERSION:
            raise failures.wrong_protocol(self.line_name, hello)
        if hello.payload_bytes <= WRITE_HEADER_BYTES:  # no transfer would ever end
            reason = f"requests of more than {WRITE_HEADER_BYTES} bytes expected, {hello.payload_bytes} taken"
            raise failures.malformed("hello", self.line_name, reason)
        self._hello = hello
        self._id = token ^ hello.boot_nonce
        self._sequence = 1
        self._chunk = ChunkSize(hello.payload_bytes - WRITE_HEADER_BYTES)
        return hello

    def _ask_hello(self, request: Packet) -> Packet:
        effort = self._exchange.begin("hello", self._deadlines.hello_s)
        while True:
            try:
                return self._exchange.ask(request, effort)
            except DeviceBooted:  # it has just started: the hello may have come too early
                continue

    def describe(self) -> tuple[RemoteModel, ...]:
        """All models in the firmware."""
        return tuple(self._describe_model(number) for number in range(self._greeted().model_count))

    def _describe_model(self, number: int) -> RemoteModel:
        reply = self._describe(number, Tensors.MODEL, 0)
        head = self._unpacked("describe", messages.unpack_model_head, reply)
        inputs = tuple(self._describe_tensor(number, Tensors.INPUT, i) for i in range(head.input_count))
        outputs = tuple(self._describe_tensor(number, Tensors.OUTPUT, i) for i in range(head.output_count))
        return RemoteModel(number, head.name, head.hash, head.arena_bytes, head.layer_count, inputs, outputs)

    def _describe_tensor(self, number: int, what: Tensors, index: int) -> RemoteTensor:
        return self._unpacked("describe", messages.unpack_tensor, self._describe(number, what, index))

    def _describe(self, number: int, what: Tensors, index: int) -> bytes:
        return self._request(Message.DESCRIBE, messages.pack_describe(number, what, index), "describe")

    def find_model(self, name: str, model_hash: bytes) -> RemoteModel:
        """The model with this hash; raises WrongModelError, saying what the firmware holds instead."""
        on_board = self.describe()
        for model in on_board:
            if model.hash == model_hash[: messages.HASH_BYTES]:
                return model
        held = [f'"{model.name}" {model.hash.hex()}' for model in on_board]
        raise failures.wrong_model(
            self.line_name, f'"{name}" {model_hash[: messages.HASH_BYTES].hex()}', held
        )

    def write_input(self, model: RemoteModel, index: int, data: bytes) -> None:
        tensor = model.inputs[index]
        if len(data) != tensor.bytes:
            raise InputError(
                f'input "{tensor.name}" takes {tensor.bytes} bytes, {len(data)} were given',
                where=f'model "{model.name}" on {self.line_name}',
            )

        def piece(offset: int, count: int) -> bytes:
            return messages.pack_write(model.number, index, offset, data[offset : offset + count])

        self._in_pieces(Message.WRITE, f'write of "{tensor.name}"', tensor.bytes, piece)

    def read_output(self, model: RemoteModel, index: int) -> bytes:
        """An output of the last run."""
        tensor = model.outputs[index]

        def piece(offset: int, count: int) -> bytes:
            return messages.pack_read(model.number, index, offset, count)

        data = self._in_pieces(Message.READ, f'read of "{tensor.name}"', tensor.bytes, piece)
        if len(data) != tensor.bytes:
            raise failures.malformed(
                "read", self.line_name, f"{tensor.bytes} bytes expected, {len(data)} came"
            )
        return data

    def run(self, model: RemoteModel) -> Timing:
        """Runs the model once on the inputs written before; they are spent by it, the outputs can be read."""
        reply = self._request(Message.RUN, messages.pack_run(model.number), f'run of "{model.name}"')
        return self._unpacked("run", messages.unpack_timing, reply)

    def time(self, model: RemoteModel, number: int, repeat: int) -> Timing:
        """Measures `number` runs together, `repeat` times. Spends inputs, outputs and state."""
        batches = [min(MOST_REPEATS, repeat - done) for done in range(0, repeat, MOST_REPEATS)]
        timings = [self._time(model, number, batch) for batch in batches]
        return replace(timings[0], ticks=tuple(t for timing in timings for t in timing.ticks))

    def _time(self, model: RemoteModel, number: int, repeat: int) -> Timing:
        payload = messages.pack_time(model.number, number, repeat)
        reply = self._request(Message.TIME, payload, f'timing of "{model.name}"')
        return self._unpacked("time", messages.unpack_timing, reply)

    def profile(self, model: RemoteModel, inputs: Sequence[bytes]) -> tuple[LayerProfile, ...]:
        """Ticks and checksums of all layers for one run from the initial state.

        Where the device's reply has no room for all layers, the run is repeated for the others.
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
        """At least one: a device that sends none would be asked for ever."""
        layers = self._unpacked("profile", messages.unpack_profile, reply).layers
        if not 1 <= len(layers) <= most:
            raise failures.malformed(
                "profile", self.line_name, f"1 to {most} layers expected, {len(layers)} came"
            )
        return layers

    def stats(self) -> Stats:
        return self._unpacked("stats", messages.unpack_stats, self._request(Message.STATS, b"", "stats"))

    def reset(self, what: Reset = Reset.STATE) -> None:
        """The model's state to its beginning, or the device as a whole; the latter ends the session."""
        self._request(Message.RESET, messages.pack_reset(what), "reset")
        if what == Reset.DEVICE:
            self._hello = None

    def _greeted(self) -> Hello:
        assert self._hello is not None, "a session starts with hello()"
        return self._hello

    def _next(self, message: Message, payload: bytes) -> Packet:
        self._greeted()
        self._sequence = (self._sequence + 1) % SEQUENCE_MODULUS
        return Packet(message, self._sequence, self._id, payload)

    def _request(self, message: Message, payload: bytes, operation: str) -> bytes:
        """The reply's payload, once the request has been carried out."""
        request = self._next(message, payload)
        effort = self._exchange.begin(operation, self._deadlines.answer_s)
        reply = None
        while reply is None:
            reply = self._attempt(request, effort)
        return self._accepted(reply, operation)

    def _in_pieces(
        self, message: Message, operation: str, total: int, piece: Callable[[int, int], bytes]
    ) -> bytes:
        """Transfers `total` bytes, in smaller pieces while the line damages the larger ones."""
        received: list[bytes] = []
        offset = 0
        while offset < total or not received:
            count = min(self._chunk.bytes, total - offset)
            effort = self._exchange.begin(operation, self._deadlines.answer_s)
            reply = None
            while reply is None:
                # Another size is another request: the device must not take it for a repetition.
                reply = self._attempt(self._next(message, piece(offset, count)), effort)
                if reply is None:
                    self._chunk = self._chunk.after_damage()
                    count = min(self._chunk.bytes, count)
            received.append(self._accepted(reply, operation))
            self._chunk = self._chunk.after_success()
            offset += count
        return b"".join(received)

    def _attempt(self, request: Packet, effort: Effort) -> Packet | None:
        try:
            return self._exchange.attempt(request, effort)
        except DeviceBooted as booted:
            if booted.boot_nonce == self._greeted().boot_nonce:
                return None  # an old notice that comes late
            raise self._after_reset(effort.operation) from None

    def _accepted(self, reply: Packet, operation: str) -> bytes:
        if reply.status == Status.NO_SESSION:
            raise self._after_reset(operation)
        if reply.status != Status.OK:
            detail = ""
            if reply.status == Status.MODEL_FAILED:
                detail = f" {self._unpacked(operation, messages.unpack_code, reply.payload)}"
            raise failures.refused(operation, self.line_name, reply.status, detail)
        return reply.payload

    def _after_reset(self, operation: str) -> Exception:
        """Greets the device again and says what happened to it."""
        before = self._greeted()
        try:
            hello = self.hello()
        except failures.DeviceSilentError:
            return failures.reset_and_silent(operation, self.line_name)
        if hello.boot_nonce == before.boot_nonce:
            return failures.session_lost(operation, self.line_name)
        return failures.reset_during(operation, self.line_name, hello)

    def _unpacked(self, operation: str, unpack: Callable[[bytes], T], payload: bytes) -> T:
        try:
            return unpack(payload)
        except messages.MalformedPayloadError as error:
            raise failures.malformed(operation, self.line_name, str(error)) from error
