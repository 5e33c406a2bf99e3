"""A schedule: changes a proc step by step. Each step is checked and can be replayed on another proc."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from aot.ir.types import Array
from codegen.lang.misuse import NamedParts, checks_arguments, checks_arguments_as, misuse
from codegen.lang.outcome import outcome
from codegen.lang.padding import padded
from codegen.loops import schedule as primitives
from codegen.loops.affine import Affine
from codegen.loops.axes import in_order, statements
from codegen.loops.cache import cache_read, cache_write
from codegen.loops.compute_at import compute_at, compute_inline
from codegen.loops.ir import Accumulate, Declare, For, Instruction, Proc, Role, Store, walk
from codegen.loops.pack import Packing, pack
from codegen.loops.reverse_compute_at import reverse_compute_at
from codegen.loops.share import share
from codegen.loops.sketches import Steps
from codegen.loops.tensorize import Lanes, tensorize, vectorize
from codegen.loops.text import print_proc

# The instruction sets with vector lanes.


def isas_with_lanes() -> Mapping[str, Lanes]:
    """Returns the lanes of each instruction set that has any, by name."""
    from codegen.isa.table import isas  # imported late: only users of lanes need the instruction sets

    return {each.name: each.lanes for each in isas() if each.lanes is not None}


# A recorded step of a schedule, which can be printed and replayed.


@dataclass(frozen=True)
class ScheduleStep:
    """One method call with its arguments."""

    name: str
    arguments: tuple[Any, ...]
    words: tuple[tuple[str, Any], ...] = ()  # keyword arguments

    def __str__(self) -> str:
        said = [
            *map(_describe, self.arguments),
            *(f"{name}={_describe(value)}" for name, value in self.words),
        ]
        return f"s.{self.name}({', '.join(said)})"


def _describe(argument: object) -> str:
    return argument.name if isinstance(argument, Instruction) else repr(argument)


class Schedule:
    """A proc and the schedule steps applied to it.

    Loops and buffers have names. A method changes every loop of a name, so the main part of a split and its
    tail are treated alike. No step changes the result; one that would is rejected. With `check`, the loop
    interpreter also runs the proc before and after each step on random numbers.
    """

    @checks_arguments_as("Schedule")
    def __init__(
        self, proc: Proc, check: bool = False, shapes: Mapping[str, tuple[int, ...]] | None = None
    ) -> None:
        self.meaning = proc  # before the first step
        self.proc = proc
        self.shapes = dict(shapes or {})  # of parameters, by name; missing ones are flat
        self.check = check
        self.trace: tuple[ScheduleStep, ...] = ()
        self.packings: Mapping[str, Packing] = {}  # of constants, by name

    def __repr__(self) -> str:
        return f"<Schedule of {self.proc.name}, {len(self.trace)} steps>"

    # ---- queries ----

    @property
    def loops(self) -> Mapping[str, int]:
        """Returns the extents of loops by name, outermost first; of several loops of a name, the first."""
        found: dict[str, int] = {}
        for stmt in walk(self.proc.body):
            if isinstance(stmt, For):
                found.setdefault(stmt.var, stmt.extent)
        return NamedParts(self.proc.name, "loop", found)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Returns the names of parameters and locals."""
        return (*(param.name for param in self.proc.params), *self.locals)

    @property
    def blocks(self) -> Mapping[str, tuple[str, ...]]:
        """Returns the computed tensors in order, each with the loops around its elements."""
        found: dict[str, tuple[str, ...]] = {}
        for stmt, around in statements(self.proc.body, {}):
            if isinstance(stmt, Store | Accumulate) and stmt.place.buffer.role is not Role.LOCAL:
                found.setdefault(stmt.place.buffer.name, tuple(around))
        return NamedParts(self.proc.name, "block", found)

    @property
    def locals(self) -> tuple[str, ...]:
        """Returns the names of the locals that the loops declare."""
        return tuple(dict.fromkeys(s.buffer.name for s in walk(self.proc.body) if isinstance(s, Declare)))

    def show(self) -> str:
        """Returns the current loops as text."""
        return print_proc(self.proc)

    def script(self) -> str:
        """Returns the steps as Python code for a schedule `s`."""
        return "".join(f"{step}\n" for step in self.trace)

    @checks_arguments
    def apply_sketch(self, steps: Steps) -> None:
        """Applies the steps that a search found for an unscheduled proc, except those that change nothing."""
        names: dict[str, str] = {}  # sketch loop -> loop here

        def here(loop: str) -> str:
            return names.get(loop, loop)

        for step in steps:
            match step:
                case ("split", (str() as loop, int() as factor, str() as outer, str() as inner)):
                    names[outer], names[inner] = self.split(here(loop), factor)
                case ("reorder", (str() as outer, str() as inner)):
                    if primitives.reorder(self.proc, here(outer), here(inner)) != self.proc:
                        self.reorder(here(inner), here(outer))
                case ("privatize", (tuple() as sums, str() as loop)):
                    if primitives.privatize(self.proc, sums, here(loop)) != self.proc:
                        self.privatize(here(loop), *(name for name in sums if name in self.locals))
                case ("vectorize", (str() as loop, Lanes(isa))):
                    self.vectorize(here(loop), isa)
                case ("share", (str() as loop, str() as window, str())):
                    names[f"{loop}_{window}"] = self.share(here(loop), here(window))
                case ("unroll", (str() as loop,)):
                    self.unroll(here(loop))
                case ("unroll_by", (str() as loop, int() as times)):
                    self.unroll(here(loop), times)
                case (name, _):
                    raise AssertionError(f"a sketch has no step {name}")

    @checks_arguments
    def replay(self, other: Schedule | Proc) -> Schedule:
        """Applies the same steps to another proc, such as one of another shape, or to a schedule."""
        made = Schedule(other) if isinstance(other, Proc) else copy(other)
        for step in self.trace:
            getattr(made, step.name)(*step.arguments, **dict(step.words))
        return made

    @checks_arguments
    def stored(self, constants: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the constants in the order in which the loops read them."""
        return {
            name: self.packings[name].apply(array) if name in self.packings else array.reshape(-1)
            for name, array in constants.items()
        }

    # ---- loops ----

    @checks_arguments
    def split(self, loop: str, factor: int | tuple[int | None, int | None]) -> tuple[str, str]:
        """Splits a loop into two nested ones and returns their names.

        `factor` is the inner extent; (4, None) gives the outer extent. The remainder becomes a loop
        `<outer>_tail` with an inner loop of the same name.
        """
        inner = self._inner_factor(loop, factor)
        names = f"{loop}_o", f"{loop}_i"
        self._step("split", (loop, factor), lambda p: primitives.split(p, loop, inner, *names))
        return names

    @checks_arguments
    def tile(self, outer: str, inner: str, outer_factor: int, inner_factor: int) -> tuple[str, str, str, str]:
        """Tiles two nested loops. Returns the names of both outer loops, then of both inner ones."""
        a, b = self.split(outer, outer_factor)
        self.reorder(inner, b)  # so that the tail of the inner loop is nested like its main part
        c, d = self.split(inner, inner_factor)
        self.reorder(b, d)
        return a, c, b, d

    @checks_arguments
    def fuse(self, outer: str, inner: str) -> str:
        """Fuses two nested loops and returns the name."""
        name = f"{outer}_{inner}"
        self._step("fuse", (outer, inner), lambda p: primitives.fuse(p, outer, inner, name))
        return name

    @checks_arguments
    def reorder(self, *loops: str) -> None:
        """Reorders perfectly nested loops, outermost first."""
        if len([self.loops[loop] for loop in loops]) < 2:
            raise misuse("reorder needs at least two loops", f"loops: {', '.join(self.loops)}")
        self._step("reorder", loops, lambda p: in_order(p, loops))

    @checks_arguments
    def partition(self, loop: str, at: int) -> tuple[str, str]:
        """Splits a loop in sequence. Returns the names of the first `at` iterations and of the rest."""
        names = f"{loop}_a", f"{loop}_b"
        self._step("partition", (loop, at), lambda p: primitives.partition(p, loop, at, *names))
        return names

    @checks_arguments
    def unroll(self, loop: str, times: int | None = None, statements: int | None = None) -> None:
        """Unrolls a loop completely, or by a factor of `times`.

        With `statements`, unrolls as far as the body stays within that many statements.
        """
        if times is not None and statements is not None:
            raise misuse("unroll accepts times or statements, not both")
        if statements is not None:
            budget = statements
            self._step(
                "unroll",
                (loop,),
                lambda p: primitives.unroll_within(p, loop, budget),
                words={"statements": budget},
            )
        elif times is not None:
            turns = times
            self._require_turns(loop, turns)
            self._step("unroll", (loop, turns), lambda p: primitives.unroll_by(p, loop, turns))
        else:
            self._step("unroll", (loop,), lambda p: primitives.unroll(p, loop))

    @checks_arguments
    def annotate(self, loop: str, note: str) -> None:
        """Adds a comment above a loop, in the text and in C."""
        if not note.isprintable():
            raise misuse(f"the note {note!r} does not fit a one-line C comment")
        self._step("annotate", (loop, note), lambda p: primitives.annotate(p, loop, note))

    @checks_arguments
    def decompose_reduction(self, loop: str) -> str:
        """Moves the initialization of a loop's sums to a loop before it, and returns that loop's name."""
        first = f"{loop}_begin"
        self._step("decompose_reduction", (loop,), lambda p: primitives.decompose_reduction(p, loop, first))
        return first

    @checks_arguments
    def share(self, loop: str, window: str) -> str:
        """Reduces the common part of neighboring windows once, and returns the new loop's name.

        `window` is the reduction loop along which the windows slide: for a 3x3 maximum, the columns.
        """
        name = f"{loop}_{window}"
        self._step("share", (loop, window), lambda p: share(p, loop, window, f"near_{window}"))
        return name

    # ---- tensors ----

    @checks_arguments
    def compute_at(self, tensor: str, loop: str) -> None:
        """Computes, in each iteration of a loop that reads a tensor, only the part that the iteration reads.

        The tensor then needs memory for one iteration only. Iterations that read the same elements recompute
        them.
        """
        self._step("compute_at", (tensor, loop), lambda p: compute_at(p, tensor, loop))

    @checks_arguments
    def reverse_compute_at(self, tensor: str, loop: str) -> None:
        """Computes each part of a tensor as soon as its input is ready, at the end of an earlier loop."""
        self._step("reverse_compute_at", (tensor, loop), lambda p: reverse_compute_at(p, tensor, loop))

    @checks_arguments
    def compute_inline(self, tensor: str) -> None:
        """Computes the elements of a tensor without sums at each read. The tensor then needs no memory."""
        self._step("compute_inline", (tensor,), lambda p: compute_inline(p, tensor))

    # ---- buffers ----

    @checks_arguments
    def privatize(self, loop: str, *buffers: str) -> None:
        """Creates private copies of locals for each iteration of a loop, and a separate loop per statement.

        A sum becomes a tile of sums, so that the reduction loops can move outside of this one.
        """
        lacking = next((name for name in buffers if name not in self.locals), None)
        if not buffers or lacking is not None:
            what = "no local is given" if lacking is None else f"{self.proc.name} has no local {lacking}"
            raise misuse(f"privatize {loop}: {what}", f"locals: {', '.join(self.locals) or 'none'}")
        before = self.proc
        self._step("privatize", (loop, *buffers), lambda p: primitives.privatize(p, buffers, loop))
        if self.proc == before:
            self.trace = self.trace[:-1]
            raise misuse(
                f"privatize {loop}: no loop {loop} declares {', '.join(buffers)}",
                "a local is declared in the loop around its sum",
            )

    @checks_arguments
    def cache_read(self, buffer: str, loop: str) -> str:
        """Copies the part of a buffer that each iteration reads to a local first. Returns its name."""
        name = f"{buffer}_near"
        self._step("cache_read", (buffer, loop), lambda p: cache_read(p, buffer, loop, name))
        return name

    @checks_arguments
    def cache_write(self, buffer: str, loop: str) -> str:
        """Collects the results of an iteration in a local and copies them out last. Returns its name."""
        name = f"{buffer}_near"
        self._step("cache_write", (buffer, loop), lambda p: cache_write(p, buffer, loop, name))
        return name

    @checks_arguments
    def pad_reduction(self, loop: str, multiple: int, zeros: str) -> None:
        """Pads a reduction loop to a multiple. The constant `zeros` is stored with zeros in the padding.

        The other factor is read past the loop's end, but never past the end of its buffer.
        """
        self._require_constant(zeros)
        found: list[Packing] = []

        def change(proc: Proc) -> Proc:
            made, packing = padded(proc, loop, multiple, zeros)
            found.append(packing)
            return made

        if multiple < 1:
            raise misuse(f"{loop} has no multiple of {multiple} iterations", "1 or more")
        self._step("pad_reduction", (loop, multiple, zeros), change, lambda: {zeros: found[-1]})

    @checks_arguments
    def pack(self, constant: str, *loops: str) -> None:
        """Stores a constant in the order in which these loops visit it, outermost first, at compile time."""
        self._require_constant(constant)
        found: list[Packing] = []

        def change(proc: Proc) -> Proc:
            made, packing = pack(proc, constant, loops, Affine(), 1)
            found.append(packing)
            return made

        self._step("pack", (constant, *loops), change, lambda: {constant: found[-1]})

    # ---- instructions ----

    @checks_arguments
    def tensorize(self, loop: str, *instructions: Instruction) -> None:
        """Replaces each loop of that name by the first instruction with the same meaning."""
        if not instructions:
            raise misuse(f"tensorize {loop}: no instruction given", "create one with lang.instruction(...)")
        self._step("tensorize", (loop, *instructions), lambda p: tensorize(p, loop, instructions))

    @checks_arguments
    def vectorize(self, loop: str, isa: str) -> None:
        """Computes the iterations of a loop in the vector lanes of an instruction set such as "dsp"."""
        known = isas_with_lanes()
        lanes = known.get(isa)
        if lanes is None:
            raise misuse(f'no instruction set "{isa}" has lanes', f"there are {', '.join(known)}")
        self._step("vectorize", (loop, isa), lambda p: vectorize(p, loop, lanes))

    # ---- steps ----

    def _step(
        self,
        name: str,
        arguments: Sequence[Any],
        change: Callable[[Proc], Proc],
        packed: Callable[[], Mapping[str, Packing]] = dict,
        words: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        step = ScheduleStep(name, tuple(arguments), tuple(words.items()))
        try:
            changed = change(self.proc)
        except primitives.ScheduleError as error:
            raise misuse(f"{step}: {error}", f"loops: {', '.join(self.loops)}") from None
        packings = {**self.packings, **{name: self._packed_twice(name, p) for name, p in packed().items()}}
        if self.check:
            self._require_same(changed, packings, step)
        self.proc, self.packings, self.trace = changed, packings, (*self.trace, step)

    def _require_same(self, proc: Proc, packings: Mapping[str, Packing], step: ScheduleStep) -> None:
        try:
            before = outcome(self.meaning, {}, self.meaning)
            after = outcome(proc, packings, self.meaning)
        except (OverflowError, IndexError) as error:
            hint = "a wider type, or clamp(value, low, high)"
            raise misuse(f"{step} cannot be checked: {error}", hint) from None
        for name, wanted in before.items():
            if not np.array_equal(wanted, after[name]):
                raise misuse(
                    f"{step} changes what {self.proc.name} computes",
                    "this is a bug in Solder: please report it",
                )

    def _packed_twice(self, constant: str, packing: Packing) -> Packing:
        first = self.packings.get(constant)
        return packing if first is None else packing.behind(first)

    def _require_constant(self, name: str) -> None:
        param = next((p for p in self.proc.params if p.name == name), None)
        if param is None or param.role is not Role.CONSTANT:
            raise misuse(
                f"{name} is not a constant of {self.proc.name}", "only constants are known at compile time"
            )

    def _inner_factor(self, loop: str, factor: int | tuple[int | None, int | None]) -> int:
        turns = self.loops[loop]
        match factor:
            case int() | (None, int()) | (int(), None):
                known = factor if isinstance(factor, int) else factor[0] or factor[1] or 0
            case _:
                raise misuse(f"{factor!r} is not a factor of {loop}", "4, (None, 4) or (4, None)")
        if known < 1:
            raise misuse(f"{known} is not a factor of {loop}: it must be at least 1")
        if known > turns:
            raise misuse(f"{loop} has {turns} iterations, fewer than a factor of {known}")
        is_outer = isinstance(factor, tuple) and factor[1] is None
        return -(-turns // known) if is_outer else known

    def _require_turns(self, loop: str, most: int) -> None:
        """Raises InputError if no loop of that name has at least `most` iterations."""
        alike = (stmt for stmt in walk(self.proc.body) if isinstance(stmt, For) and stmt.var == loop)
        turns = [self.loops[loop], *(each.extent for each in alike)]
        if most > max(turns):
            raise misuse(f"{loop} has {max(turns)} iterations, fewer than {most}")
