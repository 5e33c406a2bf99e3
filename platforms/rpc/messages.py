"""Packs requests and unpacks replies: a pair of functions for each message, without side effects."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import TensorType
from aot.wording import printable
from codegen.element_numbers import ELEMENT_TYPES
from platforms.rpc.protocol import (
    MOST_HASHES,
    MOST_NUMBERED,
    OBSERVED_BYTES,
    PROTOCOL_VERSION,
    Capability,
    DescribedTensors,
    Reset,
    StateRequest,
)

HASH_BYTES = 8  # of each model hash in hello and describe
PROFILE_ENTRY = struct.Struct("<QI")


class MalformedPayloadError(ValueError):
    """Raised for payloads that are too short or have invalid content."""


TEXT_BYTES = 1024


def text_of(said: bytes) -> str:
    """Returns the device's text, made safe for a terminal and cut if it is too long."""
    text = printable(said[:TEXT_BYTES].decode("utf-8", "replace"))
    return text if len(said) <= TEXT_BYTES else f"{text} ({len(said):,} bytes)"


@dataclass(slots=True)
class Fields:
    """Reads a payload field by field."""

    rest: bytes

    def take(self, layout: str) -> tuple[Any, ...]:
        size = struct.calcsize("<" + layout)
        if len(self.rest) < size:
            raise MalformedPayloadError(f"{size} bytes of {layout!r} expected, {len(self.rest)} are left")
        values = struct.unpack_from("<" + layout, self.rest)
        self.rest = self.rest[size:]
        return values

    def take_bytes(self, count: int) -> bytes:
        (taken,) = self.take(f"{count}s")
        return bytes(taken)

    def take_text(self) -> str:
        """Reads the remaining bytes as text."""
        text, self.rest = self.rest, b""
        return text_of(text)


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """The last fault of the device, which survives the reset."""

    boot: int  # number of the boot that ended with the fault
    cause: int
    pc: int
    lr: int
    sp: int
    psr: int
    cfsr: int
    hfsr: int
    address: int

    def __str__(self) -> str:
        registers = ("pc", "lr", "sp", "psr", "cfsr", "hfsr", "address")
        return " ".join(f"{name} 0x{getattr(self, name):08x}" for name in registers)


@dataclass(frozen=True, slots=True)
class Hello:
    """The device's reply to hello: its firmware, memory and capabilities."""

    protocol: int
    build_id: str
    boot_nonce: int = 0
    boots: int = 0
    payload_bytes: int = 0  # maximum request size
    capabilities: int = 0
    arena_bytes: int = 0
    fault: FaultRecord | None = None
    model_count: int = 0
    hashes: tuple[bytes, ...] = ()  # of the first models

    @property
    def can_change_rate(self) -> bool:
        return bool(self.capabilities & Capability.RATE)

    @property
    def reports_input_addresses(self) -> bool:
        """True if it can report the address of an input."""
        return bool(self.capabilities & Capability.INPUT_ADDRESS)

    @property
    def is_locked(self) -> bool:
        """True if the line must be unlocked first."""
        return bool(self.capabilities & Capability.LOCKED)

    @property
    def keeps_deadline(self) -> bool:
        """True if the device stops long runs with a fault."""
        return bool(self.capabilities & Capability.DEADLINE)


@dataclass(frozen=True, slots=True)
class Expected:
    """The firmware expected on the board: a model and a build."""

    model: str
    hash: bytes  # of the model; the board reports its first HASH_BYTES. b"": only the name is compared
    build_id: str = ""  # "": any build

    def __str__(self) -> str:
        build = f'build "{self.build_id}", ' if self.build_id else ""
        return f"protocol {PROTOCOL_VERSION}, {build}model {named(self.model, self.hash)}"

    def is_met_by(self, model: str, model_hash: bytes) -> bool:
        return model_hash == self.hash[:HASH_BYTES] if self.hash else model == self.model


def named(model: str, model_hash: bytes) -> str:
    return f'"{model}" {model_hash[:HASH_BYTES].hex()}'.rstrip()


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model in the firmware."""

    number: int
    name: str
    hash: bytes
    arena_bytes: int
    layer_count: int
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelHead:
    """The general part of a model's description."""

    hash: bytes
    arena_bytes: int
    input_count: int
    output_count: int
    layer_count: int
    name: str


@dataclass(frozen=True, slots=True)
class Timing:
    """Raw counter ticks of runs, and of an empty measurement."""

    code: int  # return value of the model's run function
    counter_hz: int
    counter_bits: int
    empty_ticks: int
    ticks: tuple[int, ...]

    @property
    def net_ticks(self) -> tuple[int, ...]:
        """Returns the ticks of the runs without measurement overhead; 0 if below the resolution."""
        return tuple(max(0, ticks - self.empty_ticks) for ticks in self.ticks)


@dataclass(frozen=True, slots=True)
class LayerProfile:
    """Ticks and checksum of a layer in one run."""

    ticks: int
    crc32: int  # of all rows it wrote, in order


@dataclass(frozen=True, slots=True)
class Profile:
    """Ticks of consecutive layers in one run."""

    code: int
    counter_hz: int
    counter_bits: int
    layers: tuple[LayerProfile, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    """Stack use in bytes since boot; zeros if the firmware cannot measure it."""

    stack_bytes: int
    stack_used: int
    stack_used_by_runs: int


@dataclass(frozen=True, slots=True)
class Slot:
    """Memory for loaded code and its data, with its address on the device."""

    address: int
    bytes: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Code:
    """The loaded code at the start of the slot, which must stay unchanged."""

    bytes: int
    crc32: int


@dataclass(frozen=True, slots=True)
class Call:
    """A call of loaded code, `int32_t entry(void *argument)`, which returns 0 on success."""

    entry: int  # an ELF symbol's value minus the slot's address; bit 0 is set for Thumb
    argument: int = 0  # an offset in the slot, like `entry`
    number: int = 1  # calls per repeat
    repeat: int = 1
    warm_up: int = 1  # calls before measuring; each checks that the firmware's memory stays unchanged
    deadline_s: float = 2.0  # device time for each repeat; a hang ends as a watchdog fault


def pack_hello(run_ms: int = 0) -> bytes:
    """Packs a hello; `run_ms` is the device's time limit for a run, or 0."""
    return struct.pack("<HI", PROTOCOL_VERSION, run_ms)


def unpack_hello(payload: bytes) -> Hello:
    """Unpacks the reply to hello. Only its first two fields are the same in all versions."""
    fields = Fields(payload)
    protocol, length = fields.take("HB")
    build_id = text_of(fields.take_bytes(length))
    known = Hello(protocol, build_id)
    return known if protocol != PROTOCOL_VERSION else _introduced(known, fields)


def unpack_introduction(known: Hello, payload: bytes) -> Hello:
    """Unpacks the introduction of a device after unlocking, adding to its known protocol and build."""
    return _introduced(known, Fields(payload))


def _introduced(known: Hello, fields: Fields) -> Hello:
    boot_nonce, boots, payload_bytes, capabilities, arena_bytes = fields.take("IIHHI")
    fault = FaultRecord(*fields.take("9I"))
    (model_count,) = fields.take("H")
    _require_at_most(MOST_NUMBERED, model_count, "models")
    return Hello(
        known.protocol,
        known.build_id,
        boot_nonce,
        boots,
        payload_bytes,
        capabilities,
        arena_bytes,
        fault if fault.boot else None,
        model_count,
        tuple(fields.take_bytes(HASH_BYTES) for _ in range(min(model_count, MOST_HASHES))),
    )


def pack_describe(model: int, what: DescribedTensors, index: int = 0) -> bytes:
    return struct.pack("<BBB", model, what, index)


def _require_at_most(most: int, count: int, what: str) -> None:
    if count > most:
        raise MalformedPayloadError(f"at most {most} {what} expected, {count} are announced")


def unpack_model_head(payload: bytes) -> ModelHead:
    fields = Fields(payload)
    model_hash = fields.take_bytes(HASH_BYTES)
    arena_bytes, inputs, outputs, layers = fields.take("IHHH")
    _require_at_most(MOST_NUMBERED, inputs, "inputs")
    _require_at_most(MOST_NUMBERED, outputs, "outputs")
    return ModelHead(model_hash, arena_bytes, inputs, outputs, layers, fields.take_text())


def unpack_tensor(payload: bytes) -> TensorSpec:
    """Unpacks an input or output. Its arena offset is skipped, because only the device uses it."""
    fields = Fields(payload)
    number, rank, _, size = fields.take("BBII")
    shape = fields.take(f"{rank}I")
    if number not in ELEMENT_TYPES:
        raise MalformedPayloadError(f"{number} is not the number of an element type")
    tensor = TensorSpec(fields.take_text(), TensorType(ELEMENT_TYPES[number], shape))
    if tensor.bytes != size:
        raise MalformedPayloadError(f"{tensor} has {tensor.bytes} bytes, not {size}")
    return tensor


def pack_write(model: int, tensor: int, offset: int, data: bytes) -> bytes:
    return struct.pack("<BBI", model, tensor, offset) + data


def pack_input_address(model: int, tensor: int) -> bytes:
    return struct.pack("<BB", model, tensor)


def unpack_input_address(payload: bytes) -> int:
    """Unpacks the address of an input."""
    return int(Fields(payload).take("I")[0])


def pack_read(model: int, tensor: int, offset: int, count: int) -> bytes:
    return struct.pack("<BBIH", model, tensor, offset, count)


def pack_run(model: int) -> bytes:
    return struct.pack("<B", model)


def pack_time(model: int, number: int, repeat: int) -> bytes:
    return struct.pack("<BHB", model, number, repeat)


def unpack_timing(payload: bytes, repeat: int) -> Timing:
    fields = Fields(payload)
    code, hz, bits, empty = fields.take("iIBQ")
    ticks = len(fields.rest) // 8
    if ticks != repeat:
        raise MalformedPayloadError(f"{repeat} times expected, {ticks} came")
    if not hz or not 1 <= bits <= 64:
        raise MalformedPayloadError(f"a counter of {bits} bits at {hz} Hz measures nothing")
    return Timing(code, hz, bits, empty, fields.take(f"{ticks}Q"))


def pack_profile(model: int, first_layer: int) -> bytes:
    return struct.pack("<BH", model, first_layer)


def unpack_profile(payload: bytes) -> Profile:
    fields = Fields(payload)
    code, hz, bits, count = fields.take("iIBH")
    entries = fields.take_bytes(count * PROFILE_ENTRY.size)
    layers = tuple(LayerProfile(*entry) for entry in PROFILE_ENTRY.iter_unpack(entries))
    return Profile(code, hz, bits, layers)


def pack_observed(model: int) -> bytes:
    return struct.pack("<B", model)


def unpack_observed(payload: bytes) -> bytes:
    if len(payload) != OBSERVED_BYTES:
        raise MalformedPayloadError(f"counters of {OBSERVED_BYTES} bytes expected, {len(payload)} came")
    return payload


def pack_state(model: int, action: StateRequest, rest: bytes = b"") -> bytes:
    return struct.pack("<BB", model, action) + rest


def pack_state_read(model: int, offset: int, count: int) -> bytes:
    return pack_state(model, StateRequest.READ, struct.pack("<IH", offset, count))


def pack_state_write(model: int, offset: int, data: bytes) -> bytes:
    return pack_state(model, StateRequest.WRITE, struct.pack("<I", offset) + data)


def unpack_stats(payload: bytes) -> Stats:
    return Stats(*Fields(payload).take("III"))


def pack_reset(what: Reset) -> bytes:
    return struct.pack("<B", what)


def unpack_code(payload: bytes) -> int:
    """Unpacks the model's error code, the first field in replies to failed runs."""
    (code,) = Fields(payload).take("i")
    return int(code)


def pack_rate(bits_per_second: int) -> bytes:
    return struct.pack("<I", bits_per_second)


def unpack_slot(payload: bytes) -> Slot:
    return Slot(*Fields(payload).take("IIH"))


def pack_load(offset: int, data: bytes) -> bytes:
    return struct.pack("<I", offset) + data


def pack_fetch(offset: int, count: int) -> bytes:
    return struct.pack("<IH", offset, count)


def pack_check(offset: int, count: int) -> bytes:
    return struct.pack("<II", offset, count)


def unpack_check(payload: bytes) -> int:
    (crc32,) = Fields(payload).take("I")
    return int(crc32)


def pack_call(code: Code, call: Call, repeat: int, warm_up: int) -> bytes:
    deadline_ms = round(call.deadline_s * 1000)
    places = (call.entry, call.argument, code.bytes, code.crc32, deadline_ms)
    return struct.pack("<5IHBB", *places, call.number, repeat, warm_up)
