"""The C of a trial: where its rows lie, and a function for each candidate that computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from codegen.constants import collect_constants, definition
from codegen.kernel_library import SharedKernel, kernel_library
from codegen.kernels.kernel import Kernel, RowAccess
from codegen.loops.ir import Buffer, Role
from platforms.templates import filled
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import MeasureChoices

GUARD_BYTES = 64
GUARD = 0xA5
_ALIGN = 16


@dataclass(frozen=True)
class Places:
    """Offsets in the arena of a trial: inputs, guard, result, guard, sums."""

    inputs: tuple[int, ...]
    input_bytes: int
    output: int
    output_bytes: int
    state: int
    arena_bytes: int


def places_of(experiment: Experiment, state_bytes: int) -> Places:
    inputs, end = [], 0
    for operand in experiment.operands:
        inputs.append(end)
        end = _aligned(end + len(operand.data))
    output = end + GUARD_BYTES
    state = _aligned(output + len(experiment.expected) + GUARD_BYTES)
    return Places(tuple(inputs), end, output, len(experiment.expected), state, _aligned(state + state_bytes))


def _aligned(offset: int) -> int:
    return -(-offset // _ALIGN) * _ALIGN


def input_bytes(experiment: Experiment, places: Places) -> bytes:
    """What the arena holds from its beginning on."""
    memory = bytearray(places.input_bytes)
    for offset, operand in zip(places.inputs, experiment.operands, strict=True):
        memory[offset : offset + len(operand.data)] = operand.data
    return bytes(memory)


def candidates_text(
    task: Task, experiment: Experiment, places: Places, kernels: Mapping[int, Kernel], part: int
) -> str:
    """A C file with `candidate_<number>` for every kernel. Its constants are called by the part."""
    stages = [replace(task.stage, kernel=kernel) for kernel in kernels.values()]
    library, constants = kernel_library(stages, False, ""), collect_constants(f"part{part}", stages)
    printers = [
        _CandidatePrinter(kernel, experiment, places, names)
        for kernel, names in zip(kernels.values(), constants.names, strict=True)
    ]
    return filled(
        "tuning",
        "candidates.c.jinja",
        includes=library.includes,
        constants=[definition(name, data, "", "") for name, data in constants.arrays.items()],
        helpers=library.helpers,
        kernels=library.kernels,
        candidates=[
            {"number": number, "body": printer.body(calls)}
            for number, printer, calls in zip(kernels, printers, library.calls, strict=True)
        ],
    )


@dataclass(frozen=True)
class Batch:
    """Candidates as C, with all that measuring them takes: plain data that may go to another machine."""

    parts: tuple[str, ...]  # C files
    count: int
    header: str
    models: str
    experiment: Experiment
    places: Places


def batch_of(
    task: Task, experiment: Experiment, kernels: Sequence[Kernel], choices: MeasureChoices, parts: int
) -> Batch:
    """In so many C files: that many compilers can work on it."""
    places = places_of(experiment, max((_state_bytes(k) for k in kernels), default=0))
    # Kernels that store their weights alike share a file, so that these are compiled once.
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
    """Firmware into which candidates for the same rows are loaded."""
    return replace(batch, parts=(), count=0, models=_models(0))


def _models(count: int) -> str:
    return filled("tuning", "models.c.jinja", numbers=range(count))


def _state_bytes(kernel: Kernel) -> int:
    return kernel.accumulation.bytes if kernel.accumulation is not None else 0


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
class _CandidatePrinter:
    """The body of one candidate's function."""

    kernel: Kernel
    experiment: Experiment
    places: Places
    constants: Mapping[str, str]  # parameter -> C name

    def body(self, calls: Sequence[SharedKernel]) -> list[str]:
        last = self.experiment.firings
        head = f"for (uint32_t row = 0; row < {last}u; ++row) {{"
        if self.kernel.accumulation is None:
            (kernel,) = calls
            y = f"{self._y} + row * {self.experiment.row_elements}u"
            return [
                head,
                *self._indented([f"{self.experiment.c_type} *const y = {y};"]),
                *self._call(kernel),
                "}",
            ]
        start, add, finish = calls
        sums = self.kernel.accumulation.dtype.c_name
        return [
            f"{sums} *const sums = ({sums} *)(void *)(arena + {self.places.state}u);",
            f"{self.experiment.c_type} *const y = {self._y};",
            head,
            *self._when("row == 0", start),
            *self._call(add),
            *self._when(f"row == {last - 1}u", finish),
            "}",
        ]

    @property
    def _y(self) -> str:
        return f"({self.experiment.c_type} *)(void *)(arena + {self.places.output}u)"

    @staticmethod
    def _indented(lines: Sequence[str]) -> list[str]:
        return [f"    {line}" for line in lines]

    def _when(self, condition: str, kernel: SharedKernel) -> list[str]:
        return [f"    if ({condition}) {{", *self._indented(self._call(kernel)), "    }"]

    def _call(self, kernel: SharedKernel) -> list[str]:
        mine = {p.name: p for proc in self.kernel.procs for p in proc.params}
        params = [mine[p.name] for p in kernel.params]
        arrays = [self._array(p) for p in params if p.role is Role.ROWS and p.rows > 1]
        arguments = ", ".join(self._argument(p) for p in params)
        return self._indented([*arrays, f"{kernel.name}({arguments});"])

    def _argument(self, param: Buffer) -> str:
        if param.role is Role.ROWS:
            return param.name if param.rows > 1 else self._row(param, 0)
        if param.role in (Role.OUTPUT, Role.STATE):
            return param.name
        per_row = self.kernel.row_tables.get(param.name)
        offset = "" if per_row is None else f" + (row + {self.experiment.first_firing}u) * {per_row}u"
        return f"{self.constants[param.name]}{offset}"

    def _array(self, param: Buffer) -> str:
        rows = ", ".join(self._row(param, i) for i in range(param.rows))
        return f"const {param.dtype.c_name} *const {param.name}[{param.rows}] = {{{rows}}};"

    def _row(self, param: Buffer, number: int) -> str:
        index = [p.name for p in self.kernel.proc.params if p.role is Role.ROWS].index(param.name)
        operand, access = self.experiment.operands[index], self._access(index)
        row = f"row * {access.stride}u + {number * access.step}u"
        base = f"(const {operand.c_type} *)(void *)(arena + {self.places.inputs[index]}u)"
        return f"{base} + ({row}) * {operand.row_elements}u"

    def _access(self, index: int) -> RowAccess:
        return self.kernel.access[index]
