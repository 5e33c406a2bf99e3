"""Lowered stages: kernels with the tensors that they read and write, in rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aot.ir.graph import Node
from aot.ir.types import TensorType
from aot.plan.model import Kind, Rows
from codegen.formats import RowFormat, geometry
from codegen.kernels.kernel import Kernel, RowAccess
from codegen.kernels.knobs import Point
from codegen.kernels.strategy import RowRequests


@dataclass(frozen=True)
class LoweredTensor:
    """A value in memory: one for each value that is not a view of another."""

    name: str
    type: TensorType
    format: RowFormat
    kind: Kind
    whole: bool = False

    @property
    def image_rows(self) -> int:
        return geometry(self.type).rows

    @property
    def rows(self) -> int:
        return self.format.top + self.image_rows + self.format.bottom


STREAMED_ROW = ""  # in place of a tensor: the row that the caller has just pushed


@dataclass(frozen=True)
class Reading:
    """One tensor that a stage reads through row pointers, in the rows of `view` if that is given."""

    tensor: str  # or STREAMED_ROW
    access: RowAccess
    view: RowFormat | None = None  # rows other than the tensor's own, in the same dense bytes
    fill: int = 0  # content of rows outside the image and the tensor


@dataclass(frozen=True)
class Result:
    """The rows that a stage writes: a whole tensor, or its part of a tensor with several writers."""

    tensor: str
    value: str
    type: TensorType
    format: RowFormat  # with the rows above and below that it fills
    first: int = 0  # row of the tensor with which it begins
    rows_each: int = 1  # rows of the tensor per row of the result

    @property
    def image_rows(self) -> int:
        return geometry(self.type).rows

    @property
    def rows(self) -> int:
        return self.format.top + self.image_rows + self.format.bottom

    def rows_of(self, first: int, stop: int) -> Rows:
        """Returns the tensor's rows for these rows of the result."""
        return Rows(self.first + first * self.rows_each, self.first + stop * self.rows_each)


def whole_result(tensor: LoweredTensor, value: str) -> Result:
    return Result(tensor.name, value, tensor.type, tensor.format)


@dataclass(frozen=True)
class LoweredStage:
    """A kernel with its tensors."""

    name: str
    node: Node | None  # None: a relayout
    op: str
    kernel: Kernel
    reads: tuple[Reading, ...]
    result: Result
    relower: Callable[[Mapping[str, Point]], Kernel] | None = None  # the kernel with other knobs, by task
    values: tuple[str, ...] = ()  # read by a node's stage, from any tensor
    others: tuple[Result, ...] = ()  # further results of a region
    requests: RowRequests = ()  # of a node's stage, for its values

    @property
    def results(self) -> tuple[Result, ...]:
        return (self.result, *self.others)

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(result.tensor for result in self.results)

    @property
    def steps(self) -> int:
        """Counts the kernel's calls for the rows of an image, with one or several rows per call."""
        if self.kernel.spread is not None:
            return self.kernel.spread.steps
        return self.result.image_rows // self.kernel.rows_per_step


@dataclass(frozen=True)
class Lowered:
    tensors: Mapping[str, LoweredTensor]
    stages: tuple[LoweredStage, ...]
    delivered: Mapping[str, str]  # output -> its tensor, if another tensor has the output's name

    @property
    def receiver(self) -> int | None:
        """Returns the stage that accepts pushed rows, if the input is streamed."""
        numbers = [i for i, s in enumerate(self.stages) if any(r.tensor == STREAMED_ROW for r in s.reads)]
        return numbers[0] if numbers else None
