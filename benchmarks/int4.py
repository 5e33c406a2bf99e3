"""Weights of four bits beside weights of eight: cycles and flash, one kind of layer after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from aot.frontend.tflite.write_file import FileTensor, ModelSpec, OperatorSpec, write_tflite
from aot.ir.types import Array
from aot.target import Optimize
from benchmarks.operator_models import SAME, Shape
from codegen.job import import_model
from codegen.model import LayerInfo
from codegen.options import CompileOptions
from deploy.benchmark.cycle_model import layer_cycles
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from platforms.board_files import load_board

BOARDS = {"mps2-an386": "Cortex-M4", "mps3-an547": "Cortex-M55"}
_RELU = 1  # ActivationFunctionType
_SCALE, _ZERO_POINT = 0.05, -128  # of what is behind another RELU
_VERSION = 7  # of operators with weights of four bits
HEAD = """\
# 4-bit and 8-bit weights

Models of one layer each, compiled with gcc: cycles of the cycle model for memory without wait states,
including the copies that a layer needs, and the bytes of its weights and other constants.
`python -m benchmarks int4` prints this.
"""
_HEAD_OF_TABLE = """
## {core}, `--optimize {goal}`

| layer | MACs | 8 bits: cycles | per MAC | bytes | 4 bits: cycles | per MAC | bytes | cycles, 4 to 8 |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""
GOALS = (Optimize.SPEED, Optimize.SIZE)


@dataclass(frozen=True, slots=True)
class OneLayer:
    """A dense layer, or a convolution over an image."""

    code: str
    x: Shape
    w: Shape
    stride: int = 1

    @property
    def label(self) -> str:
        names = {"CONV_2D": "conv2d", "DEPTHWISE_CONV_2D": "depthwise_conv2d", "FULLY_CONNECTED": "dense"}
        size = "" if len(self.w) == 2 else f" {self.w[1]}x{self.w[2]}"
        stride = f", stride {self.stride}" if self.stride > 1 else ""
        return f"{names[self.code]}{size} {_joined(self.x)} -> {_joined(self.y)}{stride}"

    @property
    def y(self) -> Shape:
        if len(self.w) == 2:
            return (1, self.w[0])
        columns = (-(-size // self.stride) for size in self.x[1:3])
        return (1, *columns, self.w[self.axis])

    @property
    def axis(self) -> int:
        """The axis of the weights that channels are counted along."""
        return 3 if self.code == "DEPTHWISE_CONV_2D" else 0

    def file(self, bits: int) -> bytes:
        """The same layer whichever bits its weights have, except for these."""
        fields: dict[str, float | str] = {"FusedActivationFunction": _RELU}
        if len(self.w) == 4:
            fields |= {"StrideH": self.stride, "StrideW": self.stride, "Padding": SAME}
            fields |= {"DilationHFactor": 1, "DilationWFactor": 1}
        options = {"CONV_2D": "Conv2DOptions", "FULLY_CONNECTED": "FullyConnectedOptions"}
        if self.axis:
            fields["DepthMultiplier"] = self.w[3] // self.x[3]
        kind = options.get(self.code, "DepthwiseConv2DOptions")
        x = FileTensor("x", self.x, "int8", (_SCALE,), (_ZERO_POINT,))
        y = FileTensor("y", self.y, "int8", (_SCALE,), (_ZERO_POINT,))
        operator = OperatorSpec(self.code, _VERSION, (0, 1, 2), (3,), kind, fields)
        return write_tflite(ModelSpec("layer", (x, *self._constants(bits), y), (operator,), (0,), (3,)))

    def _constants(self, bits: int) -> tuple[FileTensor, FileTensor]:
        rng, channels, most = np.random.default_rng(1), self.w[self.axis], (1 << (bits - 1)) - 1
        weights = rng.integers(-most, most + 1, self.w).astype(np.int8)
        scales = tuple(float(s) for s in rng.uniform(0.1, 0.2, channels).astype(np.float32) / most)
        sums = tuple(float(np.float32(scale * _SCALE)) for scale in scales)
        bias = rng.integers(-50, 50, channels).astype(np.int32)
        zeros, dtype = (0,) * channels, "int8" if bits == 8 else "int4"
        data = weights if bits == 8 else packed(weights)
        return (
            FileTensor("w", self.w, dtype, scales, zeros, self.axis, data),
            FileTensor("b", bias.shape, "int32", sums, zeros, 0, bias),
        )


def packed(weights: Array) -> Array:
    """Two weights to a byte, the first in its lower half, as TFLite files have them."""
    flat = weights.reshape(-1).astype(np.uint8) & 0xF
    low, high = np.pad(flat, (0, flat.size % 2)).reshape(-1, 2).T
    return np.asarray(low | high << 4, np.uint8)


LAYERS = (
    OneLayer("FULLY_CONNECTED", (1, 640), (128, 640)),
    OneLayer("FULLY_CONNECTED", (1, 128), (128, 128)),
    OneLayer("FULLY_CONNECTED", (1, 64), (12, 64)),
    OneLayer("CONV_2D", (1, 25, 5, 64), (64, 1, 1, 64)),
    OneLayer("CONV_2D", (1, 24, 24, 32), (32, 1, 1, 32)),
    OneLayer("CONV_2D", (1, 24, 24, 16), (32, 1, 1, 16)),
    OneLayer("CONV_2D", (1, 24, 24, 8), (16, 1, 1, 8)),
    OneLayer("CONV_2D", (1, 32, 32, 16), (16, 3, 3, 16)),
    OneLayer("CONV_2D", (1, 8, 8, 64), (64, 3, 3, 64)),
    OneLayer("CONV_2D", (1, 32, 32, 16), (32, 3, 3, 16), 2),
    OneLayer("CONV_2D", (1, 32, 32, 3), (16, 3, 3, 3)),
    OneLayer("DEPTHWISE_CONV_2D", (1, 25, 5, 64), (1, 3, 3, 64)),
    OneLayer("DEPTHWISE_CONV_2D", (1, 24, 24, 16), (1, 3, 3, 16)),
)


@dataclass(frozen=True, slots=True)
class Measured:
    layer: LayerInfo
    cycles: int

    @property
    def cells(self) -> tuple[str, ...]:
        each = f"{self.cycles / self.layer.macs:.2f}"
        kernel = " (Winograd)" if self.layer.kernel == "winograd" else ""
        return (f"{self.cycles:,}{kernel}", each, f"{self.layer.weight_bytes:,}")


def int4_rows() -> Iterator[str]:
    """A table for each core and goal."""
    for (board, core), goal in product(BOARDS.items(), GOALS):
        yield _HEAD_OF_TABLE.format(core=core, goal=goal.value)
        for layer in LAYERS:
            eight, four = (measured(layer, bits, goal, board) for bits in (8, 4))
            cells = (layer.label, f"{eight.layer.macs:,}", *eight.cells, *four.cells)
            yield f"| {' | '.join(cells)} | {four.cycles / eight.cycles:.2f} |\n"


def measured(layer: OneLayer, bits: int, goal: Optimize, board_name: str) -> Measured:
    """The layer with weights of so many bits, its cycles with those of copies."""
    options, board = CompileOptions(optimize=goal), load_board(board_name)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "layer.tflite"
        file.write_bytes(layer.file(bits))
        compiled = compile_for(import_model(file, options), board, options)
    cycles = sum(each.count for each in layer_cycles(compiled.artifact, board, None, LineOptions()).values())
    (info,) = (each for each in compiled.model.layers if each.macs)
    return Measured(info, cycles)


def _joined(shape: Shape) -> str:
    return "x".join(str(size) for size in shape[1:])
