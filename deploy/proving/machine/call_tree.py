"""Computes from machine code the functions that a call may reach, and its stack usage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deploy.proving.machine.frame import Frame
from deploy.proving.machine.program import LinkedProgram


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
