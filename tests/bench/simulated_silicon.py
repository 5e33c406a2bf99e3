"""A board that is none: an emulator whose firmware reports other times, on a line that looks like USB.

It stands for hardware in tests. Its cycles are instructions times CYCLES_PER_INSTRUCTION, plus a tenth of a
percent for each further run, as interrupts add.
"""

import struct
from dataclasses import dataclass, replace

from boards.board import Board
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import Ready
from deploy.silicon.measure_kit import KitWishes
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.messages import PROFILE_ENTRY
from platforms.rpc.protocol import REPLY_BIT, Capability, Message, Status
from platforms.runners.qemu import PROGRAM, QemuLine, command
from platforms.transport.base import Transport
from platforms.transport.ports import UsbPort

NAME = "/dev/ttyACM9"
PORT = UsbPort(NAME, 0x0483, 0x374B, "0001")
CYCLES_PER_INSTRUCTION = 1.5
SMALL = ("digits", "gestures")  # of the kit's models
WISHES = KitWishes(BuildChoices(), LineOptions(), repeat=3, temperature_c=21.5, supply_v=3.3)
_STEP_S = 1e-5
_TIMING = struct.Struct("<iIBQ")
_PROFILE = struct.Struct("<iIBH")
BOARD = """
title = "A board of the tests"
mcu = "AN386"
core = "cortex-m4"
features = ["fpu"]
soc = "mps2-cm"
sources = ["these tests"]

[counter]
driver = "register"
address = 0x4002_8018
hz = 25_000_000
bits = 32

[platforms.baremetal]

[runners.openocd]
scripts = ["none.cfg"]
"""


@dataclass
class Bench:
    """The time at the desk with the board; it passes while the board works."""

    now_s: float = 0.0
    speed: float = 1.0  # of the board's counter, as it should be or as a wrong crystal makes it

    def clock(self) -> float:
        self.now_s += _STEP_S
        return self.now_s

    def open_line(self, ready: Ready, _line: LineOptions) -> Transport:
        board = load_board("mps2-an386")
        argv = command(PROGRAM, "mps2-an386", ready.built.elf, board)
        return SimulatedLine(QemuLine(argv), replace(board, name=ready.board.name), self)


class SimulatedLine(Transport):
    """Delivers a frame at each read, with the times changed."""

    name = NAME

    def __init__(self, line: Transport, board: Board, bench: Bench) -> None:
        self._line, self._board, self._bench = line, board, bench
        self._decoder, self._frames = Decoder(), list[bytes]()
        self._runs = 0

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        if not self._frames:
            received = self._line.read(max_bytes, deadline_s)
            self._frames += [item for item in self._decoder.feed(received) if isinstance(item, bytes)]
        if not self._frames:
            return b""
        packet = Packet.unpack(self._frames.pop(0))
        if packet.status == Status.OK:
            packet = self._changed(packet)
        return encode_frame(packet.pack())

    def write(self, data: bytes, deadline_s: float) -> None:
        self._line.write(data, deadline_s)

    def close(self) -> None:
        self._line.close()

    def _changed(self, packet: Packet) -> Packet:
        kind = packet.kind & ~REPLY_BIT
        if packet.kind == kind:
            return packet
        if kind == Message.HELLO:  # no firmware of a board tells addresses of inputs
            at = 2 + 1 + packet.payload[2] + 8 + 2
            (bits,) = struct.unpack_from("<H", packet.payload, at)
            return self._with(
                packet,
                packet.payload[:at]
                + struct.pack("<H", bits & ~Capability.INPUT_ADDRESS)
                + packet.payload[at + 2 :],
            )
        if kind in (Message.RUN, Message.TIME):
            code, hz, bits, _ = _TIMING.unpack_from(packet.payload)
            rest = packet.payload[_TIMING.size :]
            ticks = struct.unpack(f"<{len(rest) // 8}Q", rest)
            return self._with(
                packet,
                _TIMING.pack(code, hz, bits, 0) + struct.pack(f"<{len(ticks)}Q", *map(self._ticks, ticks)),
            )
        if kind == Message.PROFILE:
            head, entries = packet.payload[: _PROFILE.size], packet.payload[_PROFILE.size :]
            layers = [(self._ticks(ticks), crc) for ticks, crc in PROFILE_ENTRY.iter_unpack(entries)]
            return self._with(packet, head + b"".join(PROFILE_ENTRY.pack(*layer) for layer in layers))
        return packet

    def _ticks(self, ticks: int) -> int:
        self._runs += 1
        cycles = self._board.counter.instructions(ticks) * CYCLES_PER_INSTRUCTION * (1 + self._runs / 1000)
        self._bench.now_s += cycles / self._board.counter.hz / self._bench.speed
        return round(cycles)

    @staticmethod
    def _with(packet: Packet, payload: bytes) -> Packet:
        return replace(packet, payload=payload)
