"""A loop over the rows of a sequence: its body is a graph, which carries states from step to step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.region import Subgraph
from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Types, required


def _rows(op: StepLoop, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    rows = [required(t).shape for t in inputs[: op.per_step]]
    fits = all(len(shape) == 4 and (shape[0], shape[2]) == (1, 1) for shape in rows)
    if fits and len({shape[1] for shape in rows}) == 1:
        return None
    return " and ".join(limits.shape_text(required(t)) for t in inputs[: op.per_step]) or "there are none"


def _turns(op: StepLoop, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    """Describes the first value whose type differs from the one that the loop's graph has for it."""
    graph, outside = op.graph, [required(t) for t in inputs]
    inside = [graph.types[name] for name in graph.inputs]
    if graph.constants or graph.states:
        return "the graph has constants or states"
    if len(inside) != len(outside) or not op.carried < len(graph.outputs):
        return f"{len(outside)} inputs and {op.carried} states, for {len(inside)} and {len(graph.outputs)}"
    sizes = [(t.dtype, t.elements // (t.shape[1] if n < op.per_step else 1)) for n, t in enumerate(outside)]
    following = [graph.types[name] for name in graph.outputs[: op.carried]]
    first = len(inside) - op.carried
    differs = [
        *(n for n, t in enumerate(inside) if (t.dtype, t.elements) != sizes[n]),
        *(first + n for n, t in enumerate(following) if t != inside[first + n]),
    ]
    return f"input {differs[0]} is another value inside" if differs else None


def _floats(op: StepLoop, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    graph = op.graph
    states = graph.inputs[len(graph.inputs) - op.carried :]
    found = {graph.types[name].dtype for name in (*states, *graph.outputs)} - {DType.F32}
    return f"there is {next(iter(found)).value}" if found else None


@dataclass(frozen=True)
class StepLoop(Subgraph):
    """Runs its graph once for each row of a sequence; states are carried from each run to the next.

    Inputs, those of the graph in this order: the values with a row for each step, [1, T, 1, N], the values
    that are equal in all steps, and the initial states. The graph's outputs: the next states, then the
    results. Output: the results of each step, joined, [1, T, 1, N]. Inside, values may have other shapes.
    """

    carried: int  # states
    per_step: int  # inputs with a row for each step
    graph: Graph

    name: ClassVar[str] = "loop"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        Constraint("values of the steps must be [1, steps, 1, elements]", _rows),
        Constraint(
            "the graph's inputs must have the same elements as the loop's, and states keep theirs", _turns
        ),
        Constraint("states and results must be f32", _floats),
    )

    def __hash__(self) -> int:
        return hash((self.carried, self.per_step, self.graph.outputs))

    @property
    def results(self) -> tuple[str, ...]:
        """Returns the graph's values that are the results of a step."""
        return self.graph.outputs[self.carried :]

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        count = sum(self.graph.types[name].elements for name in self.results)
        return ((DType.F32.value, (1, required(inputs[0]).shape[1], 1, count)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        types = [self.graph.types[name] for name in self.graph.inputs]
        given = [required(array) for array in arrays]
        rows, same = given[: self.per_step], given[self.per_step :]
        made = []
        for step in range(outputs[0].shape[1]):
            each = [*(row[0, step] for row in rows), *same]
            shaped = [array.reshape(t.shape) for array, t in zip(each, types, strict=True)]
            found = run_graph(self.graph, dict(zip(self.graph.inputs, shaped, strict=True)))
            states = [found[name] for name in self.graph.outputs[: self.carried]]
            same = [*same[: len(same) - self.carried], *states]
            made.append(np.concatenate([found[name].reshape(-1) for name in self.results]))
        return (np.stack(made)[None, :, None],)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        each, (made,) = self.graph_cost, outputs
        return Cost(each.macs * made.shape[1], each.elementwise * made.shape[1] + made.elements)
