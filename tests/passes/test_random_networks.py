"""Random int8 networks with many empty filters give the same outputs after all passes."""

import numpy as np
import pytest
from op_case import random_values

from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import Op
from aot.ops.spatial import NO_PADDING
from aot.passes.pipeline import run_meaning

SAME3 = ((1, 1), (1, 1))
SIDE = 5


class Network:
    """Grows a random network of images; every value stays as large as the input."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._nodes: list[Node] = []
        self._constants: dict[str, Array] = {}
        self._types = {"x": self._image(3)}
        self._values = ["x"]

    def graph(self, layers: int) -> Graph:
        for _ in range(layers):
            self._rng.choice([self._conv2d, self._conv2d, self._depthwise, self._pool, self._add])()  # type: ignore[arg-type]
        outputs = (self._values[-1],)
        whole = Graph("random", ("x",), outputs, tuple(self._nodes), self._types, self._constants)
        return whole.with_nodes(whole.nodes)

    def _image(self, channels: int) -> TensorType:
        scale, zero_point = float(self._rng.uniform(0.02, 0.2)), int(self._rng.integers(-128, 128))
        return TensorType(DType.I8, (1, SIDE, SIDE, channels), Quant((scale,), (zero_point,)))

    def _source(self) -> str:
        return self._values[-1] if self._rng.random() < 0.8 else str(self._rng.choice(self._values))

    def _value(self, op: Op, inputs: tuple[str | None, ...], result: TensorType) -> None:
        name = f"v{len(self._nodes)}"
        self._types[name] = result
        self._nodes.append(Node(name, op, inputs, (name,)))
        self._values.append(name)

    def _constant(self, array: Array, quant: Quant | None = None) -> str:
        name = f"c{len(self._constants)}"
        self._types[name] = TensorType({1: DType.I8, 4: DType.I32}[array.itemsize], array.shape, quant)
        self._constants[name] = array
        return name

    def _filters(self, shape: tuple[int, ...], axis: int) -> tuple[str, str | None]:
        """Weights of which many filters are empty, and sometimes a bias."""
        weights = self._rng.integers(-127, 128, shape).astype(np.int8)
        count = shape[axis]
        np.moveaxis(weights, axis, 0)[self._rng.random(count) < 0.4] = 0
        quant = Quant(tuple(float(s) for s in self._rng.uniform(0.001, 0.01, count)), (0,) * count, axis)
        bias = self._rng.integers(-3000, 3000, count).astype(np.int32) * (self._rng.random(count) < 0.5)
        b = self._constant(bias.astype(np.int32)) if self._rng.random() < 0.7 else None
        return self._constant(weights, quant), b

    def _activation(self) -> Activation:
        return Activation(self._rng.choice([a.value for a in Activation]))

    def _conv2d(self) -> None:
        x, channels = self._source(), int(self._rng.integers(1, 6))
        is_pointwise = self._rng.random() < 0.5
        side, padding = (1, NO_PADDING) if is_pointwise else (3, SAME3)
        w, b = self._filters((channels, side, side, self._types[x].shape[3]), axis=0)
        self._value(Conv2d(padding=padding, activation=self._activation()), (x, w, b), self._image(channels))

    def _depthwise(self) -> None:
        x, multiplier = self._source(), int(self._rng.integers(1, 3))
        channels = self._types[x].shape[3] * multiplier
        w, b = self._filters((3, 3, channels), axis=2)
        op = DepthwiseConv2d(padding=SAME3, activation=self._activation(), multiplier=multiplier)
        self._value(op, (x, w, b), self._image(channels))

    def _pool(self) -> None:
        x = self._source()
        op_class = AveragePool2d if self._rng.random() < 0.5 else MaxPool2d
        self._value(op_class((3, 3), (1, 1), SAME3, self._activation()), (x,), self._types[x])

    def _add(self) -> None:
        x = self._source()
        alike = [v for v in self._values if self._types[v].shape == self._types[x].shape]
        result = self._image(self._types[x].shape[3])
        self._value(Add(self._activation()), (x, str(self._rng.choice(alike))), result)


@pytest.mark.parametrize("seed", range(60))
def test_a_network_gives_the_same_outputs_after_the_passes(seed):
    graph = Network(seed).graph(layers=8)
    after = run_meaning(graph).graph
    for sample in range(5):
        inputs = {"x": random_values(np.random.default_rng(sample), graph.types["x"])}
        (expected,), (got,) = run_graph(graph, inputs).values(), run_graph(after, inputs).values()
        assert np.array_equal(got, expected)


def test_many_of_these_networks_lose_channels():
    """Else the test above would say little."""
    changed = 0
    for seed in range(60):
        graph = Network(seed).graph(layers=8)
        changed += any("/live" in name for name in run_meaning(graph).graph.constants)
    assert changed > 20
