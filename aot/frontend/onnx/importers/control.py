"""Control flow: branches are chosen, by the run where it must be; loops of known length are written out."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, Operator, Results

MAX_TURNS = 4096


def _if(node: Operator) -> Results:
    condition = node.operand(0)
    known = node.draft.array(condition)
    if known is None:
        return _chosen_by_the_run(node, condition)
    if known.size != 1:
        raise node.fail(f"its condition must be one number, it has shape {list(known.shape)}")
    return node.runner.run_graph(node.graph("then_branch" if known.any() else "else_branch"), (), node.place)


def _chosen_by_the_run(node: Operator, condition: Value) -> list[Value]:
    """Both branches are computed, and of each result the one that counts is taken."""
    yes, no = (
        node.runner.run_graph(node.graph(name), (), node.place) for name in ("then_branch", "else_branch")
    )
    shapes = [[list(node.shape(value)) for value in values] for values in (yes, no)]
    if shapes[0] != shapes[1]:
        node.known(0, f"condition between results of shapes {shapes[0]} and {shapes[1]}")
    scalar = node.value(node.reshaped(node.plain(condition), ()), condition.element)
    return [node.do("Where", scalar, one, other) for one, other in zip(yes, no, strict=True)]


def _loop(node: Operator) -> Results:
    """Written out; what each turn gives is stacked."""
    body = node.graph("body")
    turns = int(node.known_scalar(0, "trip count")) if node.has(0) else MAX_TURNS
    carried = [node.operand(i) for i in range(2, len(node.operands))]
    stacks: list[list[Value]] = [[] for _ in body.output[1 + len(carried) :]]
    goes_on = bool(node.known_scalar(1, "condition")) if node.has(1) else True
    turn = 0
    while goes_on and turn < turns:
        if turn >= MAX_TURNS:
            raise node.fail(f"a loop of more than {MAX_TURNS} turns is not supported")
        given = (node.number(turn, TensorProto.INT64), node.number(True, TensorProto.BOOL), *carried)
        condition, *results = node.runner.run_graph(body, given, node.place)
        goes_on = bool(node.known_value(condition, "condition").reshape(-1)[0])
        carried = results[: len(carried)]
        for stack, value in zip(stacks, results[len(carried) :], strict=True):
            stack.append(value)
        turn += 1
    return [*carried, *(_stacked(node, stack, 0) for stack in stacks)]


def _stacked(node: Operator, values: list[Value], axis: int) -> Value:
    if not values:
        raise node.fail("a loop that never turns has no results")
    place = node.number([axis], TensorProto.INT64)
    return concatenated(node, [node.do("Unsqueeze", v, place) for v in values], axis)


def _scan(node: Operator) -> Results:
    """Written out along the scanned dimension."""
    body, count = node.graph("body"), node.integer("num_scan_inputs")
    operands = [node.operand(i) for i in range(len(node.operands))]
    if node.version < 9 and node.has(0):
        raise node.fail("a scan of operator set 8 is not supported", "onnx.version_converter changes it")
    state, scanned = operands[: len(operands) - count], operands[len(operands) - count :]
    axes = node.integers("scan_input_axes", (0,) * count)
    backwards = node.integers("scan_input_directions", (0,) * count)
    outputs = len(body.output) - len(state)
    places = node.integers("scan_output_axes", (0,) * outputs)
    turned = node.integers("scan_output_directions", (0,) * outputs)
    sizes = {node.shape(v)[node.axis(a, len(v.order))] for v, a in zip(scanned, axes, strict=True)}
    if len(sizes) != 1 or max(sizes) > MAX_TURNS:
        raise node.fail(f"scans over {sorted(sizes)} steps are not supported")
    stacks: list[list[Value]] = [[] for _ in range(outputs)]
    (steps,) = sizes
    for step in range(steps):
        rows = [
            _row(node, v, a, steps - 1 - step if b else step)
            for v, a, b in zip(scanned, axes, backwards, strict=True)
        ]
        results = list(node.runner.run_graph(body, (*state, *rows), node.place))
        state = results[: len(state)]
        for stack, value in zip(stacks, results[len(state) :], strict=True):
            stack.append(value)
    stacks = [s[::-1] if t else s for s, t in zip(stacks, turned, strict=True)]
    made = [_stacked(node, s, node.axis(a, len(s[0].order) + 1)) for s, a in zip(stacks, places, strict=True)]
    return [*state, *made]


def _row(node: Operator, value: Value, axis: int, step: int) -> Value:
    place = node.axis(axis, len(value.order))
    row = sliced(node, value, {place: range(step, step + 1)})
    return node.do("Squeeze", row, node.number(np.asarray([place]), TensorProto.INT64))


CONTROL: dict[str, Importer] = {"If": _if, "Loop": _loop, "Scan": _scan}
