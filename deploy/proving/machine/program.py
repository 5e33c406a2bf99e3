"""A linked Cortex-M program. Functions are decoded on demand."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from aot.errors import ToolError
from deploy.proving.machine.frame import Frame, MachineStep, decode, frame_of
from platforms.elf import Symbol, segments, symbols

_CODE, _DATA = "$t", "$d"  # ELF mapping symbols: start of code, start of constants


@dataclass(frozen=True)
class LinkedProgram:
    path: Path

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        return symbols(self.path)

    @cached_property
    def functions(self) -> dict[int, Symbol]:
        """Functions by address. If an address has several names, the first with a size is used."""
        found: dict[int, Symbol] = {}
        for symbol in sorted(self.symbols, key=lambda symbol: not symbol.bytes):
            if symbol.kind == "STT_FUNC":
                found.setdefault(symbol.address & ~1, symbol)
        return found

    def address_of(self, name: str) -> int:
        """Returns the address of a function. Raises ToolError if it does not exist."""
        found = next((address for address, symbol in self.functions.items() if symbol.name == name), None)
        if found is None:
            raise ToolError(f"the program has no function {name}", str(self.path))
        return found

    def name_of(self, address: int) -> str:
        """Returns the name of the function at an address, with an offset if it is inside one."""
        start = self._start_of(address)
        name = self.functions[start].name
        return name if start == address else f"{name}+{address - start:#x}"

    def holder_of(self, address: int) -> str:
        """Returns the name of the function that contains an address."""
        return self.functions[self._start_of(address)].name

    def frame(self, address: int) -> Frame:
        """Analyzes the code from an address, which may be inside a function. Raises ToolError."""
        return frame_of(self.steps(self._start_of(address)), address)

    def _start_of(self, address: int) -> int:
        """Returns the start of the function. Compilers may jump into the middle of other functions."""
        at = bisect_right(self._starts, address)
        start = self._starts[at - 1] if at else 0
        if not at or address >= start + self.functions[start].bytes:
            raise ToolError(f"no function of a known size is at {address:#x}", str(self.path))
        return start

    @cached_property
    def _starts(self) -> list[int]:
        return sorted(address for address, symbol in self.functions.items() if symbol.bytes)

    def steps(self, address: int) -> tuple[MachineStep, ...]:
        """Returns the instructions of a function, without embedded constants."""
        end, found = address + self.functions[address].bytes, list[MachineStep]()
        while address < end:
            kind, until = self._kind_at(address)
            if kind == _CODE:
                found += decode(self._bytes(address, min(end, until)), address, self._word)
            address = until
        return tuple(found)

    @cached_property
    def _kinds(self) -> list[tuple[int, str]]:
        marks = {(s.address, s.name[:2]) for s in self.symbols if s.name[:2] in (_CODE, _DATA)}
        return sorted(marks)

    def _kind_at(self, address: int) -> tuple[str, int]:
        """Returns whether code or constants are at an address, and where the other kind starts."""
        at = bisect_right(self._kinds, (address, "~"))
        end = self._kinds[at][0] if at < len(self._kinds) else 1 << 32
        return (self._kinds[at - 1][1] if at else _CODE), end

    @cached_property
    def _segments(self) -> tuple[tuple[range, bytes], ...]:
        return tuple((each.addresses, each.data) for each in segments(self.path))

    def _bytes(self, start: int, end: int) -> bytes:
        for addresses, data in self._segments:
            if start in addresses and end <= addresses.stop:
                return data[start - addresses.start : end - addresses.start]
        raise ToolError(f"nothing is loaded at {start:#x}", str(self.path))

    def _word(self, address: int) -> int:
        return int.from_bytes(self._bytes(address, address + 4), "little")


# Computes from machine code the functions that a call may reach, and its stack usage.


@dataclass(frozen=True)
class CallTree:
    """Functions reachable from an entry. A cycle is a recursion, for which no depth is known."""

    entry: int
    names: Mapping[int, str]  # by address
    frames: Mapping[int, Frame]
    deepest: Mapping[int, int]  # bytes including all callees; empty if there is a recursion
    circle: tuple[str, ...]  # names of a recursion's functions, with the first repeated at the end

    def calls(self, address: int) -> tuple[int, ...]:
        return tuple(sorted({site.target for site in self.frames[address].sites}))

    def chain(self) -> tuple[int, ...]:
        """Returns the deepest call chain, outermost first."""
        found, at = [self.entry], self.entry
        while (below := self._below(at)) is not None:
            found.append(below)
            at = below
        return tuple(found)

    def _below(self, address: int) -> int | None:
        frame = self.frames[address]
        depths = {site.target: site.bytes + self.deepest[site.target] for site in frame.sites}
        best = max(depths, key=depths.__getitem__, default=None)
        return best if best is not None and depths[best] >= frame.bytes else None


def call_tree(program: LinkedProgram, entry: str) -> CallTree:
    """Analyzes a function and everything it reaches. Raises ToolError if a function is unknown."""
    walk = _Descent(program)
    start = program.address_of(entry)
    walk.visit(start)
    names = {address: program.name_of(address) for address in walk.frames}
    circle = tuple(names[address] for address in walk.circle)
    return CallTree(start, names, walk.frames, {} if circle else walk.deepest, circle)


@dataclass
class _Descent:
    program: LinkedProgram
    frames: dict[int, Frame] = field(default_factory=dict)
    deepest: dict[int, int] = field(default_factory=dict)
    circle: tuple[int, ...] = ()
    above: list[int] = field(default_factory=list)

    def visit(self, address: int) -> int:
        if address in self.above:
            self.circle = (*self.above[self.above.index(address) :], address)
            return 0
        if address not in self.deepest:
            frame = self.frames[address] = self.program.frame(address)
            self.above.append(address)
            depths = [site.bytes + self.visit(site.target) for site in frame.sites]
            self.above.pop()
            self.deepest[address] = max([frame.bytes, *depths])
        return self.deepest[address]
