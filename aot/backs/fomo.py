"""Edge Impulse's FOMO: touching grid cells of one class are one object."""

from __future__ import annotations

from dataclasses import dataclass

from aot.backs.back import no_picture, not_one_output, picture_size, shapes_text
from aot.backs.detections import as_real, check_count, check_share, listed_boxes
from aot.frontend.builder import AddedNodes
from aot.ir.graph import Graph
from aot.ops.blobs import Blobs


@dataclass(frozen=True, kw_only=True)
class Fomo:
    """Expects scores of classes for each cell, the background first."""

    threshold: float = 0.5
    object_detection_count: int = 10

    def check(self) -> None:
        """Raises DeclarationError for parameters that make no sense."""
        check_share("threshold", self.threshold)
        check_count("object_detection_count", self.object_detection_count)

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""
        refusal = not_one_output(graph) or no_picture(graph)
        shape = graph.types[graph.outputs[0]].shape
        if refusal is None and (len(shape) != 4 or shape[0] != 1 or shape[3] < 2):
            return (
                "FOMO needs an output [1, rows, columns, classes with a background], "
                f"the model has {shapes_text(graph)}"
            )
        return refusal

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after the grid; returns the names of the new outputs."""
        assert picture_size(graph) is not None
        _, rows, columns, _ = nodes.type.shape
        as_real(nodes, "scores of cells")
        nodes.then("found", Blobs(self.object_detection_count, self.threshold))
        return listed_boxes(nodes, self.object_detection_count, (1 / columns, 1 / rows))
