"""Computes a function's stack usage by following its instructions, and the calls it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from deploy.proving.machine.step import Continuation, MachineStep

_MOST_BYTES = 1 << 20  # exceeding it means that a loop grows the stack without end


@dataclass(frozen=True, slots=True)
class CallSite:
    """A call, or a jump out of the function, and the stack in use there."""

    bytes: int
    target: int


@dataclass(frozen=True, slots=True)
class Frame:
    bytes: int  # maximum depth
    sites: tuple[CallSite, ...]
    by_register: tuple[MachineStep, ...]  # indirect calls and jumps
    unbounded: tuple[MachineStep, ...]  # instructions that move the stack pointer by an unknown amount


def frame_of(steps: Sequence[MachineStep], start: int) -> Frame:
    """Follows a function from its entry address.

    Code reached only through a table of offsets is assumed to start at the depth of the table's jump.
    """
    walk = _DepthWalk({step.address: step for step in steps})
    walk.follow(start, 0)
    for step in steps:
        if step.address not in walk.before:
            walk.follow(step.address, walk.depth_at_tables)
    return walk.frame()


class _DepthWalk:
    """The stack depth before each instruction, maximized over all paths."""

    def __init__(self, steps: Mapping[int, MachineStep]) -> None:
        self._steps = steps
        self.before: dict[int, int] = {}
        self.depth_at_tables = 0
        self._sites: set[CallSite] = set()
        self._endless: set[int] = set()

    def follow(self, address: int, depth: int) -> None:
        waiting = [(address, depth)]
        while waiting:
            address, depth = waiting.pop()
            step = self._steps.get(address)
            if step is None or depth <= self.before.get(address, -1):
                continue
            if depth > _MOST_BYTES:
                self._endless.add(address)
                continue
            self.before[address] = depth
            waiting += self._behind(step, depth)

    def _behind(self, step: MachineStep, depth: int) -> list[tuple[int, int]]:
        """Returns the possible next instructions, with the depth before each."""
        after = max(0, depth + step.taken)
        next_one = step.end, max(depth, after) if step.is_conditional else after
        if step.continuation is Continuation.TABLE:
            self.depth_at_tables = max(self.depth_at_tables, after)
        if step.target is not None and (
            step.continuation is Continuation.CALL or step.target not in self._steps
        ):
            self._sites.add(CallSite(depth, step.target))
        goes_on = (
            step.continuation in (Continuation.NEXT, Continuation.CALL)
            or step.is_conditional
            or step.text.startswith("blx")
        )
        found = [next_one] if goes_on else []
        if step.continuation is Continuation.JUMP and step.target is not None and step.target in self._steps:
            found.append((step.target, after))
        return found

    def frame(self) -> Frame:
        steps = [self._steps[address] for address in sorted(self.before)]
        return Frame(
            bytes=max(
                max(self.before[step.address], self.before[step.address] + step.taken) for step in steps
            ),
            sites=tuple(sorted(self._sites, key=lambda site: (site.target, site.bytes))),
            by_register=tuple(step for step in steps if step.continuation is Continuation.REGISTER),
            unbounded=tuple(s for s in steps if s.loses_stack or s.address in self._endless),
        )
