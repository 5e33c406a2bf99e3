"""What the compiler tells about a model: its tensors and layers, its code and its memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import TensorType
from codegen.formats import RowFormat
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Proc
from codegen.option_entry import ADDED_LATER


@dataclass(frozen=True, slots=True)
class PlacedTensor(TensorSpec):
    """An input or output of the model, and its address before or after a run."""

    arena_offset: int
    arena: int  # its number


@dataclass(frozen=True, slots=True)
class TensorInfo(PlacedTensor):
    """An input or output of the model, as in its C code."""

    c_name: str  # the member of <model>_inputs / <model>_outputs
    limits: tuple[int, int] | None = field(default=None, kw_only=True, metadata=ADDED_LATER)
    indices: tuple[int, int] | None = field(default=None, kw_only=True, metadata=ADDED_LATER)


COPIES = ("receive", "relayout")  # kinds of layers that copy rows and compute no node


@dataclass(frozen=True, slots=True)
class LayerResult:
    """One result of a layer that has several."""

    output: str  # the tensor it writes
    value: str  # whose rows these are
    format: RowFormat
    rows: int  # of that value, padding rows not counted


@dataclass(frozen=True, slots=True)
class PlacedConstants:
    """The constants of a layer in RAM, and the cycles saved."""

    layer: int
    region: str
    bytes: int
    cycles: int  # cycles of flash waits saved per run, estimated from the layer's reads


@dataclass(frozen=True, slots=True)
class KeptLimit:
    """The user's limit of one memory, and what the model takes of it.

    In RAM, arena and constants count; in flash, constants and kernels, which are estimated.
    """

    role: str  # "ram" or "flash"
    region: str  # empty: all memories of that role together
    limit_bytes: int
    taken_bytes: int

    @property
    def is_kept(self) -> bool:
        return self.taken_bytes <= self.limit_bytes


@dataclass(frozen=True, slots=True)
class PlacementInRam:
    """The choice of `--place`, and the free RAM on which it is based."""

    rooms: Mapping[str, int]  # region -> bytes that were free for constants
    layers: tuple[PlacedConstants, ...]
    copy_cycles: int  # approximate, for the copy from flash when the firmware starts
    notes: tuple[str, ...] = ()  # why no constants are in RAM, or no more

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self.layers)

    @property
    def cycles(self) -> int:
        return sum(each.cycles for each in self.layers)

    def left_in(self, region: str) -> int:
        return self.rooms[region] - sum(each.bytes for each in self.layers if each.region == region)


@dataclass(frozen=True, slots=True)
class LayerPart:
    """A node of a layer that is a device region."""

    name: str
    op: str
    origin: str


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """One layer of the run: its node, its kernel and the reason for it."""

    index: int  # the number SOLDER_LAYER_HOOK reports
    name: str  # the node's name
    op: str
    origin: str  # position in the user's file
    shapes: str  # "32x32x3 -> 32x32x16"
    kernel: str  # name of the strategy
    why: str  # why this kernel was chosen
    macs: int
    weight_bytes: int
    output: str  # the tensor it writes
    value: str  # whose rows these are
    format: RowFormat
    rows: int  # of that value, padding rows not counted
    passed_over: tuple[str, ...] = ()  # "strategy: why it does not fit", of strategies tried before
    device: str = field(default="", metadata=ADDED_LATER)  # the accelerator that computes it; empty: the CPU
    # "accelerator: why it does not compute this", of the requested ones.
    stays: tuple[str, ...] = field(default=(), metadata=ADDED_LATER)
    sources: tuple[str, ...] = field(default=(), metadata=ADDED_LATER)  # the accelerator's C files
    parts: tuple[LayerPart, ...] = field(default=(), metadata=ADDED_LATER)  # the nodes of a region
    others: tuple[LayerResult, ...] = field(default=(), metadata=ADDED_LATER)  # results after the first
    function: str = field(default="", metadata=ADDED_LATER)  # its name in C

    @property
    def results(self) -> tuple[LayerResult, ...]:
        return (LayerResult(self.output, self.value, self.format, self.rows), *self.others)


@dataclass(frozen=True, slots=True)
class RowsRead:
    """The rows that a kernel reads through one of its parameters."""

    type: TensorType  # of the value, which may be stored in wider elements
    elements: int  # of a row, or of the whole tensor if the kernel reads it as one
    fill: int  # of rows outside the image


@dataclass(frozen=True)
class LayerCode:
    """The loops and C code of a layer. If a library's C function computes it, no proc has a body."""

    kernel: Kernel  # its loops, constants and accesses by step
    steps: int  # runs of the kernel's main proc per image
    reads: Mapping[str, RowsRead]  # by parameter of the kernel
    helpers: tuple[str, ...]  # C text of the functions that the kernels call
    kernels: tuple[str, ...]  # C text of their functions
    layer: str  # C text of the layer's function, which calls the kernels with its rows
    functions: tuple[str, ...]  # names of the C functions, the layer's last

    @property
    def procs(self) -> tuple[Proc, ...]:
        """Returns all procs, in the order in which they first run."""
        return self.kernel.procs


@dataclass(frozen=True)
class ExternalWeights:
    """The weights of a model, stored outside its code."""

    structure: str  # a hash of the code that uses them
    data: bytes  # as in the memory of a little-endian core


@dataclass(frozen=True)
class PackedTable:
    """A model without its code, for firmware that has the kernels."""

    data: bytes  # as solder_table.c reads it
    kernels: Mapping[str, str]  # their names, each with its first layer
