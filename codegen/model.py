"""A compiled model: everything the archive, the projects and the command line need to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from aot.counted import counted
from aot.frontend.given import NOTHING_GIVEN, Given
from aot.ir.graph import Array, Graph
from aot.ir.types import TensorType
from aot.plan.model import Plan, PlanRequest, Pool
from aot.target import Optimize, Target


class Rounding(Enum):
    """Which reference the integer kernels equal bit for bit."""

    TFLM = "tflm"
    LITERT_REF = "litert-ref"
    ONNX = "onnx"


@dataclass(frozen=True, slots=True)
class ConstantRule:
    """Constants of the layers that a pattern names lie in a region of the board."""

    pattern: str  # of a kind of layer, a layer's name, or layer3; * stands for any letters
    region: str


@dataclass(frozen=True, slots=True)
class CompileOptions:
    optimize: Optimize = Optimize.SPEED
    rounding: Rounding = Rounding.TFLM
    ram_bytes: int | None = None  # the arena may not be larger
    rows: bool = True  # False: whole tensors only, to compare with
    exact: bool = False  # a solver improves or proves the placement
    pools: tuple[Pool, ...] = ()  # of the arena, fastest first; none named: the board's as they are needed
    constants: tuple[ConstantRule, ...] = ()  # the others lie with the code
    stream: bool = False  # the input comes row by row and need not exist as a whole
    io_apart: bool = False  # inputs and outputs lie in the caller's memory: the arena has no room for them
    given: Given = NOTHING_GIVEN  # what the user says of the inputs


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """An input or output of the model as the C API and the serial line show it."""

    name: str  # in the model file
    c_name: str  # the member of <model>_inputs / <model>_outputs
    type: TensorType
    arena_offset: int
    arena: int = 0  # its number

    @property
    def bytes(self) -> int:
        return self.type.bytes


@dataclass(frozen=True, slots=True)
class RowFormat:
    """How one row of a value lies in memory; what a layer's written bytes mean.

    Pixel x, channel c of a row is element (left + x) * x_step + c * c_step of the row. Elements
    that belong to no pixel hold `fill`. The tensor has `top` rows of fill before its first row
    and `bottom` after its last.
    """

    dtype_bytes: int  # 1, 2 or 4; integers are sign-extended when wider than the value's own type
    width: int
    channels: int
    x_step: int
    c_step: int
    left: int
    row_elements: int
    top: int
    bottom: int
    fill: int

    @property
    def row_bytes(self) -> int:
        return self.row_elements * self.dtype_bytes

    @property
    def said(self) -> str:
        """As comments in C say it."""
        return f"{counted(self.width, 'pixel')} of {counted(self.channels, 'channel')}"


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """One stage of the run: which node it computes, with which kernel and why."""

    index: int  # the number SOLDER_LAYER_HOOK reports
    name: str  # the node's name
    op: str
    origin: str  # where in the user's file
    shapes: str  # "32x32x3 -> 32x32x16"
    kernel: str  # name of the schedule
    why: str  # why this kernel was chosen
    macs: int
    weight_bytes: int
    output: str  # the tensor it writes
    value: str  # whose rows these are
    format: RowFormat
    rows: int  # of that value, padding rows not counted


@dataclass(frozen=True)
class CompiledModel:
    name: str  # a C identifier in lower case
    source_name: str  # the model file's name, without folders
    model_hash: str  # SHA-256 of the model file's bytes, in hex
    graph: Graph  # after all passes: what the layers compute
    target: Target
    options: CompileOptions
    write_sources: Callable[[], Mapping[str, str]] = field(repr=False)
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    request: PlanRequest
    plan: Plan
    layers: tuple[LayerInfo, ...]
    constants_bytes: int
    constants_in: Mapping[str, int]  # of them by region, where it is not the code's
    code_bytes_estimate: int
    stack_bytes_estimate: int
    c_flags: tuple[str, ...]
    parameters: Mapping[str, Array]  # packed constants by C name

    @cached_property
    def sources(self) -> Mapping[str, str]:
        """ "<name>.c", "<name>.h", "<name>_weights.c", ... -> text; written when first asked for."""
        return self.write_sources()
