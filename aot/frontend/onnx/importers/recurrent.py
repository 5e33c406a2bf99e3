"""RNN, GRU and LSTM, written out step by step in real numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results

MAX_STEPS = 1024
Cell = Callable[["_Direction", Value, list[Value]], list[Value]]


@dataclass(frozen=True)
class _Direction:
    """One of the directions: its weights, and its activations by name."""

    node: OnnxOperator
    number: int
    hidden: int
    activations: tuple[str, ...]
    alphas: tuple[float | None, ...]
    betas: tuple[float | None, ...]

    def part(self, position: int) -> Value | None:
        """An operand's share, without the dimension of directions."""
        if not self.node.has(position):
            return None
        whole = self.node.operand(position)
        one = sliced(self.node, whole, {0: range(self.number, self.number + 1)})
        return self.node.do("Squeeze", one, self.node.number([0], 7))

    def weights(self, position: int) -> Value:
        found = self.part(position)
        if found is None:
            raise self.node.fail(f"input {position} is missing", "get or export the file again")
        return found

    def activated(self, which: int, x: Value) -> Value:
        name = self.activations[which]
        attributes = {}
        if name in _WITH_ALPHA and self.alphas[which] is not None:
            attributes["alpha"] = self.alphas[which]
        if name in _WITH_BETA and self.betas[which] is not None:
            attributes["beta"] = self.betas[which]
        if name == "Affine":
            alpha, beta = (
                self.node.number(v or 0.0, x.element) for v in (self.alphas[which], self.betas[which])
            )
            return self.node.do("Add", self.node.do("Mul", x, alpha), beta)
        return self.node.do(name, self._clipped(x), **attributes)

    def _clipped(self, x: Value) -> Value:
        if not self.node.has_attribute("clip"):
            return x
        limit = self.node.real("clip")
        limits = (self.node.number(v, x.element) for v in (-limit, limit))
        return self.node.do("Clip", x, *limits)

    def product(self, x: Value, w: Value) -> Value:
        """x [N, I] times w [O, I]"""
        return self.node.do("MatMul", x, self.node.do("Transpose", w, perm=[1, 0]))

    def gates(self, x: Value, count: int) -> list[Value]:
        """Parts of the last dimension, or of rows of weights."""
        axis = len(x.order) - 1
        return [
            sliced(self.node, x, {axis: range(i * self.hidden, (i + 1) * self.hidden)}) for i in range(count)
        ]

    def sums(self, x: Value, state: Value, count: int) -> Value:
        """W x + R h + both biases, for all gates."""
        w, r, b = self.weights(1), self.weights(2), self.part(3)
        total = self.node.do("Add", self.product(x, w), self.product(state, r))
        if b is None:
            return total
        half = count * self.hidden
        biases = [sliced(self.node, b, {0: range(i * half, (i + 1) * half)}) for i in range(2)]
        return self.node.do("Add", total, self.node.do("Add", *biases))


_WITH_ALPHA = {"LeakyRelu", "ThresholdedRelu", "HardSigmoid", "Elu"}
_WITH_BETA = {"HardSigmoid"}
_KNOWN = {"Relu", "Tanh", "Sigmoid", "Affine", "Softsign", "Softplus", *_WITH_ALPHA}


def _rnn_cell(d: _Direction, x: Value, state: list[Value]) -> list[Value]:
    return [d.activated(0, d.sums(x, state[0], 1))]


def _lstm_cell(d: _Direction, x: Value, state: list[Value]) -> list[Value]:
    hidden, cell = state
    do = d.node.do
    i, o, f, c = d.gates(d.sums(x, hidden, 4), 4)
    peepholes = d.part(7)
    if peepholes is not None:
        to_i, to_o, to_f = d.gates(peepholes, 3)
        i, f = do("Add", i, do("Mul", to_i, cell)), do("Add", f, do("Mul", to_f, cell))
    i = d.activated(0, i)
    f = do("Sub", d.node.number(1, x.element), i) if d.node.integer("input_forget", 0) else d.activated(0, f)
    cell = do("Add", do("Mul", f, cell), do("Mul", i, d.activated(1, c)))
    if peepholes is not None:
        o = do("Add", o, do("Mul", to_o, cell))
    return [do("Mul", d.activated(0, o), d.activated(2, cell)), cell]


def _gru_cell(d: _Direction, x: Value, state: list[Value]) -> list[Value]:
    (hidden,) = state
    do, size = d.node.do, d.hidden
    w, r, b = d.weights(1), d.weights(2), d.part(3)
    from_x, from_h = d.product(x, w), d.product(hidden, r)
    if b is not None:
        from_x = do("Add", from_x, sliced(d.node, b, {0: range(3 * size)}))
        from_h = do("Add", from_h, sliced(d.node, b, {0: range(3 * size, 6 * size)}))
    (zx, rx, hx), (zh, rh, hh) = d.gates(from_x, 3), d.gates(from_h, 3)
    update = d.activated(0, do("Add", zx, zh))
    reset = d.activated(0, do("Add", rx, rh))
    if d.node.integer("linear_before_reset", 0):
        inner = do("Mul", reset, hh)
    else:
        rows = sliced(d.node, r, {0: range(2 * size, 3 * size)})
        inner = d.product(do("Mul", reset, hidden), rows)
        if b is not None:
            inner = do("Add", inner, sliced(d.node, b, {0: range(5 * size, 6 * size)}))
    fresh = d.activated(1, do("Add", hx, inner))
    kept = do("Mul", update, hidden)
    return [do("Add", do("Mul", do("Sub", d.node.number(1, x.element), update), fresh), kept)]


def _recurrent(cell: Cell, states: int, defaults: tuple[str, ...]) -> Importer:
    def import_it(node: OnnxOperator) -> Results:
        x = node.operand(0)
        if len(x.order) != 3:
            raise node.fail(f"its input must have 3 dimensions, it has shape {list(node.shape(x))}")
        if node.integer("layout", 0):
            x = node.do("Transpose", x, perm=[1, 0, 2])
        steps, batch, _ = node.shape(x)
        _check_lengths(node, steps, batch)
        ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
        way = node.text("direction", "forward")
        if way not in ways or steps > MAX_STEPS:
            raise node.fail(f'direction "{way}" over {steps} steps is not supported')
        runs = [
            _run(_direction(node, number, defaults, len(ways[way])), cell, states, x, backwards)
            for number, backwards in enumerate(ways[way])
        ]
        return _results(node, runs, states)

    return import_it


def _check_lengths(node: OnnxOperator, steps: int, batch: int) -> None:
    if node.has(4) and set(node.known_integers(4, "sequence lengths")) != {steps}:
        raise node.fail(
            f"sequences must all have the {steps} steps of the input", "pad them, or split the batch"
        )


def _direction(node: OnnxOperator, number: int, defaults: tuple[str, ...], ways: int) -> _Direction:
    count = len(defaults)
    texts: list[bytes] = next((list(a.strings) for a in node.proto.attribute if a.name == "activations"), [])
    names = tuple(t.decode("utf-8", "replace") for t in texts) or defaults * ways
    own = names[number * count : (number + 1) * count]
    if len(own) != count or not set(own) <= _KNOWN:
        raise node.fail(
            f"activations {', '.join(names)} are not supported", f"known: {', '.join(sorted(_KNOWN))}"
        )
    hidden = node.shape(node.operand(2))[-1]
    alphas, betas = (_shared(node, name, names, number, count) for name in ("alpha", "beta"))
    return _Direction(node, number, hidden, own, alphas, betas)


def _shared(
    node: OnnxOperator, which: str, names: tuple[str, ...], number: int, count: int
) -> tuple[float | None, ...]:
    """The numbers of the activations that take one, in order."""
    given = list(node.reals(f"activation_{which}", ()))
    takers = (_WITH_ALPHA if which == "alpha" else _WITH_BETA) | {"Affine"}
    every = [given.pop(0) if name in takers and given else None for name in names]
    return tuple(every[number * count : (number + 1) * count])


def _run(
    d: _Direction, cell: Cell, states: int, x: Value, backwards: bool
) -> tuple[list[Value], list[Value]]:
    """What each step gives, in the order of time, and the last states; all [batch, hidden]."""
    node = d.node
    steps, batch, _ = node.shape(x)
    state = [_initial(d, 5 + i, batch, x.element) for i in range(states)]
    made: dict[int, Value] = {}
    for step in reversed(range(steps)) if backwards else range(steps):
        row = node.do("Squeeze", sliced(node, x, {0: range(step, step + 1)}), node.number([0], 7))
        state = cell(d, row, state)
        made[step] = state[0]
    return [made[step] for step in range(steps)], state


def _initial(d: _Direction, position: int, batch: int, element: int) -> Value:
    node = d.node
    if not node.has(position):
        return node.number(np.zeros((batch, d.hidden)), element)
    if node.integer("layout", 0):
        whole = node.do("Transpose", node.operand(position), perm=[1, 0, 2])
        one = sliced(node, whole, {0: range(d.number, d.number + 1)})
        return node.do("Squeeze", one, node.number([0], 7))
    return d.weights(position)


def _results(node: OnnxOperator, runs: list[tuple[list[Value], list[Value]]], states: int) -> Results:
    """Y [steps, directions, batch, hidden], then each last state [directions, batch, hidden]."""

    def stacked(values: list[Value], axis: int) -> Value:
        return concatenated(node, [node.do("Unsqueeze", v, node.number([axis], 7)) for v in values], axis)

    every = stacked([stacked(list(rows), 0) for rows in zip(*(made for made, _ in runs), strict=True)], 0)
    last = [stacked([state[i] for _, state in runs], 0) for i in range(states)]
    if node.integer("layout", 0):
        every = node.do("Transpose", every, perm=[2, 0, 1, 3])
        last = [node.do("Transpose", v, perm=[1, 0, 2]) for v in last]
    return [every, *last]


RECURRENT: Mapping[str, Importer] = {
    "GRU": _recurrent(_gru_cell, 1, ("Sigmoid", "Tanh")),
    "LSTM": _recurrent(_lstm_cell, 2, ("Sigmoid", "Tanh", "Tanh")),
    "RNN": _recurrent(_rnn_cell, 1, ("Tanh",)),
}
