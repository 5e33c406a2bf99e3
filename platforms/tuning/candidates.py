"""Generates the C code of a trial: the layout of its rows, and a function for each candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codegen.c.constants import collect_constants, definition
from codegen.c.dialect import C99
from codegen.c.kernel_library import Operands, SharedKernel, Sharing, kernel_library, layer_call
from codegen.c.printer import Printer
from codegen.c.tensor_rows import ROW, ROW_PARAMETER, pointer_to
from codegen.c.tree import (
    CastTo,
    Define,
    Expr,
    ForLoop,
    If,
    Infix,
    Name,
    Number,
    Stmt,
    TypedName,
    factor,
    plus,
    times,
    unsigned,
)
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, Role
from platforms.templates import filled
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import MeasureChoices

GUARD_BYTES = 64
_ARENA = Name("arena")
GUARD = 0xA5
_ALIGN = 16


@dataclass(frozen=True)
class Places:
    """Offsets in a trial's arena: inputs, guard, result, guard, state, scratch."""

    inputs: tuple[int, ...]
    input_bytes: int
    output: int
    output_bytes: int
    state: int
    scratch: int
    arena_bytes: int


def places_of(experiment: Experiment, state_bytes: int, scratch_bytes: int) -> Places:
    inputs, end = [], 0
    for operand in experiment.operands:
        inputs.append(end)
        end = _aligned(end + len(operand.data))
    output = end + GUARD_BYTES
    state = _aligned(output + len(experiment.expected) + GUARD_BYTES)
    scratch = _aligned(state + state_bytes)
    size = len(experiment.expected)
    return Places(tuple(inputs), end, output, size, state, scratch, _aligned(scratch + scratch_bytes))


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN


def input_bytes(experiment: Experiment, places: Places) -> bytes:
    """Returns the initial contents of the arena."""
    memory = bytearray(places.input_bytes)
    for offset, operand in zip(places.inputs, experiment.operands, strict=True):
        memory[offset : offset + len(operand.data)] = operand.data
    return bytes(memory)


def candidates_text(
    task: Task, experiment: Experiment, places: Places, kernels: Mapping[int, Kernel], part: int
) -> str:
    """Prints a C file with `candidate_<number>` for every kernel.

    Names of constants contain the part's number.
    """
    stages = [replace(task.stage, kernel=kernel) for kernel in kernels.values()]
    library, constants = kernel_library(stages, Sharing.EQUAL), collect_constants(f"part{part}", stages)
    printer = Printer(names=library.helpers.names)
    candidates = [
        _Candidate(kernel, experiment, places, names)
        for kernel, names in zip(kernels.values(), constants.names, strict=True)
    ]
    return filled(
        "tuning",
        "candidates.c.jinja",
        includes=library.helpers.includes,
        constants=[definition(name, data, C99, "") for name, data in constants.arrays.items()],
        helpers=library.helpers.texts(printer),
        kernels=[printer.function(kernel.function) + "\n" for kernel in library.kernels],
        candidates=[
            {"number": number, "body": printer.statements(candidate.body(calls), 1)}
            for number, candidate, calls in zip(kernels, candidates, library.calls, strict=True)
        ],
    )


@dataclass(frozen=True)
class Batch:
    """Candidates as C, with everything a measurement needs. Plain data that can be sent to other machines."""

    parts: tuple[str, ...]  # C files
    count: int
    header: str
    models: str
    experiment: Experiment
    places: Places


def batch_of(
    task: Task, experiment: Experiment, kernels: Sequence[Kernel], choices: MeasureChoices, parts: int
) -> Batch:
    """Splits the candidates into `parts` C files that can be compiled in parallel."""
    states = max((k.state_bytes for k in kernels), default=0)
    places = places_of(experiment, states, max((k.scratch_bytes for k in kernels), default=0))
    # Kernels that store their weights alike share a file, so that the weights are compiled once.
    by_packing = sorted(range(len(kernels)), key=lambda n: list(kernels[n].point.items())[::-1])
    share = -(-len(kernels) // parts) or 1
    dealt = [by_packing[first : first + share] for first in range(0, len(kernels), share)]
    texts = (
        candidates_text(task, experiment, places, {n: kernels[n] for n in mine}, part)
        for part, mine in enumerate(dealt)
    )
    values = _values(experiment, places, range(len(kernels)), choices)
    return Batch(
        parts=tuple(texts),
        count=len(kernels),
        header=filled("tuning", "tuning.h.jinja", **values),
        models=_models(len(kernels)),
        experiment=experiment,
        places=places,
    )


def without_candidates(batch: Batch) -> Batch:
    """Returns the batch without candidates, for firmware into which candidates for these rows are loaded."""
    return replace(batch, parts=(), count=0, models=_models(0))


def _models(count: int) -> str:
    return filled("tuning", "models.c.jinja", numbers=range(count))


def _values(
    experiment: Experiment, places: Places, numbers: Sequence[int], choices: MeasureChoices
) -> dict[str, Any]:
    return {
        "input_bytes": places.input_bytes,
        "guard_bytes": GUARD_BYTES,
        "guard": GUARD,
        "output": places.output,
        "output_bytes": places.output_bytes,
        "row_bytes": len(experiment.fill),
        "arena_bytes": places.arena_bytes,
        "number": choices.number,
        "warm_up": choices.warm_up,
        "numbers": numbers,
        "blank_row": ", ".join(str(byte) for byte in experiment.fill),
    }


@dataclass(frozen=True)
class _Candidate:
    """Prints the body of one candidate's function."""

    kernel: Kernel
    experiment: Experiment
    places: Places
    constants: Mapping[str, str]  # parameter -> C name

    def body(self, calls: Sequence[SharedKernel]) -> list[Stmt]:
        steps = unsigned(self.experiment.steps)
        if self.kernel.accumulation is None:
            (kernel,) = calls
            y = Infix("+", self._result, times(ROW, self.experiment.row_elements))
            return [self._rows(steps, (self._y(y), *self._call(kernel)))]
        start, add, finish = calls
        sums = self.kernel.accumulation.dtype.c_name
        step = (
            If(Infix("==", ROW, Number(0)), self._call(start)),
            *self._call(add),
            If(Infix("==", ROW, unsigned(self.experiment.steps - 1)), self._call(finish)),
        )
        place = pointer_to(sums, plus(_ARENA, self.places.state))
        return [
            Define(TypedName(f"{sums} *const", "sums"), place),
            self._y(self._result),
            self._rows(steps, step),
        ]

    @staticmethod
    def _rows(count: Number, body: tuple[Stmt, ...]) -> Stmt:
        return ForLoop(ROW_PARAMETER.c_type, ROW_PARAMETER.name, count, body)

    @property
    def _result(self) -> Expr:
        return pointer_to(self.experiment.c_type, plus(_ARENA, self.places.output))

    def _y(self, place: Expr) -> Stmt:
        return Define(TypedName(f"{self.experiment.c_type} *const", "y"), place)

    def _call(self, called: SharedKernel) -> tuple[Stmt, ...]:
        call = layer_call(self.kernel, called, Operands(self._row, self._constant, lambda _: ()))
        return (*self._scratch(called), *call)

    def _scratch(self, called: SharedKernel) -> Iterator[Stmt]:
        """Yields definitions of the kernel's scratch arrays."""
        for param in (p for p in called.params if p.role is Role.SCRATCH):
            place = plus(_ARENA, self.places.scratch + self.kernel.scratch[param.name])
            c_type = param.dtype.c_name
            yield Define(TypedName(f"{c_type} *const", param.name), pointer_to(c_type, place))

    def _constant(self, param: str) -> Expr:
        array, per_row = Name(self.constants[param]), self.kernel.row_tables.get(param)
        if per_row is None:
            return array
        return Infix("+", array, times(plus(ROW, self.experiment.first_step), per_row))

    def _row(self, param: Buffer, number: int) -> Expr:
        index = [p.name for p in self.kernel.proc.params if p.role is Role.ROWS].index(param.name)
        operand, access = self.experiment.operands[index], self.kernel.access[index]
        row = plus(times(ROW, access.stride), number * access.step)
        base = CastTo(
            f"const {operand.c_type} *", CastTo("void *", factor(plus(_ARENA, self.places.inputs[index])))
        )
        return Infix("+", base, times(row, operand.row_elements))
