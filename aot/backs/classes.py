"""Classes out of scores: averaged over runs, decided by a threshold, and then held back for a while."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aot.backs.model_outputs import not_one_output
from aot.frontend.added_nodes import AddedNodes
from aot.frontend.declared import DeclarationError
from aot.ir.graph import Graph
from aot.ir.types import Array, DType
from aot.ops.binary import Mul, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.compare import Compare, Relation
from aot.ops.concat import Concat
from aot.ops.quantize import Dequantize
from aot.ops.rearrange import Rearrange
from aot.ops.reduce import ArgExtreme, Reduce, Reduction
from aot.ops.select import Select
from aot.ops.softmax import Softmax

NONE = -1  # the class where nothing is decided
_MOST_AVERAGED = 1000


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Gives the class whose score, on average over the last runs, is the largest, and that average."""

    average: int = 1  # runs; those before the first count as zeros
    threshold: float = 0.0  # below it the class is -1
    hold: int = 0  # runs after a decision in which the class is -1, too
    softmax: bool = False  # whether the model gives what a softmax would make scores of

    def check(self) -> None:
        """Raises DeclarationError for numbers that make no sense."""
        if not 1 <= self.average <= _MOST_AVERAGED:
            raise DeclarationError(f"average is {self.average}, it must be 1 to {_MOST_AVERAGED} runs")
        if self.hold < 0:
            raise DeclarationError(f"hold is {self.hold}, it must be 0 runs or more")

    def refusal(self, graph: Graph) -> str | None:
        """The reason why it cannot stand behind this model."""
        return not_one_output(graph) or self._out_of_reach(graph)

    def _out_of_reach(self, graph: Graph) -> str | None:
        most = 1.0 if self.softmax else _largest_score(graph, graph.outputs[0])
        if self.threshold <= most:
            return None
        return f"the threshold is {self.threshold:g}, and no score is above {most:g}"

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds its nodes behind scores; the names of the new outputs."""
        nodes.view("scores", 1, nodes.type.elements)
        if nodes.type.dtype is not DType.F32:
            nodes.then("numbers", Dequantize())
        if self.softmax:
            nodes.then("softmax", Softmax())
        if self.average > 1:
            self._add_average(nodes)
        scores = nodes.value
        nodes.then("best", ArgExtreme(Reduction.MAXIMUM, 1))
        best = nodes.value
        score = nodes.branch(scores)
        score.then("score", Reduce(Reduction.MAXIMUM, (1,)))
        over = nodes.branch(score.value)
        over.then("is over", Compare(Relation.GREATER_EQUAL), _one(self.threshold))
        decided = self._add_hold(over) if self.hold else over.value
        nodes.value = decided
        nodes.then("class", Select(), best, _integer(NONE))
        return nodes.value, score.value

    def _add_average(self, nodes: AddedNodes) -> None:
        """The mean over this run and those before it, whose scores are a state."""
        classes, earlier = nodes.type.shape[1], self.average - 1
        now = nodes.value
        history = nodes.state("earlier", np.zeros((earlier, classes), np.float32))
        nodes.value = history
        joined = nodes.then("runs", Concat(axis=0), now)
        nodes.then("sums", Reduce(Reduction.SUM, (0,)))
        nodes.then("averages", Mul(), _one(1 / self.average))
        kept = nodes.branch(joined)
        size = (earlier, classes)
        kept.then("later", Rearrange(size, size, (classes, 1), classes))
        nodes.keep(history, kept.value)

    def _add_hold(self, over: AddedNodes) -> str:
        """Decides only where no decision was made in the runs before; their number is a state."""
        is_over = over.value
        wait = over.state("wait", np.zeros((1, 1), np.int32))
        quiet = over.branch(wait)
        quiet.then("is quiet", Compare(Relation.EQUAL), _integer(0))
        quiet.then("is decided", Combine(Combination.AND), is_over)
        decided = quiet.value
        waited = over.branch(wait)
        waited.then("one less", Sub(), _integer(1))
        waited.then("waited", Combine(Combination.MAXIMUM), _integer(0))
        following = over.branch(decided)
        following.then("waits", Select(), _integer(self.hold), waited.value)
        over.keep(wait, following.value)
        return decided


def _one(number: float) -> Array:
    return np.array([[number]], np.float32)


def _integer(number: int) -> Array:
    return np.array([[number]], np.int32)


def _largest_score(graph: Graph, output: str) -> float:
    """The largest number that an output can hold: 1 of a softmax, and what its scale allows for integers."""
    maker, tensor = graph.producers.get(output), graph.types[output]
    if tensor.quant is not None and tensor.dtype.is_integer and not tensor.quant.is_per_channel:
        return float(tensor.quant.scale * (tensor.dtype.limits[1] - tensor.quant.zero_point))
    return 1.0 if maker is not None and isinstance(maker.op, Softmax) else math.inf
