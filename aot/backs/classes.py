"""Classification: averages scores over runs, applies a threshold, and pauses after each decision."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from aot.backs.back import not_one_output
from aot.frontend.builder import AddedNodes
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

NONE = -1  # the class if nothing is decided
_MOST_AVERAGED = 1000


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Outputs the class with the largest average score over recent runs, and that average."""

    average: int = 1  # runs; runs before the first count as zeros
    threshold: float = 0.0  # the class is -1 below it
    hold: int = 0  # runs after a decision in which the class is -1
    softmax: bool = False  # the model outputs logits: apply a softmax

    def check(self) -> None:
        """Raises DeclarationError for parameters that make no sense."""
        if not 1 <= self.average <= _MOST_AVERAGED:
            raise DeclarationError(f"average must be 1 to {_MOST_AVERAGED} runs, not {self.average}")
        if self.hold < 0:
            raise DeclarationError(f"hold must be 0 runs or more, not {self.hold}")

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""
        return not_one_output(graph) or self._out_of_reach(graph)

    def _out_of_reach(self, graph: Graph) -> str | None:
        most = 1.0 if self.softmax else _largest_score(graph, graph.outputs[0])
        if self.threshold <= most:
            return None
        return f"the threshold is {self.threshold:g}, and no score is above {most:g}"

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after the scores; returns the names of the new outputs."""
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
        """Computes the mean over this run and previous ones, whose scores are a state."""
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
        """Suppresses decisions for some runs after each one; a state counts these runs."""
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
    """Returns the largest value of an output: 1 after a softmax, for integers the limit of their scale."""
    maker, tensor = graph.producers.get(output), graph.types[output]
    if tensor.quant is not None and tensor.dtype.is_integer and not tensor.quant.is_per_channel:
        return float(tensor.quant.scale * (tensor.dtype.limits[1] - tensor.quant.zero_point))
    return 1.0 if maker is not None and isinstance(maker.op, Softmax) else math.inf
