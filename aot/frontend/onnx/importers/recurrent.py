"""RNN, GRU and LSTM: one product for the input's part of the gates, then a recurrent layer per direction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ops.conv2d import Conv2d
from aot.ops.gather import Gather
from aot.ops.recurrent import Cell, Recurrent

_WAYS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
_CHANNELS = 3
_PEEPHOLES = 7


@dataclass(frozen=True)
class _Activation:
    """ONNX's name of an activation, and its default parameters."""

    name: str
    alpha: float | None = None  # None: not used
    beta: float | None = None


_ACTIVATIONS: Mapping[str, _Activation] = {
    "Affine": _Activation("affine", 0.0, 0.0),
    "Elu": _Activation("elu", 1.0),
    "HardSigmoid": _Activation("hard_sigmoid", 0.2, 0.5),
    "LeakyRelu": _Activation("leaky_relu", 0.01),
    "Relu": _Activation("relu"),
    "ScaledTanh": _Activation("scaled_tanh", 0.0, 0.0),
    "Sigmoid": _Activation("sigmoid"),
    "Softplus": _Activation("softplus"),
    "Softsign": _Activation("softsign"),
    "Tanh": _Activation("tanh"),
    "ThresholdedRelu": _Activation("thresholded_relu", 1.0),
}


@dataclass(frozen=True)
class _Direction:
    """One of the directions of a node."""

    node: OnnxOperator
    number: int
    op: Recurrent
    is_backwards: bool

    def part(self, position: int) -> Value | None:
        """Returns an operand's part for this direction, without the dimension of directions."""
        if not self.node.has(position):
            return None
        one = sliced(self.node, self.node.operand(position), {0: range(self.number, self.number + 1)})
        return self.node.do("Squeeze", one, self.node.number([0], TensorProto.INT64))

    def weights(self, position: int) -> Value:
        found = self.part(position)
        if found is None:
            raise self.node.fail(f"input {position} is missing", "get or export the file again")
        return found

    def run(self, x: Value) -> str:
        """Returns hidden values, followed by cells if they are read, of each step in execution order.

        x is [1, steps, sequences, inputs].
        """
        r = self.vector(self.weights(2))
        w, bias = self.weights(1), self.part(3)
        units = self.node.shape(self.weights(2))[-1]
        own = None
        if bias is not None:
            bias, own = self._biases(bias, units)
        elif self.op.cell is Cell.GRU_RESET_AFTER:
            own = self.node.number(np.zeros(units), x.element)
        peepholes = self.part(_PEEPHOLES)
        operands = (own, peepholes, self._state(5), self._state(6))
        given = [None if value is None else self.vector(value) for value in operands]
        sequence = _turned(self.node, x) if self.is_backwards else x
        return self.node.apply(self.op, self._from_input(sequence, w, bias), r, *given)

    def vector(self, value: Value) -> str:
        name = self.node.plain(value)
        return self.node.reshaped(name, (1, self.node.draft.types[name].elements))

    def _state(self, position: int) -> Value | None:
        """Returns a state as [sequences, units]."""
        if not self.node.has(position) or not self.node.integer("layout", 0):
            return self.part(position)
        whole = self.node.do("Transpose", self.node.operand(position), perm=[1, 0, 2])
        one = sliced(self.node, whole, {0: range(self.number, self.number + 1)})
        return self.node.do("Squeeze", one, self.node.number([0], TensorProto.INT64))

    def _biases(self, both: Value, units: int) -> tuple[Value, Value | None]:
        """Returns the gates' biases, and the last gate's hidden bias if the reset gate comes late."""
        node, half = self.node, self.op.cell.gates * units
        of_input, of_hidden = (sliced(node, both, {0: range(i * half, (i + 1) * half)}) for i in range(2))
        if self.op.cell is not Cell.GRU_RESET_AFTER:
            return node.do("Add", of_input, of_hidden), None
        own = sliced(node, of_hidden, {0: range(2 * units, half)})
        early = sliced(node, of_hidden, {0: range(2 * units)})
        nothing = node.number(np.zeros(units), both.element)
        return node.do("Add", of_input, concatenated(node, [early, nothing], 0)), own

    def _from_input(self, x: Value, w: Value, bias: Value | None) -> str:
        """Returns the input's part of the gates of each step."""
        node, known = self.node, self.node.draft.constants
        if w.name in known and (bias is None or bias.name in known):
            filters = node.draft.moved(w, lambda a: a[:, None, None, :], f"{node.place.label}/weights")
            return node.apply(Conv2d(), node.plain(x), filters, None if bias is None else bias.name)
        made = node.do("MatMul", x, node.do("Transpose", w, perm=[1, 0]))
        return node.plain(made if bias is None else node.do("Add", made, bias))


def _recurrent(cell: Cell) -> Importer:
    def import_it(node: OnnxOperator) -> Results:
        x = node.operand(0)
        if len(x.order) != 3:
            raise node.fail(f"its input must have 3 dimensions, it has shape {list(node.shape(x))}")
        if node.integer("layout", 0):
            x = node.do("Transpose", x, perm=[1, 0, 2])
        steps, count, depth = node.shape(x)
        _check_lengths(node, steps)
        way = node.text("direction", "forward")
        if way not in _WAYS or not steps:
            raise node.fail(f'direction "{way}" over {steps} steps is not supported')
        image = node.value(node.reshaped(node.plain(x), (1, steps, count, depth)), x.element)
        directions = [
            _Direction(node, number, _op(node, cell, number, len(_WAYS[way])), is_backwards)
            for number, is_backwards in enumerate(_WAYS[way])
        ]
        return _results(node, directions, image)

    return import_it


def _check_lengths(node: OnnxOperator, steps: int) -> None:
    if node.has(4) and set(node.known_integers(4, "sequence lengths")) != {steps}:
        raise node.fail(
            f"sequences must all have the {steps} steps of the input", "pad them, or split the batch"
        )


def _op(node: OnnxOperator, cell: Cell, number: int, ways: int) -> Recurrent:
    if cell is Cell.GRU and node.integer("linear_before_reset", 0):
        cell = Cell.GRU_RESET_AFTER
    names, alphas, betas = _activations(node, len(cell.activations), number, ways)
    return Recurrent(
        cell,
        gives_cell=cell is Cell.LSTM and node.is_read(2),
        activations=() if names == cell.activations else names,
        alphas=alphas if any(alphas) else (),
        betas=betas if any(betas) else (),
        clip=node.real("clip", 0.0),
        input_forget=cell is Cell.LSTM and bool(node.integer("input_forget", 0)),
    )


def _activations(
    node: OnnxOperator, count: int, number: int, ways: int
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[float, ...]]:
    """Returns names, alphas and betas of a direction; the file has numbers only for activations with one."""
    texts: list[bytes] = next((list(a.strings) for a in node.proto.attribute if a.name == "activations"), [])
    usual = {1: ["Tanh"], 2: ["Sigmoid", "Tanh"], 3: ["Sigmoid", "Tanh", "Tanh"]}[count] * ways
    names = [t.decode("utf-8", "replace") for t in texts] or usual
    if len(names) != count * ways or not set(names) <= _ACTIVATIONS.keys():
        raise node.fail(
            f"activations {', '.join(names)} are not supported", f"known: {', '.join(sorted(_ACTIVATIONS))}"
        )
    every = [_ACTIVATIONS[name] for name in names]
    mine = slice(number * count, (number + 1) * count)
    alphas = _numbers(node, "alpha", [activation.alpha for activation in every])
    betas = _numbers(node, "beta", [activation.beta for activation in every])
    return tuple(activation.name for activation in every[mine]), alphas[mine], betas[mine]


def _numbers(node: OnnxOperator, which: str, usual: list[float | None]) -> tuple[float, ...]:
    """Returns the file's numbers in order for activations that have one; 0 for others."""
    given = list(node.floats(f"activation_{which}", ()))
    return tuple(0.0 if own is None else given.pop(0) if given else own for own in usual)


def _results(node: OnnxOperator, directions: list[_Direction], x: Value) -> Results:
    """Returns Y [steps, directions, batch, hidden], then each last state [directions, batch, hidden]."""
    made, element = [direction.run(x) for direction in directions], x.element
    op, (_, steps, count, channels) = directions[0].op, node.draft.types[made[0]].shape
    units, states = (channels // 2, 2) if op.gives_cell else (channels, 1)
    hidden = [node.value(node.sliced(name, _CHANNELS, range(units)), element) for name in made]
    rows = [
        _turned(node, value) if direction.is_backwards else value
        for value, direction in zip(hidden, directions, strict=True)
    ]
    # Directions are adjacent, the layout that most files need next.
    joined = concatenated(node, rows, _CHANNELS)
    every = Value(node.reshaped(joined.name, (steps, count, len(directions), units)), (0, 2, 1, 3), element)
    last = [_last(node, made, state * units, units, element) for state in range(states)]
    if node.integer("layout", 0):
        every = node.do("Transpose", every, perm=[2, 0, 1, 3])
        last = [node.do("Transpose", v, perm=[1, 0, 2]) for v in last]
    return [every, *last]


def _turned(node: OnnxOperator, image: Value) -> Value:
    """Reverses the rows."""
    steps = node.shape(image)[1]
    if steps == 1:
        return image
    backwards = node.number(np.arange(steps)[::-1], TensorProto.INT64)
    return node.value(node.apply(Gather(1), node.plain(image), backwards.name), image.element)


def _last(node: OnnxOperator, made: list[str], first: int, units: int, element: int) -> Value:
    """Returns the last step of a state, in each direction."""
    parts = []
    for name in made:
        _, steps, count, _ = node.draft.types[name].shape
        row = node.sliced(name, 1, range(steps - 1, steps))
        state = node.sliced(row, _CHANNELS, range(first, first + units))
        parts.append(node.value(node.reshaped(state, (1, count, units)), element))
    return concatenated(node, parts, 0)


RECURRENT: Mapping[str, Importer] = {
    "GRU": _recurrent(Cell.GRU),
    "LSTM": _recurrent(Cell.LSTM),
    "RNN": _recurrent(Cell.RNN),
}
