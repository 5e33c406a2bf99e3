"""SSD as in torchvision: boxes relative to default boxes of several grids, and class scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aot.backs.back import no_number, no_picture, picture_size, shapes_text
from aot.backs.detections import (
    CENTRE_AND_SIZE,
    BoxNumbers,
    above,
    around_centres,
    as_real,
    check_count,
    check_overlap,
    check_share,
    detected,
)
from aot.frontend.builder import AddedNodes
from aot.frontend.declared import DeclarationError
from aot.ir.graph import Graph
from aot.ops.binary import Add, Mul
from aot.ops.combine import Combination, Combine
from aot.ops.detect import Detect
from aot.ops.rearrange import Rearrange
from aot.ops.softmax import Softmax
from aot.ops.unary_math import MathFunction, UnaryMath

_LARGEST_STEP = float(np.log(1000 / 16))  # torchvision's limit for the growth of a size, as a logarithm
_CODER = (10.0, 10.0, 5.0, 5.0)  # weights of torchvision's BoxCoder
_FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Ssd:
    """Expects bbox_regression [1, boxes, 4] and cls_logits [1, boxes, classes], the background first."""

    grid_sizes: tuple[float, ...]  # of square grids
    aspect_ratios: tuple[float, ...] = (2.0, 3.0)  # the same for each grid
    min_ratio: float = 0.15
    max_ratio: float = 0.9
    scales: tuple[float, ...] = ()
    steps: tuple[float, ...] = ()
    clip: bool = True
    score_thresh: float = 0.01
    nms_thresh: float = 0.45
    detections_per_img: int = 200

    def check(self) -> None:
        """Raises DeclarationError for parameters that make no sense."""
        check_share("score_thresh", self.score_thresh)
        check_overlap("nms_thresh", self.nms_thresh)
        check_count("detections_per_img", self.detections_per_img)
        if any(size < 1 or not size.is_integer() for size in self.grid_sizes):
            raise DeclarationError("grid_sizes must be whole numbers above 0 (cells)")
        grids = len(self.grid_sizes)
        for name, values, wanted in (("scales", self.scales, grids + 1), ("steps", self.steps, grids)):
            if values and len(values) != wanted:
                raise DeclarationError(f"{name} has {len(values)} numbers, {grids} grids need {wanted}")

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""
        refusal = no_number(graph, graph.outputs) or no_picture(graph)
        if refusal is not None:
            return refusal
        size, found = picture_size(graph), self._outputs(graph)
        boxes = sum(int(cells) ** 2 for cells in self.grid_sizes) * self._per_cell
        if size is not None and size[0] != size[1]:
            return f"the grids are square, but the model's image has {size[1]}x{size[0]} pixels"
        if found is None or graph.types[found[0]].shape[1] != boxes:
            return (
                f"the default boxes are {boxes}, with [1, {boxes}, 4] and [1, {boxes}, classes], "
                f"but the model's outputs are {shapes_text(graph)}"
            )
        return None

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after boxes and scores; returns the names of the new outputs."""
        found, size = self._outputs(graph), picture_size(graph)
        assert found is not None
        assert size is not None
        defaults = self.default_boxes(size[0])
        numbers = BoxNumbers(found[0], (len(defaults),), (CENTRE_AND_SIZE,))
        corners = around_centres(*_decoded(nodes, numbers, defaults))
        for label, corner in zip(("left", "top", "right", "bottom"), corners, strict=True):
            corner.then(f"{label} from 0", Combine(Combination.MAXIMUM), np.array([[0.0]], np.float32))
            corner.then(f"{label} to 1", Combine(Combination.MINIMUM), np.array([[1.0]], np.float32))
        scores = as_real(nodes.branch(found[1]), "scores")
        scores.then("softmax", Softmax())
        _, boxes, classes = scores.type.shape
        shape = (1, boxes, classes - 1)
        scores.then("without background", Rearrange(shape, shape, (boxes * classes, classes, 1), 1))
        op = Detect(self.detections_per_img, above(self.score_thresh), self.nms_thresh, by_class=True)
        return detected(corners, op, scores)

    @property
    def _per_cell(self) -> int:
        return 2 + 2 * len(self.aspect_ratios)

    def _outputs(self, graph: Graph) -> tuple[str, str] | None:
        """Returns the names of the boxes and of the scores."""
        shapes = {name: graph.types[name].shape for name in graph.outputs}
        if len(shapes) != 2 or any(len(s) != 3 or s[0] != 1 or s[2] < 2 for s in shapes.values()):
            return None
        first, second = shapes
        if shapes[first][1] != shapes[second][1]:
            return None
        if shapes[first][2] == CENTRE_AND_SIZE:
            return first, second
        return (second, first) if shapes[second][2] == CENTRE_AND_SIZE else None

    def default_boxes(self, picture: int) -> npt.NDArray[np.float64]:
        """Returns center and size of each default box as fractions of the image, [boxes, 4]."""
        grids = [int(size) for size in self.grid_sizes]
        scales = self.scales or self._even_scales(len(grids))
        found = []
        for number, cells in enumerate(grids):
            sizes = self._sizes(scales[number], scales[number + 1])
            count = picture / self.steps[number] if self.steps else cells
            down, across = np.meshgrid(*[(np.arange(cells) + 0.5) / count] * 2, indexing="ij")
            centres = np.stack([across, down], axis=-1).reshape(-1, 1, 2).repeat(len(sizes), axis=1)
            found.append(np.concatenate([centres, np.broadcast_to(sizes, centres.shape)], axis=-1))
        return np.concatenate([each.reshape(-1, CENTRE_AND_SIZE) for each in found])

    def _even_scales(self, grids: int) -> list[float]:
        if grids == 1:
            return [self.min_ratio, self.max_ratio]
        span = self.max_ratio - self.min_ratio
        return [*(self.min_ratio + span * number / (grids - 1) for number in range(grids)), 1.0]

    def _sizes(self, scale: float, following: float) -> npt.NDArray[np.float64]:
        """Returns widths and heights of a cell's boxes: two squares, then each ratio wide and tall."""
        middle = float(np.sqrt(scale * following))
        sizes = [(scale, scale), (middle, middle)]
        for ratio in self.aspect_ratios:
            root = float(np.sqrt(ratio))
            sizes += [(scale * root, scale / root), (scale / root, scale * root)]
        return np.clip(sizes, 0, 1) if self.clip else np.array(sizes)


def _decoded(nodes: AddedNodes, numbers: BoxNumbers, defaults: npt.NDArray[np.float64]) -> list[AddedNodes]:
    """Returns center and size of each box as fractions of the image."""
    x, y, width, height = defaults.T.astype(np.float32)[:, None]
    found = []
    for number, (label, centre, size) in enumerate((("x", x, width), ("y", y, height))):
        moved = numbers.column(nodes, f"move of {label}", number)
        moved.then(f"move of {label} in boxes", Mul(), np.array([[1 / _CODER[number]]], np.float32))
        moved.then(f"move of {label} as share", Mul(), size)
        moved.then(label, Add(), centre)
        found.append(moved)
    for number, (label, size) in enumerate((("width", width), ("height", height)), 2):
        grown = numbers.column(nodes, f"growth of {label}", number)
        grown.then(f"growth of {label} as logarithm", Mul(), np.array([[1 / _CODER[number]]], np.float32))
        most = np.array([[_LARGEST_STEP]], np.float32)
        grown.then(f"growth of {label}, limited", Combine(Combination.MINIMUM), most)
        grown.then(f"growth of {label}", UnaryMath(MathFunction.EXP))
        grown.then(label, Mul(), size)
        found.append(grown)
    return found
