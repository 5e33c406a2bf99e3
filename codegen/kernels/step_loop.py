"""loop: a step per row of its inputs, with the loops of all nodes of its graph; states are in the arena.

for each step: the loops of each node, over values in scratch memory
    y = the results
    state = the next states
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from aot.errors import UnsupportedError
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType
from aot.ops.reshape import Reshape
from aot.ops.step_loop import StepLoop
from codegen.formats import RowFormat, RowRequest, dense_format, geometry, satisfies
from codegen.kernels.kernel import Carried, Kernel, RowAccess, Site
from codegen.kernels.strategy import OpKernel, RowFormats, Strategy
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.axes import statements
from codegen.loops.compute_at import compute_inline, with_own_locals
from codegen.loops.ir import (
    Buffer,
    BufferPlace,
    Const,
    For,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
    map_places,
    places_of,
)
from codegen.loops.schedule import ScheduleError


def _op(site: Site) -> StepLoop:
    return site.op_as(StepLoop)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return tuple(RowRequest(dtype_bytes=site.input(i).dtype.bytes) for i in _moving(site))


def _moving(site: Site) -> list[int]:
    return [i for i in range(len(site.inputs)) if i not in site.constants]


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    step = _Step(site, inputs)
    body, kept = step.results(output), step.kept()
    name = f"loop_of_{len(step.graph.nodes)}_{output.channels}"
    proc = Proc(name, (*step.given, *step.constants, *step.state, step.y, *step.scratch), body)
    read_again = {place.buffer for stmt in kept for place in places_of(stmt)}
    for buffer in step.scratch:
        proc = proc if buffer in read_again else _inlined(proc, buffer)
    proc = replace(proc, body=(*proc.body, *kept))
    states = range(len(site.inputs) - _op(site).carried, len(site.inputs))
    access = tuple(RowAccess(int(i < _op(site).per_step), 0, 1) for i in _moving(site))
    return Kernel(
        strategy="steps",
        why="only the states of the last step are kept",
        proc=proc,
        summary=f"A step of a loop over {len(step.graph.nodes)} operations.",
        access=access,
        constants=step.data,
        row_tables=step.row_tables,
        carried=Carried(_start(site, states, step, f"{name}_begin"), step.state[0]) if step.state else None,
    )


def _start(site: Site, states: Sequence[int], step: _Step, name: str) -> Proc:
    """Returns the proc that copies the initial states."""
    loops, params, i = [], list[Buffer](), variable("i")
    for position in states:
        first, size = step.places[step.graph.inputs[position]], site.input(position).elements
        source = step.initial.get(position)
        value = Const(0.0) if source is None else load(source.buffer, source.index + i)
        loops.append(For("i", size, (Store(at(first.buffer, first.index + i), value),)))
        params += [source.buffer] if source is not None else []
    return Proc(name, (*params, *step.state), tuple(loops))


class _Step:
    """The buffers of a step, and its statements."""

    def __init__(self, site: Site, inputs: Sequence[RowFormat]) -> None:
        op = _op(site)
        self.site, self.graph = site, op.graph
        self.places: dict[str, BufferPlace] = {}  # the first element of each value of the graph
        self.known: dict[str, Array] = {}  # values of the graph that are equal in each step
        self.initial: dict[int, BufferPlace] = {}  # of states that do not start at zero, by input
        self.given: list[Buffer] = []
        self.constants: list[Buffer] = []
        self.scratch: list[Buffer] = []
        self.data: dict[str, Array] = {}
        self.row_tables: dict[str, int] = {}
        types, formats = self.graph.types, iter(inputs)
        first = len(self.graph.inputs) - op.carried
        sizes = [types[name].elements for name in self.graph.inputs[first:]]
        self.state = [Buffer("state", DType.F32, sum(sizes), Role.STATE)] if sizes else []
        for position, name in enumerate(self.graph.inputs):
            place = self._outside(position, None if position in site.constants else next(formats), first)
            if position < first and place is not None:
                self.places[name] = place
            elif position >= first:
                self.places[name] = at(self.state[0], sum(sizes[: position - first]))
                self.initial |= {} if place is None else {position: place}
        self.known |= self.graph.constants

    def _outside(self, position: int, fmt: RowFormat | None, first_state: int) -> BufferPlace | None:
        """Returns the place of an input; None for constants that need none."""
        name, kind = self.graph.inputs[position], self.site.input(position)
        if fmt is not None:
            buffer = Buffer(f"x{position}", kind.dtype, fmt.row_elements, Role.ROWS)
            self.given += [buffer] if position < first_state else []
            return at(buffer, fmt.left * fmt.x_step)
        data = self.site.constants[position]
        if position >= first_state:
            return at(self.new_constant(data, is_read=False)) if data.any() else None
        inside = self.graph.types[name]
        if position >= _op(self.site).per_step or data.size == inside.elements:
            self.known[name] = data.reshape(inside.shape)
            return None
        buffer = self.new_constant(data)
        self.row_tables[buffer.name] = inside.elements
        return at(buffer)

    def new_constant(self, data: Array, is_read: bool = True) -> Buffer:
        dtype = next(dtype for dtype in DType if dtype.numpy == data.dtype)
        buffer = Buffer(f"w{len(self.data)}", dtype, data.size, Role.CONSTANT)
        self.data[buffer.name] = np.ascontiguousarray(data).reshape(-1)
        self.constants += [buffer] if is_read else []
        return buffer

    def place(self, name: str) -> BufferPlace:
        """Returns the first element of a value; a known one becomes a constant of the kernel."""
        if name not in self.places:
            self.places[name] = at(self.new_constant(self.known[name]))
        return self.places[name]

    def results(self, output: RowFormat) -> tuple[Stmt, ...]:
        """Returns the loops of all nodes, and those that copy the results."""
        made = [stmt for node in self.graph.nodes for stmt in self._node(node)]
        self.y = Buffer("y", DType.F32, output.row_elements, Role.OUTPUT)
        i, done = variable("i"), output.left * output.x_step
        for name in _op(self.site).results:
            size = self.graph.types[name].elements
            made.append(_copy(at(self.y, i * output.c_step + done), self.place(name), size))
            done += size * output.c_step
        return tuple(made)

    def kept(self) -> tuple[Stmt, ...]:
        """Returns the loops that replace the states. A state that becomes another one is copied first."""
        carried, i = _op(self.site).carried, variable("i")
        states = self.graph.inputs[len(self.graph.inputs) - carried :]
        apart, made = list[Stmt](), list[Stmt]()
        for state, name in zip(states, self.graph.outputs[:carried], strict=True):
            old, new, size = self.place(state), self.place(name), self.graph.types[name].elements
            if new == old:
                continue
            if new.buffer in self.state:
                saved = at(self.new_scratch(size))
                apart.append(_copy(at(saved.buffer, i), new, size))
                new = saved
            made.append(_copy(at(old.buffer, old.index + i), new, size))
        return (*apart, *made)

    def new_scratch(self, elements: int, dtype: DType = DType.F32) -> Buffer:
        self.scratch.append(Buffer(f"v{len(self.scratch)}", dtype, elements, Role.SCRATCH))
        return self.scratch[-1]

    def _node(self, node: Node) -> tuple[Stmt, ...]:
        """Returns the loops of a node, over values without gaps."""
        (name,), types = node.outputs, self.graph.types
        if isinstance(node.op, Reshape):
            self.places[name] = self.place(node.reads[0])
            return ()
        kernel = _kernel_of(self.site, node, self.graph, self.known)
        result = self.new_scratch(types[name].elements, types[name].dtype)
        self.places[name] = at(result)
        parts = kernel.accumulation
        sums = self.new_scratch(parts.elements, parts.dtype) if parts is not None else None
        moved = _Moved(self, kernel, [v for v in node.reads if v not in self.known], result, sums)
        if parts is not None:
            calls = [(parts.start, 1), (kernel.proc, parts.rows), (parts.finish, 1)]
        else:
            rows = geometry(types[name]).rows // kernel.rows_per_step
            calls = [(kernel.proc, 1 if kernel.whole else rows)]
        return tuple(
            stmt
            for number, (proc, steps) in enumerate(calls)
            for stmt in moved.statements(proc, f"{result.name}_{number}", steps)
        )


def _copy(to: BufferPlace, source: BufferPlace, elements: int) -> Stmt:
    """Returns the loop over i that copies elements; `to` is the place of element i."""
    return For("i", elements, (Store(to, Load(replace(source, index=source.index + variable("i")))),))


class _Moved:
    """Places of a node's kernel as places of the step."""

    def __init__(
        self, step: _Step, kernel: Kernel, moving: Sequence[str], result: Buffer, sums: Buffer | None
    ) -> None:
        self.step, self.kernel, self.result, self.sums = step, kernel, result, sums
        rows = zip(kernel.row_params, kernel.access, moving, strict=True)
        self.rows = {buffer.name: (access, step.place(value)) for buffer, access, value in rows}
        self.own: dict[str, Buffer] = {}  # constants and scratch memory

    def statements(self, proc: Proc, var: str, steps: int) -> Iterator[Stmt]:
        """Yields the statements of all steps of a proc: a loop, or one by one if rows are irregular."""
        is_irregular = self.kernel.row_cycles or any(access.given for access in self.kernel.access)
        if steps > 1 and not is_irregular:
            yield For(var, steps, self._step(proc, variable(var), var))
            return
        for number in range(steps):
            yield from self._step(proc, to_affine(number), f"{var}_{number}" if steps > 1 else var)

    def _step(self, proc: Proc, step: Affine, name: str) -> tuple[Stmt, ...]:
        body = tuple(map_places(stmt, lambda place: self._place(place, step)) for stmt in proc.body)
        return with_own_locals(body, name)

    def _place(self, place: BufferPlace, step: Affine) -> BufferPlace:
        buffer = place.buffer
        match buffer.role:
            case Role.LOCAL:
                return place
            case Role.OUTPUT:
                row = step * self.kernel.rows_per_step + place.row
                return at(self.result, row * buffer.elements + place.index)
            case Role.ROWS:
                access, root = self.rows[buffer.name]
                row = step * access.stride + place.row * access.step + access.first
                row = to_affine(access.given[step.constant][0]) if access.given else row
                return at(root.buffer, root.index + row * buffer.elements + place.index)
            case Role.STATE:
                assert self.sums is not None, "kernels with a state are not in loops"
                return at(self.sums, place.index)
        if buffer.name not in self.own:
            self.own[buffer.name] = self._added(buffer)
        per_step, cycle = self.kernel.row_tables.get(buffer.name, 0), self.kernel.row_cycles.get(buffer.name)
        row = step if cycle is None else to_affine(cycle.of(step.constant))
        return at(self.own[buffer.name], place.index + row * per_step)

    def _added(self, buffer: Buffer) -> Buffer:
        if buffer.role is Role.SCRATCH:
            return self.step.new_scratch(buffer.elements, buffer.dtype)
        return self.step.new_constant(self.kernel.constants[buffer.name])


def _kernel_of(site: Site, node: Node, graph: Graph, known: Mapping[str, Array]) -> Kernel:
    """Returns the kernel of a node for values without gaps."""
    inner = replace(
        site,
        node=node,
        inputs=graph.input_types(node),
        outputs=graph.output_types(node),
        constants={i: known[v] for i, v in enumerate(node.inputs) if v is not None and v in known},
        allow_widened_rows=False,
        unpadded=False,
        spreads=False,
        in_place=False,
    )
    from codegen.kernels.table import KERNELS  # of which this kernel is one

    types = [graph.types[value] for value in node.reads if value not in known]
    rows = RowFormats(tuple(map(dense_format, types)), dense_format(inner.outputs[0]))
    for strategy in KERNELS[node.op.name].strategies:
        wanted = (
            () if strategy.misfit(inner) else zip(rows.inputs, strategy.requests(inner), types, strict=True)
        )
        fits = [request is None or satisfies(fmt, request, kind) for fmt, request, kind in wanted]
        if len(fits) < len(types) or not all(fits) or not all(c.holds(rows) for c in strategy.takes):
            continue
        kernel = strategy.lower(inner, rows.inputs, rows.output)
        if _is_plain(kernel):
            return kernel
    raise UnsupportedError(
        f"{node.op.name} has no kernel for values without gaps, as loops need",
        f"in the loop at {site.node.origin or site.node.name}",
        "compute it before or after the loop",
    )


def _is_plain(kernel: Kernel) -> bool:
    """Returns whether it consists of loops over rows inside their values, and carries nothing."""
    if kernel.calls is not None or kernel.carried is not None or kernel.spread is not None:
        return False
    return not any(access.first < 0 or (access.given and access.count > 1) for access in kernel.access)


def _inlined(proc: Proc, buffer: Buffer) -> Proc:
    """Computes the elements of a value where they are read, if each is read once."""
    reads = sum(
        prod(around.values())
        for stmt, around in statements(proc.body, {})
        for place in (places_of(stmt)[1:] if isinstance(stmt, Store) else places_of(stmt))
        if place.buffer == buffer
    )
    try:
        return compute_inline(proc, buffer.name) if reads <= buffer.elements else proc
    except ScheduleError:
        return proc


KERNEL = OpKernel((Strategy("steps", _requests, _lower),), frozenset(DType))
