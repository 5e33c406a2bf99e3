"""A stand-in for MicroPython in an emulated processor: loads a native module, and calls its functions.

It has the part of the interpreter's table of functions that modules use.
"""

import struct
from dataclasses import dataclass
from typing import Any

import unicorn
from unicorn import arm_const as arm
from unicorn import riscv_const as riscv

OBJECTS, TABLE, CODE, DATA, STACK, TRAPS, END = (n << 24 for n in range(1, 8))
REGION_BYTES = 1 << 20
RETURN = {"arm": b"\x70\x47", "riscv": b"\x82\x80"}  # bx lr, ret
ENTRIES = {  # of the interpreter's table of functions
    3: "from_object",
    4: "to_object",
    5: "swap_globals",
    7: "load_global",
    13: "store_global",
    19: "new_tuple",
    26: "make_function",
    27: "call",
    34: "raise_object",
    44: "check_count",
    50: "fill",
    51: "move",
    57: "new_text",
    65: "get_buffer",
}


class RaisedError(Exception):
    """What the module raised, as "ValueError: text"."""


@dataclass
class Buffer:
    """The memory of bytes, a bytearray or a memoryview."""

    address: int
    count: int


@dataclass(frozen=True)
class Function:
    code: int


class NativeModule:
    """An imported .mpy file of a 32-bit architecture."""

    def __init__(self, mpy: bytes, cpu: str) -> None:
        """`cpu` is a model of unicorn for Arm, or "" for 32-bit RISC-V."""
        self._machine = "arm" if cpu else "riscv"
        self._uc = self._emulator(cpu)
        self._handles: dict[int, Any] = {}
        self._raised = ""
        self._free = DATA
        self._globals: dict[str, int] = {}
        self._none = self._handle(None)
        self._load(mpy)

    def call(self, name: str, *arguments: bytes | int) -> Any:
        """Calls a function of the module. Buffers are returned as bytes."""
        handles = [self._argument(each) for each in arguments]
        function = self._handles[self._globals[name]]
        listed = self._placed(struct.pack(f"<{len(handles)}I", *handles) or bytes(4))
        return self._value(self._run(function.code, 0, len(handles), 0, listed))

    def _argument(self, value: bytes | int) -> int:
        if isinstance(value, int):
            return self._handle(value)
        return self._handle(Buffer(self._placed(value), len(value)))

    def _value(self, handle: int) -> Any:
        known = self._handles[handle]
        if isinstance(known, tuple):
            return tuple(map(self._value, known))
        return self._bytes(known.address, known.count) if isinstance(known, Buffer) else known

    def _emulator(self, cpu: str) -> Any:
        if cpu:
            uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
            uc.ctl_set_cpu_model(getattr(arm, f"UC_CPU_{cpu}"))
            self._arguments = [getattr(arm, f"UC_ARM_REG_R{n}") for n in range(4)]
            self._sp, self._link = arm.UC_ARM_REG_SP, arm.UC_ARM_REG_LR
        else:
            uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
            self._arguments = [getattr(riscv, f"UC_RISCV_REG_A{n}") for n in range(4)]
            self._sp, self._link = riscv.UC_RISCV_REG_SP, riscv.UC_RISCV_REG_RA
        for start in (OBJECTS, TABLE, CODE, DATA, STACK, TRAPS, END):
            uc.mem_map(start, REGION_BYTES)
        uc.mem_write(TRAPS, RETURN[self._machine] * 128)
        uc.hook_add(unicorn.UC_HOOK_CODE, self._on_trap, begin=TRAPS, end=TRAPS + 256)
        return uc

    def _load(self, mpy: bytes) -> None:
        self._file, self._at = mpy, 4
        assert mpy[:2] == b"M\x06"
        assert mpy[2] & 3 == 3
        assert mpy[3] == 31
        self.architecture = mpy[2] >> 2
        names, objects = self._number(), self._number()
        assert objects == 0
        self._names = [self._name() for _ in range(names)]
        kind = self._number()
        assert kind & 7 == 2
        text = self._taken(kind >> 3)
        flags, memory_bytes = self._number(), self._number()
        assert flags == 0x50
        thumb = self._machine == "arm"
        table = [TRAPS + 2 * n + thumb for n in range(100)]
        table[0] = self._none
        self._uc.mem_write(TABLE, struct.pack("<100I", *table))
        qstrs = self._placed(struct.pack(f"<{names}H", *range(names)))
        self._uc.mem_write(
            CODE, self._relocated(text, {0: CODE, 4: self._placed(bytes(memory_bytes)), 6: qstrs, 8: TABLE})
        )
        context = self._placed(struct.pack("<II", 0, 0))
        self._run(CODE, self._placed(struct.pack("<II", 0, context)), 0, 0, 0)

    def _relocated(self, text: bytes, places: dict[int, int]) -> bytes:
        words = list(struct.unpack(f"<{len(text) // 4}I", text))
        word = 0
        while (kind := self._taken(1)[0]) != 0xFF:
            if kind & 1:
                address = self._number()
                assert address & 1 == 0
                word = address >> 1
            words[word] += places[kind >> 1]
            word += 1
        assert self._at == len(self._file)
        return struct.pack(f"<{len(words)}I", *words)

    def _taken(self, count: int) -> bytes:
        self._at += count
        return self._file[self._at - count : self._at]

    def _number(self) -> int:
        value = 0
        while True:
            byte = self._taken(1)[0]
            value = value << 7 | byte & 0x7F
            if byte < 0x80:
                return value

    def _name(self) -> str:
        size = self._number()
        assert size & 1 == 0
        name = self._taken(size >> 1).decode()
        assert self._taken(1) == b"\0"
        return name

    def _run(self, code: int, *arguments: int) -> int:
        for register, value in zip(self._arguments, arguments, strict=True):
            self._uc.reg_write(register, value)
        thumb = self._machine == "arm"
        self._uc.reg_write(self._sp, STACK + REGION_BYTES)
        self._uc.reg_write(self._link, END + thumb)
        self._uc.emu_start(code | thumb, END)
        if self._raised:
            text, self._raised = self._raised, ""
            raise RaisedError(text)
        result: int = self._uc.reg_read(self._arguments[0])
        return result

    def _on_trap(self, uc: Any, address: int, size: int, data: object) -> None:
        arguments = [uc.reg_read(register) for register in self._arguments]
        result = getattr(self, f"_{ENTRIES[(address - TRAPS) // 2]}")(*arguments)
        uc.reg_write(self._arguments[0], result)

    def _handle(self, value: Any) -> int:
        place = OBJECTS + 32 * (1 + len(self._handles))
        self._handles[place] = value
        return place

    def _placed(self, data: bytes) -> int:
        start = self._free
        self._free += -(-len(data) // 16) * 16
        self._uc.mem_write(start, data)
        return start

    def _bytes(self, address: int, count: int) -> bytes:
        return bytes(self._uc.mem_read(address, count))

    def _from_object(self, handle: int, kind: int, *_: int) -> int:
        value: int = self._handles[handle]
        return value & 0xFFFF_FFFF

    def _to_object(self, value: int, kind: int, *_: int) -> int:
        assert kind == 2
        return self._handle(value - (1 << 32) if value >> 31 else value)

    def _swap_globals(self, *_: int) -> int:
        return 0

    def _load_global(self, name: int, *_: int) -> int:
        return self._handle(self._names[name])

    def _store_global(self, name: int, handle: int, *_: int) -> int:
        self._globals[self._names[name]] = handle
        return 0

    def _new_tuple(self, count: int, items: int, *_: int) -> int:
        return self._handle(struct.unpack(f"<{count}I", self._bytes(items, 4 * count)))

    def _make_function(self, described: int, *_: int) -> int:
        zero, kind, is_generator, code = struct.unpack("<HBBI", self._bytes(described, 8))
        assert (zero, kind, is_generator) == (0, 4, 0)
        return self._handle(Function(code))

    def _call(self, function: int, count: int, arguments: int, *_: int) -> int:
        assert count == 1
        (handle,) = struct.unpack("<I", self._bytes(arguments, 4))
        name, value = self._handles[function], self._handles[handle]
        if name == "bytearray":
            return self._handle(Buffer(self._placed(bytes(value)), value))
        if name == "memoryview":
            return self._handle(value)
        return self._handle(float(value) if name == "float" else f"{name}: {value}")

    def _raise_object(self, handle: int, *_: int) -> int:
        return self._stop(self._handles[handle])

    def _stop(self, text: str) -> int:
        self._raised = text
        self._uc.emu_stop()
        return 0

    def _check_count(self, count: int, keywords: int, allowed: int, *_: int) -> int:
        if keywords or not allowed >> 17 <= count <= (allowed >> 1 & 0xFFFF):
            return self._stop("TypeError: arguments")
        return 0

    def _fill(self, to: int, value: int, count: int, *_: int) -> int:
        self._uc.mem_write(to, bytes([value & 0xFF]) * count)
        return to

    def _move(self, to: int, source: int, count: int, *_: int) -> int:
        self._uc.mem_write(to, self._bytes(source, count))
        return to

    def _new_text(self, start: int, count: int, *_: int) -> int:
        return self._handle(self._bytes(start, count).decode())

    def _get_buffer(self, handle: int, found: int, flags: int, *_: int) -> int:
        known = self._handles[handle]
        if not isinstance(known, Buffer):
            return self._stop("TypeError: object with buffer protocol required")
        self._uc.mem_write(found, struct.pack("<III", known.address, known.count, 0))
        return 1
