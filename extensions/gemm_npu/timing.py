"""Computes when each instruction begins and ends in the three queues, from tokens and the timing table.

Timing does not depend on data. An instruction begins when its predecessor in the queue has finished and the
tokens that it waits for have arrived.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aot.errors import CheckError
from extensions.gemm_npu.assembly import line_of
from extensions.gemm_npu.encoding import QUEUES, NpuCommand
from extensions.gemm_npu.machine import TIMING, DeviceTiming

_OTHER = {"previous": -1, "next": 1}
Channel = tuple[str, str]  # (from queue, to queue)


@dataclass(frozen=True, slots=True)
class Event:
    """The time of an instruction, in device cycles."""

    number: int  # of the instruction
    queue: str
    begin: int
    end: int


@dataclass(frozen=True)
class TimedRun:
    events: tuple[Event, ...]  # in the order of their begin

    @property
    def cycles(self) -> int:
        return max((event.end for event in self.events), default=0)


def neighbour(queue: str, side: str) -> str:
    """Returns the previous or next queue; empty if there is none."""
    at = QUEUES.index(queue) + _OTHER[side]
    return QUEUES[at] if 0 <= at < len(QUEUES) else ""


def outside_bytes(one: NpuCommand) -> int:
    """Returns the bytes transferred to or from external memory."""
    return one["rows"] * one["columns"] * one["bytes"] if one.operation in ("LOAD", "STORE") else 0


def duration(one: NpuCommand, timing: DeviceTiming = TIMING) -> int:
    """Returns the cycles of an instruction from its begin, if the port is free."""
    if one.operation in ("LOAD", "STORE"):
        moved = -(-outside_bytes(one) // timing.dma_bytes_per_cycle)
        return timing.issue_cycles + timing.dma_latency_cycles + moved
    turns = one["outer"] * one["inner"] * one["count"]
    each = timing.tiles_per_cycle if one.operation == "GEMM" else timing.vectors_per_cycle
    return timing.issue_cycles + -(-turns // each)


def timed(program: Sequence[NpuCommand], timing: DeviceTiming = TIMING) -> TimedRun:
    """Simulates the queues. Raises CheckError."""
    waiting: dict[str, deque[int]] = {queue: deque() for queue in QUEUES}
    for number, one in enumerate(program):
        waiting[one.queue].append(number)
    tokens: dict[Channel, deque[int]] = {}
    free = dict.fromkeys((*QUEUES, "port"), 0)
    events: list[Event] = []
    while any(waiting.values()):
        heads = [numbers[0] for numbers in waiting.values() if numbers]
        starts = {n: at for n in heads if (at := _start(program[n], tokens, free)) is not None}
        if not starts:
            raise _deadlock(program, heads, tokens)
        number = min(starts, key=lambda n: (starts[n], n))
        one, begin = program[number], starts[number]
        end = begin + duration(one, timing)
        free[one.queue] = end
        if one.operation in ("LOAD", "STORE"):
            free["port"] = end
        for channel in _channels(one, "pop"):
            tokens[channel].popleft()
        for channel in _channels(one, "push"):
            tokens.setdefault(channel, deque()).append(end)
        waiting[one.queue].popleft()
        events.append(Event(number, one.queue, begin, end))
    return TimedRun(tuple(events))


def _channels(one: NpuCommand, verb: str) -> list[Channel]:
    """Returns the channels of the tokens that an instruction receives ("pop") or sends ("push")."""
    pairs = [(one.queue, neighbour(one.queue, side)) for side in _OTHER if one[f"{verb}_{side}"]]
    return [(other, queue) if verb == "pop" else (queue, other) for queue, other in pairs]


def _start(one: NpuCommand, tokens: Mapping[Channel, deque[int]], free: Mapping[str, int]) -> int | None:
    """Returns the cycle in which it can begin, or None while it waits for a token."""
    at = free[one.queue]
    for channel in _channels(one, "pop"):
        if not tokens.get(channel):
            return None
        at = max(at, tokens[channel][0])
    return max(at, free["port"]) if one.operation in ("LOAD", "STORE") else at


def _deadlock(
    program: Sequence[NpuCommand], heads: Sequence[int], tokens: Mapping[Channel, deque[int]]
) -> CheckError:
    lines = [
        f"{program[n].queue} waits at instruction {n} for a token of {_missing(program[n], tokens)}: "
        f"{line_of(program[n])}"
        for n in heads
    ]
    return CheckError(
        "gemm-npu: deadlock, no queue can continue",
        "\n".join(lines),
        "an earlier instruction of the named queue must give each token that is waited for",
    )


def _missing(one: NpuCommand, tokens: Mapping[Channel, deque[int]]) -> str:
    """Returns the queues whose tokens it waits for."""
    return " and ".join(way[0] or "no queue" for way in _channels(one, "pop") if not tokens.get(way))
