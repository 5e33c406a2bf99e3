"""Derives all figures of a measurement from its log, without side effects.

The log has the bytes on the line, so a figure is what the board replied, not what somebody wrote down.
"""

from __future__ import annotations

import statistics
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aot.errors import InputError
from boards.board import Counter
from deploy.silicon.kit_models import sha256_of
from deploy.silicon.line_log import FROM_BOARD, TO_BOARD, LogLine, notes
from platforms.rpc import messages
from platforms.rpc.frame import Damage, Decoder, Packet
from platforms.rpc.messages import LayerProfile, MalformedPayloadError, Timing
from platforms.rpc.protocol import REPLY_BIT, Capability, Message, Notice, Status

FORMAT = 1
CLOCK_TOLERANCE = (
    0.02  # of the counter against the computer's clock: an RC oscillator's, and the line's delay
)
Facts = dict[str, Any]
_WRITE, _READ = struct.Struct("<BBI"), struct.Struct("<BBIH")
_TIME, _PROFILE, _RESULT = struct.Struct("<BHB"), struct.Struct("<BH"), struct.Struct("<xI")


@dataclass(frozen=True, slots=True)
class Replied:
    """A request and its reply, with the computer's times."""

    kind: Message
    request: bytes
    reply: bytes
    began_s: float  # the board reported that it is working; without that, the request was sent
    ended_s: float


@dataclass(slots=True)
class Measurement:
    """What the log has of one firmware, in the order of its replies."""

    facts: Mapping[str, Any]
    replies: list[Replied] = field(default_factory=list)
    damaged: int = 0  # frames

    def of(self, kind: Message) -> Iterator[Replied]:
        return (reply for reply in self.replies if reply.kind is kind)


def figures_of(lines: Sequence[LogLine], where: str) -> Facts:
    """Returns everything that is known from a log. Raises InputError if a part is missing."""
    heads = list(notes(lines, "measurement"))
    if len(heads) != 1 or not isinstance(heads[0], dict) or heads[0].get("format") != FORMAT:
        raise InputError(f"the log is not of one measurement of format {FORMAT}", where)
    head = heads[0]
    try:
        return _figures(head, list(_measurements(lines)), lines)
    except MalformedPayloadError as error:
        raise InputError(f"a reply in the log is not what the protocol allows: {error}", where) from None
    except (
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        struct.error,
        ZeroDivisionError,
    ) as error:
        raise InputError(f"the log is incomplete: {type(error).__name__} {error}", where) from None


def _figures(head: Facts, measured: Sequence[Measurement], lines: Sequence[LogLine]) -> Facts:
    counter = Counter(**head["board"]["counter"])
    plain = {each.facts["model"]: each for each in measured if not each.facts["profile"]}
    profiled = {each.facts["model"]: each for each in measured if each.facts["profile"]}
    if plain.keys() != profiled.keys() or len(measured) != len(plain) + len(profiled):
        raise ValueError("each model has one measurement of the whole and one of its layers")
    scale = Scale(counter, head["board"]["clock_hz"])
    models = [_model(plain[name], profiled[name], scale, head["repeat"]) for name in plain]
    return {
        "measurement": head,
        "unit": scale.unit,
        "models": models,
        "skipped": list(notes(lines, "skipped")),
        "clock": _clock(models, scale, any(each.facts["line"]["is_program"] for each in measured)),
        "chip": next((words for each in measured if (words := _words(each))), {}),
        "line": {
            "bytes": sum(len(line.data) for line in lines),
            "damaged_frames": sum(each.damaged for each in measured),
        },
        "not_hardware": sorted({why for each in measured for why in _not_hardware(each, scale)}),
    }


@dataclass(frozen=True, slots=True)
class Scale:
    """Converts ticks to the board's unit and to seconds."""

    counter: Counter
    clock_hz: int

    @property
    def unit(self) -> str:
        if self.counter.instruction_ns is not None:
            return "instructions"
        return "time" if self.counter.driver in ("clock", "still") else "cycles"

    def of(self, ticks: int) -> Facts:
        """Returns the figures of a run or a layer."""
        if self.counter.instruction_ns is not None:
            return {"ticks": ticks, "instructions": self.counter.instructions(ticks)}
        seconds = ticks / self.counter.hz
        if self.unit == "time":
            return {"ticks": ticks, "time_s": seconds}
        return {"ticks": ticks, "cycles": round(seconds * self.clock_hz), "time_s": seconds}


def _model(whole: Measurement, layers: Measurement, scale: Scale, repeat: int) -> Facts:
    runs = [_timing(reply, 1) for reply in whole.of(Message.RUN)]
    if len(runs) != repeat:
        raise ValueError(f"{len(runs)} of {repeat} runs of {whole.facts['model']}")
    timings = [_timing(reply, _TIME.unpack(reply.request)[2]) for reply in whole.of(Message.TIME)]
    for timing in (*runs, *timings):
        if (timing.counter_hz, timing.counter_bits) != (scale.counter.hz, scale.counter.bits):
            raise ValueError(
                f"the firmware's counter has {timing.counter_bits} bits and {timing.counter_hz:,} Hz, "
                f"the board's file says {scale.counter.bits} and {scale.counter.hz:,}"
            )
    (batch,) = whole.of(Message.TIME)
    ticks = [timing.net_ticks[0] for timing in runs]
    return {
        **{key: whole.facts[key] for key in ("model", "sha256", "build_id", "toolchain", "macs")},
        "firmware_sha256": whole.facts["firmware_sha256"],
        "layers_firmware_sha256": layers.facts["firmware_sha256"],
        "reported_build_ids": sorted({*_build_ids(whole), *_build_ids(layers)}),
        "inputs_sha256": _inputs(whole),
        "outputs_sha256": sha256_of(*_read(whole)),
        "runs": ticks,
        **scale.of(statistics.median_low(ticks)),
        "batch": {
            "runs": _TIME.unpack(batch.request)[1],
            "ticks": timings[0].ticks[0],
            "computer_s": round(batch.ended_s - batch.began_s, 6),
        },
        "layers": [
            {**facts, **scale.of(found.ticks), "crc32": found.crc32}
            for facts, found in zip(layers.facts["layers"], _layers(layers), strict=True)
        ],
    }


def _timing(reply: Replied, repeat: int) -> Timing:
    timing = messages.unpack_timing(reply.reply, repeat)
    if timing.code:
        raise ValueError(f"a run failed with code {timing.code}")
    return timing


def _build_ids(measured: Measurement) -> Iterator[str]:
    return (messages.unpack_hello(reply.reply).build_id for reply in measured.of(Message.HELLO))


def _inputs(measured: Measurement) -> str:
    """Returns the hash of the inputs, which are written before each run and always the same."""
    written: dict[int, bytearray] = {}
    found = set()
    for reply in measured.replies:
        if reply.kind is Message.WRITE:
            _, tensor, offset = _WRITE.unpack_from(reply.request)
            _put(written.setdefault(tensor, bytearray()), offset, reply.request[_WRITE.size :])
        elif reply.kind is Message.RUN:
            found.add(sha256_of(*(bytes(written[tensor]) for tensor in sorted(written))))
            written.clear()
    (digest,) = found
    return digest


def _read(measured: Measurement) -> list[bytes]:
    """Returns the outputs, which are read once after the last run."""
    found: dict[int, bytearray] = {}
    for reply in measured.of(Message.READ):
        _, tensor, offset, count = _READ.unpack(reply.request)
        if len(reply.reply) != count:
            raise ValueError("an output was read incompletely")
        _put(found.setdefault(tensor, bytearray()), offset, reply.reply)
    return [bytes(found[tensor]) for tensor in sorted(found)]


def _put(whole: bytearray, offset: int, data: bytes) -> None:
    if offset != len(whole):
        raise ValueError(f"bytes {len(whole)} to {offset} of a tensor are missing")
    whole += data


def _layers(measured: Measurement) -> list[LayerProfile]:
    """Returns the median of each layer's ticks; its rows must be the same in all repeats."""
    repeats: list[list[LayerProfile]] = []
    for reply in measured.of(Message.PROFILE):
        _, first = _PROFILE.unpack(reply.request)
        if not first:
            repeats.append([])
        if len(repeats[-1]) != first:
            raise ValueError("layers are missing in a profile")
        repeats[-1] += messages.unpack_profile(reply.reply).layers
    found = []
    for each in zip(*repeats, strict=True):
        (crc32,) = {layer.crc32 for layer in each}
        found.append(LayerProfile(statistics.median_low([layer.ticks for layer in each]), crc32))
    return found


def _clock(models: Sequence[Facts], scale: Scale, is_program: bool) -> Facts:
    """Compares the counter with the computer's clock, over batches of runs of some seconds.

    An emulator's time is virtual: it passes as fast as the computer emulates.
    """
    batches = [model["batch"] for model in models]
    rates = [each["ticks"] / each["computer_s"] for each in batches if each["computer_s"] > 0]
    rate = statistics.median(rates) if rates else 0.0
    return {
        "counter_hz": scale.counter.hz,
        "measured_hz": round(rate),
        "off": round(rate / scale.counter.hz - 1, 6),
        "computer_s": round(sum(each["computer_s"] for each in batches), 6),
        "is_virtual": scale.unit == "instructions" or (scale.unit == "cycles" and is_program),
    }


def _words(measured: Measurement) -> dict[str, int]:
    values = [_RESULT.unpack(reply.reply)[0] for reply in measured.of(Message.INVOKE)]
    return dict(zip(measured.facts.get("words", ()), values, strict=True))


def _not_hardware(measured: Measurement, scale: Scale) -> Iterator[str]:
    """Yields the reasons why these are not measurements of a board."""
    line = measured.facts["line"]
    if line["is_program"]:
        yield "the firmware ran as a program of the computer"
    if not line["usb"]:
        yield "the line is no USB device"
    if scale.unit != "cycles":
        yield (
            "the counter counts instructions"
            if scale.counter.instruction_ns
            else "the counter does not count cycles"
        )
    for reply in measured.of(Message.HELLO):
        if messages.unpack_hello(reply.reply).capabilities & Capability.INPUT_ADDRESS:
            yield "the firmware is made for an emulator"


def _measurements(lines: Sequence[LogLine]) -> Iterator[Measurement]:
    starts = [n for n, line in enumerate(lines) if isinstance(line.note, dict) and "firmware" in line.note]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield _conversation(lines[start].note["firmware"], lines[start + 1 : end])


def _conversation(facts: Mapping[str, Any], lines: Iterable[LogLine]) -> Measurement:
    """Pairs requests with their first replies. Repeated and damaged frames do not count."""
    found = Measurement(facts)
    decoders = {TO_BOARD: Decoder(), FROM_BOARD: Decoder()}
    asked: dict[tuple[int, int], tuple[Packet, float]] = {}
    for line in lines:
        for item in decoders[line.mark].feed(line.data) if line.mark in decoders else ():
            if isinstance(item, Damage):
                found.damaged += line.mark == FROM_BOARD
                continue
            packet = Packet.unpack(item)
            key = (packet.session, packet.sequence)
            if line.mark == TO_BOARD:
                asked.setdefault(key, (packet, line.at_s))
            elif key in asked:
                _hear(found, asked, packet, line.at_s)
    return found


def _hear(
    found: Measurement, asked: dict[tuple[int, int], tuple[Packet, float]], packet: Packet, at_s: float
) -> None:
    key = (packet.session, packet.sequence)
    request, since_s = asked[key]
    if packet.kind == Notice.WORKING:
        asked[key] = (request, at_s)
    elif packet.kind == request.kind | REPLY_BIT:
        del asked[key]
        if packet.status == Status.OK:
            kind = Message(request.kind)
            found.replies.append(Replied(kind, request.payload, packet.payload, since_s, at_s))
