"""recurrent: one step per row of the sequence; the state between steps is in the arena."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ir.types import DType
from aot.ops.recurrent import Cell
from codegen.formats import RowFormat, RowRequest
from codegen.kernels.integer_lstm import IntegerLstmStep
from codegen.kernels.kernel import Carried, Kernel, RowAccess, Site
from codegen.kernels.recurrent_step import RecurrentStep
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import For, Proc
from codegen.loops.schedule import unroll_by

_NEXT_ROW, _SAME_ROW = RowAccess(stride=1, first=0, count=1), RowAccess(stride=0, first=0, count=1)
_TURNS = 4  # unrolled iterations of a sum


def _moving(site: Site) -> list[int]:
    """Returns the inputs that are computed at run time."""
    return [i for i, tensor in enumerate(site.inputs) if tensor is not None and i not in site.constants]


def requests(site: Site) -> tuple[RowRequest | None, ...]:
    return tuple(RowRequest(dtype_bytes=site.input(i).dtype.bytes) for i in _moving(site))


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    kind = RecurrentStep if site.input(0).dtype is DType.F32 else IntegerLstmStep
    step = kind(site, inputs, output)
    kernel = unscheduled_steps(site, step)
    return replace(kernel, proc=_written_out(kernel.proc, step.op.cell))


def unscheduled_steps(site: Site, step: RecurrentStep | IntegerLstmStep) -> Kernel:
    """Returns the kernel of these steps without a schedule."""
    cell, count = step.op.cell, step.count
    name = f"{cell.value}_{count}x{step.units}"
    return Kernel(
        strategy="steps",
        why="only the states of the last step are kept",
        proc=Proc(name, step.params, (For("n", count, step.body),)),
        summary=f"A step of {cell.value}: {count} x {step.units} units.",
        access=tuple(_SAME_ROW if i else _NEXT_ROW for i in _moving(site)),
        constants=step.constants,
        carried=Carried(step.start(f"{name}_begin"), step.state),
    )


def _written_out(proc: Proc, cell: Cell) -> Proc:
    for var in ("j", "k") if cell is Cell.GRU else ("j",):
        proc = unroll_by(proc, var, _TURNS)
    return proc


KERNEL = OpKernel((Strategy("steps", requests, _lower),), frozenset({DType.I16, DType.F32}))
