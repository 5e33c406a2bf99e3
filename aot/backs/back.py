"""The interface of back ends, which add nodes to models, and their checks of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from aot.frontend.builder import AddedNodes
from aot.ir.graph import Graph
from aot.ir.types import DType, TensorType


class Back(Protocol):
    """The parameters of one back end."""

    def check(self) -> None:
        """Raises DeclarationError for parameters that make no sense."""

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after the model's first output; returns the names of the new outputs."""


_COLOURS = (1, 3)


def no_number(graph: Graph, names: Sequence[str]) -> str | None:
    """Returns a refusal for the first value that is neither float nor quantized; None if all are numbers."""
    for name in names:
        if not _is_number(graph.types[name]):
            return (
                f'"{name}" holds {graph.types[name].dtype.value} without a scale, so its values have no '
                "known unit"
            )
    return None


def not_one_output(graph: Graph) -> str | None:
    if len(graph.outputs) == 1:
        return no_number(graph, graph.outputs)
    return (
        f"this back end needs a model with one output, this one has {len(graph.outputs)}: "
        f"{', '.join(graph.outputs)}"
    )


def picture_size(graph: Graph) -> tuple[int, int] | None:
    """Returns height and width of the model's input image, interleaved or planar; or None."""
    shape = graph.types[graph.inputs[0]].shape
    if len(graph.inputs) != 1 or len(shape) != 4 or shape[0] != 1:
        return None
    if shape[3] in _COLOURS:
        return shape[1], shape[2]
    return (shape[2], shape[3]) if shape[1] in _COLOURS else None


def are_planes(graph: Graph) -> bool:
    """Returns whether images are planar; grids are then planar, too."""
    return graph.types[graph.inputs[0]].shape[3] not in _COLOURS


def no_picture(graph: Graph) -> str | None:
    if picture_size(graph) is not None:
        return None
    shapes = ", ".join(f'"{name}" {list(graph.types[name].shape)}' for name in graph.inputs)
    return f"a detector needs one image of 1 or 3 channels as input, the model has {shapes}"


def shapes_text(graph: Graph) -> str:
    return ", ".join(f'"{name}" {list(graph.types[name].shape)}' for name in graph.outputs)


def _is_number(kind: TensorType) -> bool:
    return kind.dtype is DType.F32 or (kind.quant is not None and not kind.quant.is_per_channel)
