"""A Scan or Loop as one op: its body is read once, and becomes the graph of a StepLoop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.elements import element_name
from aot.frontend.onnx.importers.moving import sliced
from aot.frontend.onnx.operation import OnnxOperator
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.rearrange import Rearrange
from aot.ops.step_loop import StepLoop
from aot.wording import counted

_LEAST_STEPS = 3  # fewer are computed one by one
# The ops of a body: their kernels are loops over values in one piece.
OPS_IN_LOOPS = frozenset(
    {
        *("add", "clamp", "combine", "compare", "convert", "div", "hard_swish", "leaky_relu", "logistic"),
        *("mul", "select", "softmax", "sub", "tanh", "unary_math"),
        *("batch_matmul", "contract", "conv2d", "dense", "reduce"),
        *("concat", "gather", "rearrange", "reshape"),
    }
)


@dataclass(frozen=True)
class LoopBody:
    """A body with everything that enters it."""

    steps: int
    rows: Sequence[Value]  # with a first dimension of steps
    states: Sequence[Value]
    read: Callable[
        [Sequence[Value], Sequence[Value]], Sequence[Value]
    ]  # rows, states -> next states, results
    keeps: Sequence[bool]  # whether the last value of each state is read


def as_step_loop(node: OnnxOperator, body: LoopBody) -> list[Value | None] | str:
    """Returns the last states that are read, and the results of all steps with a first dimension of steps.

    Returns the reason if one kernel cannot compute the body. Call it in an attempt.
    """
    if body.steps < _LEAST_STEPS:
        return f"it has {counted(body.steps, 'step')}, and only {_LEAST_STEPS} or more become a loop"
    others = sorted({element_name(v.element) for v in body.states if v.element != TensorProto.FLOAT})
    if others:
        return f"its states must be float32, one is {others[0]}"
    if 0 in [prod(node.shape(value)) for value in (*body.rows, *body.states)]:
        return "a state, or an input of a step, has no elements"
    draft, mark = node.draft, len(node.draft.nodes)
    rows = [_inside(node, value, node.shape(value)[1:]) for value in body.rows]
    states = [_inside(node, value, node.shape(value)) for value in body.states]
    made = [node.value(node.plain(value), value.element) for value in body.read(rows, states)]
    nodes, draft.nodes[mark:] = draft.nodes[mark:], []
    inner = list(_dependent(nodes, {value.name for value in (*rows, *states)}))
    draft.nodes += [each for each in nodes if each not in inner]
    following, results = made[: len(states)], made[len(states) :]
    results = [*results, *(value for value, keeps in zip(following, body.keeps, strict=True) if keeps)]
    outputs = [value.name for value in (*following, *results)]
    inner = _read_by(inner, outputs)
    given = [value.name for value in (*rows, *states)]
    local = {*given, *(name for each in inner for name in each.outputs)}
    read = dict.fromkeys((*(name for each in inner for name in each.reads), *outputs))
    shared = [name for name in read if name not in local]
    obstacle = _obstacle(node, inner, shared, list(zip(states, following, strict=True)), results)
    if obstacle:
        return obstacle
    inputs = [*given[: len(rows)], *shared, *given[len(rows) :]]
    types = {name: draft.types[name] for name in (*inputs, *local)}
    graph = Graph(node.place.label, tuple(inputs), tuple(outputs), tuple(inner), types)
    outside = [
        *(node.reshaped(node.plain(v), (1, body.steps, 1, prod(node.shape(v)[1:]))) for v in body.rows),
        *(name if name in draft.constants else _as_row(node, name) for name in shared),
        *(_as_row(node, node.plain(value)) for value in body.states),
    ]
    made_by_all = node.apply(StepLoop(len(states), len(rows), graph), *outside)
    return list(_taken(node, made_by_all, body, states, results))


def _inside(node: OnnxOperator, value: Value, shape: Sequence[int]) -> Value:
    """Returns a value of the body that an iteration is given."""
    draft = node.draft
    name = draft.value_names.unique(f"{node.place.label}/each")
    draft.types[name] = TensorType(draft.types[value.name].dtype, tuple(shape))
    return node.value(name, value.element)


def _dependent(nodes: Sequence[Node], given: set[str]) -> Iterator[Node]:
    """Yields the nodes that depend on the given values."""
    known = set(given)
    for node in nodes:
        if not known.isdisjoint(node.reads):
            known.update(node.outputs)
            yield node


def _read_by(nodes: Sequence[Node], outputs: Sequence[str]) -> list[Node]:
    """Returns the nodes that the outputs need."""
    needed, kept = set(outputs), list[Node]()
    for node in reversed(nodes):
        if not needed.isdisjoint(node.outputs):
            needed.update(node.reads)
            kept.append(node)
    return kept[::-1]


def _obstacle(
    node: OnnxOperator,
    inner: Sequence[Node],
    shared: Sequence[str],
    states: Sequence[tuple[Value, Value]],
    results: Sequence[Value],
) -> str:
    """Returns why one kernel cannot compute the body, or ""."""
    draft = node.draft
    if not results:
        return "nothing reads its results"
    for name in shared:
        if name not in draft.constants and draft.types[name].dtype is not DType.F32:
            return f'its body reads "{name}", which must be float32 or constant: {draft.types[name]}'
    for before, after in states:
        if node.shape(before) != node.shape(after):
            return f"its body changes the shape of a state: {node.shape(before)}, {node.shape(after)}"
    for value in (*results, *(after for _, after in states)):
        kind = draft.types[value.name]
        if kind.dtype is not DType.F32 or not kind.elements:
            return f'its body computes "{value.name}", which must be float32 and not empty: {kind}'
    for each in inner:
        if each.op.name not in OPS_IN_LOOPS:
            return f'its body needs the operator {each.op.name} ("{each.name}"), which loops cannot compute'
        if _has_padding(each):
            return f'its body pads the image of {each.op.name} ("{each.name}"), which loops cannot'
    return ""


def _has_padding(node: Node) -> bool:
    """Returns whether it reads rows around an image, which values in one piece do not have."""
    return any(side for pair in getattr(node.op, "padding", ()) for side in pair)


def _as_row(node: OnnxOperator, name: str) -> str:
    return node.reshaped(name, (1, 1, 1, node.draft.types[name].elements))


def _taken(
    node: OnnxOperator, made: str, body: LoopBody, states: Sequence[Value], results: Sequence[Value]
) -> Iterator[Value | None]:
    """Yields the last states, None for those that nothing reads, and the results of all steps."""
    sizes = [prod(node.shape(value)) for value in results]
    begins = [sum(sizes[:n]) for n in range(len(sizes))]
    count = len(results) - sum(body.keeps)
    last = iter(range(count, len(results)))
    for state, keeps in zip(states, body.keeps, strict=True):
        yield _last_row(node, made, begins[next(last)], state) if keeps else None
    for value, begin, size in zip(results[:count], begins, sizes, strict=False):
        own = node.value(made, value.element)
        part = own if len(results) == 1 else sliced(node, own, {3: range(begin, begin + size)})
        shape = (body.steps, *node.shape(value))
        yield node.value(node.reshaped(part.name, shape), value.element)


def _last_row(node: OnnxOperator, made: str, begin: int, state: Value) -> Value:
    """Returns a part of the last row, which is read as a row so that the others need not be kept."""
    shape, (_, steps, _, width) = node.shape(state), node.draft.types[made].shape
    size = prod(shape)
    row = (1, 1, 1, size)
    name = node.apply(Rearrange(row, row, (size, size, size, 1), (steps - 1) * width + begin), made)
    return node.value(node.reshaped(name, shape), state.element)
