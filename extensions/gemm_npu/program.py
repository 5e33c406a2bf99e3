"""Builds programs from tiles. Each tile loads, executes and stores; tokens separate the virtual threads.

A virtual thread owns a part of each memory, and tiles alternate between the threads. With two threads, one
tile is loaded while the other is computed. Tokens signal that a part is full or free again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from extensions.gemm_npu.encoding import ALU_OPERATIONS, MEMORY_NAMES, NpuCommand

CONSTANTS, X, X2, Y = range(4)  # base registers
MOST_THREADS = 2


@dataclass(frozen=True)
class NpuTile:
    """A part of the result. Loads are omitted if the thread's part of the memories already holds the data."""

    loads: tuple[NpuCommand, ...]
    before: tuple[NpuCommand, ...]  # in the execute queue, before loaded data is read
    products: tuple[NpuCommand, ...]  # instructions that read loaded data
    scaled: tuple[NpuCommand, ...]  # of accumulators; the last one writes the output
    store: NpuCommand


def load(memory: str, base: int, offset: int, **fields: int) -> NpuCommand:
    values = {"memory": MEMORY_NAMES.index(memory), "base": base, "offset": offset, **fields}
    return instruction("LOAD", values)


def instruction(operation: str, fields: Mapping[str, int]) -> NpuCommand:
    return NpuCommand(operation, {name: int(value) for name, value in fields.items() if value})


def alu(operation: str, fields: Mapping[str, int]) -> NpuCommand:
    return instruction("ALU", {"alu": ALU_OPERATIONS.index(operation), **fields})


def programmed(
    preparation: Sequence[NpuCommand], tiles: Sequence[NpuTile], threads: int
) -> tuple[NpuCommand, ...]:
    """Returns the program: the execute queue's loads, then each tile with its tokens."""
    held: list[set[NpuCommand]] = [set() for _ in range(threads)]
    program = list(preparation)
    for number, tile in enumerate(tiles):
        thread = number % threads
        waits, is_awaited = int(number >= threads), int(number + threads < len(tiles))
        loads = [each for each in tile.loads if each not in held[thread]]
        held[thread] = set(tile.loads)
        program += _tokens(loads, {"pop_next": waits}, {"push_next": 1})
        program += tile.before
        program += _tokens(tile.products, {"pop_previous": 1}, {"push_previous": is_awaited})
        *scales, clip = tile.scaled
        program += [*scales, _with(clip, {"pop_next": waits, "push_next": 1})]
        program.append(_with(tile.store, {"pop_previous": 1, "push_previous": is_awaited}))
    return tuple(program)


def _tokens(
    group: Sequence[NpuCommand], first: Mapping[str, int], last: Mapping[str, int]
) -> list[NpuCommand]:
    """Returns the instructions. The first one waits for the tokens, the last one sends tokens."""
    made = [_with(group[0], first), *group[1:]]
    return [*made[:-1], _with(made[-1], last)]


def _with(one: NpuCommand, flags: Mapping[str, int]) -> NpuCommand:
    return replace(one, fields={**one.fields, **{name: 1 for name, on in flags.items() if on}})
