"""Recurrent layers as exporters write them out, step by step: ONNX graphs that are made here."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper
from onnx_files import onnx_file

from aot.ir.types import Array

STEPS, FEATURES, UNITS = 5, 3, 4
GATES = {"lstm": 4, "gru": 3, "gru_before": 3, "rnn": 1}


@dataclass
class UnrolledModel:
    """A graph in the making; weights are random, the same each time."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    inputs: dict[str, tuple[int, ...]] = field(default_factory=lambda: {"x": (1, STEPS, FEATURES)})
    outputs: list[str] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(21))

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        return self.ops(kind, 1, *inputs, **attributes)[0]

    def ops(self, kind: str, results: int, *inputs: str, **attributes: object) -> list[str]:
        names = [f"{kind}_{len(self.nodes)}_{n}" for n in range(results)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names

    def constant(self, array: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = array
        return name

    def weights(self, *shape: int) -> str:
        return self.constant((self.rng.standard_normal(shape) * 0.5).astype(np.float32))

    def integers(self, *numbers: int) -> str:
        return self.constant(np.array(numbers, np.int64))

    def zeros(self) -> str:
        return self.constant(np.zeros((1, UNITS), np.float32))

    def rows(self, backwards: bool = False) -> list[str]:
        """The input's rows, [1, features] each."""
        order = range(STEPS)[:: -1 if backwards else 1]
        axes = self.integers(1)
        cut = [self.op("Slice", "x", self.integers(t), self.integers(t + 1), axes) for t in order]
        return [self.op("Squeeze", row, axes) for row in cut]

    def joined(self, values: Sequence[str]) -> str:
        axis = self.integers(1)
        return self.op("Concat", *(self.op("Unsqueeze", value, axis) for value in values), axis=1)

    def bytes(self) -> bytes:
        outputs = dict.fromkeys(self.outputs)
        return onnx_file(self.nodes, self.inputs, outputs, self.constants, opset=18)


@dataclass
class Cells:
    """The steps of one layer, which share their weights."""

    model: UnrolledModel
    kind: str
    features: int = FEATURES

    def __post_init__(self) -> None:
        self.width = GATES[self.kind] * UNITS
        self.w = self.model.weights(self.features, self.width)
        self.r = self.model.weights(UNITS, self.width)
        self.b = self.model.weights(self.width)
        self.late = self.model.weights(self.width)
        self.new = self.model.weights(UNITS, UNITS)

    def sums(self, x: str, h: str) -> str:
        m = self.model
        return m.op("Add", m.op("Add", m.op("MatMul", x, self.w), m.op("MatMul", h, self.r)), self.b)

    def parts(self, sums: str) -> list[str]:
        return self.model.ops("Split", GATES[self.kind], sums, axis=1, num_outputs=GATES[self.kind])

    def lstm(self, x: str, h: str, c: str | None, sums: str | None = None) -> tuple[str, str]:
        m = self.model
        i, f, g, o = self.parts(sums or self.sums(x, h))
        taken = m.op("Mul", m.op("Sigmoid", i), m.op("Tanh", g))
        c = taken if c is None else m.op("Add", m.op("Mul", m.op("Sigmoid", f), c), taken)
        return m.op("Mul", m.op("Sigmoid", o), m.op("Tanh", c)), c

    def joined_lstm(self, x: str, h: str, c: str) -> tuple[str, str]:
        """One product for both, as cells written by hand have it."""
        m, both = self.model, self.model.op("Concat", x, h, axis=1)
        if "whole" not in self.__dict__:
            self.whole = m.weights(self.features + UNITS, self.width)
        return self.lstm(x, h, c, m.op("Gemm", both, self.whole, self.b))

    def gru(self, x: str, h: str) -> str:
        m = self.model
        z, r, n = self.parts(m.op("Gemm", x, self.w, self.b))
        hz, hr, hn = self.parts(m.op("Gemm", h, self.r, self.late))
        update, reset = (m.op("Sigmoid", m.op("Add", a, b)) for a, b in ((z, hz), (r, hr)))
        return self._mixed(update, m.op("Tanh", m.op("Add", n, m.op("Mul", reset, hn))), h)

    def gru_before(self, x: str, h: str) -> str:
        m = self.model
        z, r, n = self.parts(m.op("Gemm", x, self.w, self.b))
        hz, hr, _ = self.parts(m.op("MatMul", h, self.r))
        update, reset = (m.op("Sigmoid", m.op("Add", a, b)) for a, b in ((z, hz), (r, hr)))
        hidden = m.op("MatMul", m.op("Mul", reset, h), self.new)
        return self._mixed(update, m.op("Tanh", m.op("Add", n, hidden)), h)

    def _mixed(self, update: str, new: str, h: str) -> str:
        m = self.model
        rest = m.op("Sub", m.constant(np.ones((1, UNITS), np.float32)), update)
        return m.op("Add", m.op("Mul", rest, new), m.op("Mul", update, h))

    def rnn(self, x: str, h: str) -> str:
        return self.model.op("Tanh", self.sums(x, h))


def lstm(steps: int = STEPS, returns: str = "last", backwards: bool = False) -> UnrolledModel:
    """Gives the last hidden values, or all, or the last cell too."""
    m = UnrolledModel()
    cells, h, c, every = Cells(m, "lstm"), m.zeros(), m.zeros(), []
    for x in m.rows(backwards)[:steps]:
        h, c = cells.lstm(x, h, c)
        every.append(h)
    m.outputs = {"last": [h], "all": [m.joined(every)], "cell": [h, c]}[returns]
    return m


def lstm_with_states() -> UnrolledModel:
    m = UnrolledModel()
    m.inputs |= {"h": (1, UNITS), "c": (1, UNITS)}
    cells, h, c = Cells(m, "lstm"), "h", "c"
    for x in m.rows():
        h, c = cells.lstm(x, h, c)
    m.outputs = [h, c]
    return m


def lstm_without_a_first_cell() -> UnrolledModel:
    m = UnrolledModel()
    cells, h = Cells(m, "lstm"), m.zeros()
    c: str | None = None
    for x in m.rows():
        h, c = cells.lstm(x, h, c)
    m.outputs = [h]
    return m


def lstm_of_one_product() -> UnrolledModel:
    m = UnrolledModel()
    cells, h, c = Cells(m, "lstm"), m.zeros(), m.zeros()
    for x in m.rows():
        h, c = cells.joined_lstm(x, h, c)
    m.outputs = [h]
    return m


def lstm_that_begins_otherwise() -> UnrolledModel:
    """The first step's state is not zero: it is in that step's biases, where they cannot be told apart."""
    m = UnrolledModel()
    cells, h, c = Cells(m, "lstm"), m.weights(1, UNITS), m.weights(1, UNITS)
    for x in m.rows():
        h, c = cells.lstm(x, h, c)
    m.outputs = [h]
    return m


def two_lstms() -> UnrolledModel:
    m = UnrolledModel()
    lower, upper = Cells(m, "lstm"), Cells(m, "lstm", UNITS)
    states = [m.zeros() for _ in range(4)]
    for x in m.rows():
        states[:2] = lower.lstm(x, *states[:2])
        states[2:] = upper.lstm(states[0], *states[2:])
    m.outputs = [states[2]]
    return m


def other(kind: str) -> UnrolledModel:
    m = UnrolledModel()
    cells, h = Cells(m, kind), m.zeros()
    for x in m.rows():
        h = getattr(cells, kind)(x, h)
    m.outputs = [h]
    return m


def lstm_of_other_weights() -> UnrolledModel:
    """Each step has weights of its own: this is not a layer."""
    m = UnrolledModel()
    h, c = m.zeros(), m.zeros()
    for x in m.rows():
        h, c = Cells(m, "lstm").lstm(x, h, c)
    m.outputs = [h]
    return m
