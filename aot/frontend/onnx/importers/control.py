"""Control flow: branches are selected, at run time if necessary; loops become one op, or are unrolled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from onnx import GraphProto, TensorProto, numpy_helper

from aot.frontend.onnx.draft import Item, Value
from aot.frontend.onnx.elements import element_name
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.rearrange import Rearrange
from aot.ops.step_loop import StepLoop
from aot.wording import counted

# A Scan or Loop as one op: its body is read once, and becomes the graph of a StepLoop.


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


MAX_TURNS = 4096


def _if(node: OnnxOperator) -> Results:
    condition = node.operand(0)
    known = node.draft.array(condition)
    if known is None:
        return _chosen_by_the_run(node, condition)
    if known.size != 1:
        raise node.fail(f"its condition must be one number, it has shape {list(known.shape)}")
    return node.run_graph(node.graph("then_branch" if known.any() else "else_branch"), (), node.place)


def _shape_of(node: OnnxOperator, item: Item) -> list[int] | None:
    """Returns the shape; None for a sequence or absent value, between which no run can choose."""
    return list(node.shape(item)) if isinstance(item, Value) else None


def _told(shapes: list[list[int] | None]) -> list[list[int] | str]:
    return ["no tensor" if shape is None else shape for shape in shapes]


def _chosen_by_the_run(node: OnnxOperator, condition: Value) -> list[Value]:
    """Computes both branches, and selects each result at run time."""
    yes, no = (node.run_graph(node.graph(name), (), node.place) for name in ("then_branch", "else_branch"))
    shapes = [[_shape_of(node, item) for item in items] for items in (yes, no)]
    if shapes[0] != shapes[1] or None in shapes[0]:
        node.known(0, f"condition between results of shapes {_told(shapes[0])} and {_told(shapes[1])}")
    scalar = node.value(node.reshaped(node.plain(condition), ()), condition.element)
    return [node.do("Where", scalar, one, other) for one, other in zip(yes, no, strict=True)]


def _loop(node: OnnxOperator) -> Results:
    """Reads a loop as one op, or unrolls it and stacks the results of its iterations."""
    body = node.graph("body")
    carried: Sequence[Item] = [node.item(i) for i in range(2, len(node.operands))]
    turns = int(node.known_scalar(0, "trip count")) if node.has(0) else MAX_TURNS + 1
    stacks: list[list[Value]] = [[] for _ in body.output[1 + len(carried) :]]
    may_end = node.has(0) and not stacks  # depends on the run
    whole = _in_one_layer(node, lambda: _whole_loop(node, turns, carried))
    if whole is not None:
        return whole
    goes_on = node.operand(1) if node.has(1) else node.number(True, TensorProto.BOOL)
    for turn in range(turns):
        if (node.draft.array(goes_on) is not None or not may_end) and not _known(node, goes_on):
            break
        if turn == MAX_TURNS:
            raise node.fail(f"a loop of more than {MAX_TURNS} iterations is not supported")
        given = (node.number(turn, TensorProto.INT64), node.number(True, TensorProto.BOOL), *carried)
        condition, *results = node.run_graph(body, given, node.place)
        for stack, item in zip(stacks, results[len(carried) :], strict=True):
            stack.append(node.tensor_of(item))
        after = results[: len(carried)]
        carried, goes_on = _after_turn(node, goes_on, node.tensor_of(condition), carried, after)
    return [*carried, *(_stacked(node, stack, 0) for stack in stacks)]


def _in_one_layer(
    node: OnnxOperator, read: Callable[[], list[Value | None] | str]
) -> list[Value | None] | None:
    """Returns the results of a loop as one op; None if that is not possible, and records the reason."""
    made: list[Value | None] | str = node.attempt(read)
    if isinstance(made, str):
        node.draft.unrolled[f'{node.proto.op_type} "{node.place.label}"'] = made
        return None
    return made


def _whole_loop(node: OnnxOperator, turns: int, carried: Sequence[Item]) -> list[Value | None] | str:
    """Returns the results of the loop as one op, or the reason if that is not possible.

    If the run may end the loop, a state is 1 until then, and the others keep their values afterwards.
    """
    body, count = node.graph("body"), len(carried)
    goes_on = node.operand(1) if node.has(1) else node.number(True, TensorProto.BOOL)
    states = [item for item in carried if isinstance(item, Value)]
    known = node.draft.array(goes_on)
    if not node.has(0) or turns > MAX_TURNS:
        return f"it has no trip count of at most {MAX_TURNS:,}"
    if len(states) < count:
        return "a state is a sequence of tensors"
    if known is None or not known.all():
        return "whether it begins depends on the run" if known is None else "it has no iterations"
    numbers = node.number(np.arange(turns), TensorProto.INT64)
    are_all_run = _ends_by_count(body)
    if not are_all_run and len(body.output) > 1 + count:
        return "the run may end it, so the number of its results depends on the data"
    flag = [] if are_all_run else [node.number(1.0, TensorProto.FLOAT)]

    def read(rows: Sequence[Value], before: Sequence[Value]) -> list[Value]:
        given = (*rows, node.number(True, TensorProto.BOOL), *before[:count])
        condition, *made = map(node.tensor_of, node.run_graph(body, given, node.place))
        if are_all_run:
            return made
        goes = node.do("Cast", before[count], to=TensorProto.BOOL)
        kept = [node.do("Where", goes, after, old) for after, old in zip(made, before[:count], strict=True)]
        still = node.do(
            "Cast", node.do("Reshape", condition, node.number([], TensorProto.INT64)), to=TensorProto.FLOAT
        )
        return [*kept, node.do("Mul", before[count], still)]

    keeps = [node.is_read(position) for position in range(count)] + [False] * len(flag)
    loop = LoopBody(turns, [numbers], [*states, *flag], read, keeps)
    made = as_step_loop(node, loop)
    return made if isinstance(made, str) else [*made[:count], *made[count + len(flag) :]]


def _ends_by_count(body: GraphProto) -> bool:
    """Returns whether the body passes its condition on, or has a constant one."""
    condition, given = body.output[0].name, body.input[1].name
    for node in reversed(body.node):
        if condition in node.output and node.op_type in ("Identity", "Cast"):
            condition = node.input[0]
    constants = {each.name: each for each in body.initializer}
    constants |= {n.output[0]: n.attribute[0].t for n in body.node if n.op_type == "Constant"}
    return condition == given or (
        condition in constants and bool(numpy_helper.to_array(constants[condition]).all())
    )


def _known(node: OnnxOperator, condition: Value) -> bool:
    return bool(node.known_value(condition, "condition").any())


def _after_turn(
    node: OnnxOperator, goes_on: Value, condition: Value, carried: Sequence[Item], results: Sequence[Item]
) -> tuple[Sequence[Item], Value]:
    """Selects the values before or after an iteration, if only the run knows whether it happens."""
    if node.draft.array(goes_on) is not None:
        return results, condition
    shapes = [[_shape_of(node, item) for item in items] for items in (carried, results)]
    if shapes[0] != shapes[1] or None in shapes[0]:
        _known(node, goes_on)
    was, still = (node.value(node.reshaped(node.plain(v), ()), v.element) for v in (goes_on, condition))
    chosen = [node.do("Where", was, after, before) for before, after in zip(carried, results, strict=True)]
    return chosen, node.do("And", was, still)


def _stacked(node: OnnxOperator, values: list[Value], axis: int) -> Value:
    if not values:
        raise node.fail("a loop with 0 iterations has no results")
    place = node.number([axis], TensorProto.INT64)
    return concatenated(node, [node.do("Unsqueeze", v, place) for v in values], axis)


def _scan(node: OnnxOperator) -> Results:
    count = node.integer("num_scan_inputs")
    if not 0 < count <= len(node.operands):
        raise node.fail(f"a scan over {count} of {len(node.operands)} inputs is not supported")
    if node.version < 9:
        return _batches_scanned(node, count)
    outputs = len(node.graph("body").output) - (len(node.operands) - count)
    ways = _Scan(
        node.integers("scan_input_axes", (0,) * count),
        node.integers("scan_input_directions", (0,) * count),
        node.integers("scan_output_axes", (0,) * outputs),
        node.integers("scan_output_directions", (0,) * outputs),
    )
    return _scanned(node, ways, [node.operand(i) for i in range(len(node.operands))])


def _batches_scanned(node: OnnxOperator, count: int) -> Results:
    """Scans batches one by one: in operator set 8 each operand begins with a batch dimension."""
    if node.has(0):
        raise node.fail(
            "sequences of several lengths are not supported", "use a separate model for each length"
        )
    operands = [node.operand(i) for i in range(1, len(node.operands))]
    outputs = len(node.graph("body").output) - (len(operands) - count)
    ways = _Scan((0,) * count, node.integers("directions", (0,) * count), (0,) * outputs, (0,) * outputs)
    sizes = {node.shape(value)[:1] for value in operands}
    if len(sizes) != 1 or not 0 < sum(max(sizes)) <= MAX_TURNS:
        raise node.fail(f"scans of {[list(size) for size in sorted(sizes)]} batches are not supported")
    batches = [_scanned(node, ways, [_row(node, v, 0, n) for v in operands]) for n in range(sum(max(sizes)))]
    return [_stacked(node, list(values), 0) for values in zip(*batches, strict=True)]


@dataclass(frozen=True)
class _Scan:
    """The scanned dimensions, and whether they are scanned backwards."""

    axes: tuple[int, ...]
    backwards: tuple[int, ...]
    places: tuple[int, ...]
    turned: tuple[int, ...]


def _scanned(node: OnnxOperator, ways: _Scan, operands: list[Value]) -> list[Value | None]:
    """Reads the scan as one op, or unrolls it along the scanned dimension."""
    body, count = node.graph("body"), node.integer("num_scan_inputs")
    stacked = len(body.output) - (len(operands) - count)
    if stacked < 0:
        raise node.fail(f"its body has {len(body.output)} outputs for {len(operands) - count} states")
    given = [len(each) for each in (ways.axes, ways.backwards, ways.places, ways.turned)]
    if given != [count, count, stacked, stacked]:
        raise node.fail(f"{given} axes and directions are listed for {count} inputs and {stacked} outputs")
    state, scanned = operands[: len(operands) - count], operands[len(operands) - count :]
    sizes = {node.shape(v)[node.axis(a, len(v.order))] for v, a in zip(scanned, ways.axes, strict=True)}
    if len(sizes) != 1 or max(sizes) > MAX_TURNS:
        raise node.fail(f"scans over {sorted(sizes)} steps are not supported")
    stacks: list[list[Value]] = [[] for _ in ways.places]
    (steps,) = sizes
    whole = _in_one_layer(node, lambda: _whole_scan(node, ways, state, scanned, steps))
    if whole is not None:
        return whole
    for step in range(steps):
        rows = [
            _row(node, v, a, steps - 1 - step if b else step)
            for v, a, b in zip(scanned, ways.axes, ways.backwards, strict=True)
        ]
        made = node.run_graph(body, (*state, *rows), node.place)
        results = [node.tensor_of(item) for item in made]
        state = results[: len(state)]
        for stack, value in zip(stacks, results[len(state) :], strict=True):
            stack.append(value)
    stacks = [s[::-1] if t else s for s, t in zip(stacks, ways.turned, strict=True)]
    pairs = zip(stacks, ways.places, strict=True)
    return [*state, *(_stacked(node, s, node.axis(a, len(s[0].order) + 1)) for s, a in pairs)]


def _whole_scan(
    node: OnnxOperator, ways: _Scan, states: list[Value], scanned: list[Value], steps: int
) -> list[Value | None] | str:
    """Returns the results of the scan as one op, or the reason if that is not possible."""
    body, count = node.graph("body"), len(states)
    rows = [
        _turned(node, _moved(node, v, a, 0), b)
        for v, a, b in zip(scanned, ways.axes, ways.backwards, strict=True)
    ]

    def read(rows: Sequence[Value], before: Sequence[Value]) -> list[Value]:
        return [node.tensor_of(item) for item in node.run_graph(body, (*before, *rows), node.place)]

    keeps = [node.is_read(position) for position in range(count)]
    made = as_step_loop(node, LoopBody(steps, rows, states, read, keeps))
    if isinstance(made, str):
        return made
    stacks = zip(made[count:], ways.places, ways.turned, strict=True)
    return [*made[:count], *(_moved(node, _turned(node, v, t), 0, a) for v, a, t in stacks if v is not None)]


def _moved(node: OnnxOperator, value: Value, axis: int, to: int) -> Value:
    """Moves a dimension to another position."""
    rank = len(value.order)
    order = [d for d in range(rank) if d != node.axis(axis, rank)]
    order.insert(node.axis(to, rank), node.axis(axis, rank))
    return value if order == sorted(order) else node.do("Transpose", value, perm=order)


def _turned(node: OnnxOperator, value: Value, is_turned: int) -> Value:
    """Reverses the first dimension."""
    return sliced(node, value, {0: range(node.shape(value)[0] - 1, -1, -1)}) if is_turned else value


def _row(node: OnnxOperator, value: Value, axis: int, step: int) -> Value:
    place = node.axis(axis, len(value.order))
    row = sliced(node, value, {place: range(step, step + 1)})
    return node.do("Squeeze", row, node.number(np.asarray([place]), TensorProto.INT64))


CONTROL: dict[str, Importer] = {"If": _if, "Loop": _loop, "Scan": _scan}
