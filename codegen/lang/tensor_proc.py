"""Builds the loops of tensor expressions: one nest per stored tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from aot.ir.types import dense_strides
from codegen.lang.index import Position
from codegen.lang.misuse import checks_arguments, misuse
from codegen.lang.schedule import Schedule
from codegen.lang.tensor import TensorExpression
from codegen.lang.value import GrowingLocal, require_name
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    BufferPlace,
    Declare,
    For,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
    map_places,
    substitute,
)

Outputs = TensorExpression | Sequence[TensorExpression]


def outputs_of(output: Outputs) -> tuple[TensorExpression, ...]:
    return (output,) if isinstance(output, TensorExpression) else tuple(output)


@checks_arguments
def proc(name: str, inputs: Sequence[TensorExpression], output: Outputs) -> Proc:
    """Returns the loops that compute the outputs, with a nest for each tensor that needs a reduction."""
    require_name(name, "a kernel")
    outputs = outputs_of(output)
    if not outputs:
        raise misuse(f"{name} has no output, so there is nothing to compute")
    for each in outputs:
        if each.value is None:
            raise misuse(f"{each.name} is an input, so there is nothing to compute")
    stages = _stages(outputs)
    given = {tensor for stage in stages for tensor in stage.reads if tensor.value is None}
    missing = sorted(tensor.name for tensor in given - {*inputs})
    if missing:
        raise misuse(f"{outputs[0].name} needs {', '.join(missing)}, not among the inputs of {name}")
    names = [tensor.name for tensor in (*inputs, *stages)]
    twice = next((each for each in names if names.count(each) > 1), None)
    if twice is not None:
        raise misuse(f"two tensors are named {twice}")
    results = {each.name: replace(each.buffer, role=Role.OUTPUT) for each in outputs}
    buffers = {stage.name: results.get(stage.name, stage.buffer) for stage in stages}
    taken: set[str] = {*names}
    body: list[Stmt] = []
    for stage in stages:
        body.append(map_places(_nest(stage, buffers[stage.name], taken), _into(results)))
    between = tuple(stage.buffer for stage in stages if stage.name not in results)
    return Proc(name, (*(tensor.buffer for tensor in inputs), *between, *results.values()), tuple(body))


def _into(results: Mapping[str, Buffer]) -> Callable[[BufferPlace], BufferPlace]:
    """Returns a function that redirects reads of a result by other tensors to the output."""
    return lambda place: replace(place, buffer=results.get(place.buffer.name, place.buffer))


def _stages(outputs: Sequence[TensorExpression]) -> list[TensorExpression]:
    """Returns the tensors that are computed into memory, each once and after those that it reads."""
    found: list[TensorExpression] = []

    def visit(tensor: TensorExpression) -> None:
        for read in tensor.reads:
            if read.value is not None and read not in found:
                visit(read)
        found.append(tensor)

    for output in outputs:
        if output not in found:
            visit(output)
    return found


def _nest(stage: TensorExpression, result: Buffer, taken: set[str]) -> Stmt:
    """Returns the loops of a tensor, with names that no other nest of the proc uses."""
    assert stage.value is not None
    place = Position(variable("_") * 0)
    for axis, stride in zip(stage.axes, dense_strides(stage.shape), strict=True):
        place = place + axis * stride
    reduced = [stmt for reduction in stage.value.reductions for stmt in _reduction(reduction)]
    body: tuple[Stmt, ...] = (*reduced, Store(at(result, place.affine), stage.value.expr))
    for axis in reversed(stage.axes):
        body = (For(axis.name, axis.extent, body),)
    (nest,) = body
    return _renamed(nest, taken)


def _reduction(reduction: GrowingLocal) -> list[Stmt]:
    place = at(reduction.local)
    if reduction.op == "+":
        step: Stmt = Accumulate(place, reduction.value.expr)
    else:
        step = Store(place, Binary(reduction.op, load(reduction.local), reduction.value.expr))
    for axis in reversed(reduction.axes):
        step = For(axis.name, axis.extent, (step,))
    return [Declare(reduction.local), Store(place, reduction.start.expr), step]


def _renamed(stmt: Stmt, taken: set[str]) -> Stmt:
    """Returns the nest with its loops renamed to free names."""
    if not isinstance(stmt, For):
        return stmt
    free, count = stmt.var, 2
    while free in taken:
        free, count = f"{stmt.var}{count}", count + 1
    taken.add(free)
    body = (
        stmt.body if free == stmt.var else tuple(substitute(s, {stmt.var: variable(free)}) for s in stmt.body)
    )
    return replace(stmt, var=free, body=tuple(_renamed(s, taken) for s in body))


@checks_arguments
def schedule(name: str, inputs: Sequence[TensorExpression], output: Outputs, check: bool = False) -> Schedule:
    """Returns a schedule without steps that computes one or several outputs from inputs and constants."""
    shapes = {tensor.name: tensor.shape for tensor in (*inputs, *outputs_of(output))}
    return Schedule(proc(name, inputs, output), check, shapes)
