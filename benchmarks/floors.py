"""Cycles of layers against a floor: what their products, loads and results need at least on a core.

Cycles are those of the compiler's tables (`codegen/fit/measured`), which `python -m benchmarks costs`
measures on boards whose memory never waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from aot.ir.graph import Node
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from benchmarks.costs import BOARDS
from benchmarks.shared import model_file
from codegen.fit.layer_cycles import cycle_table
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board

MODELS = (
    *("tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8"),
    *("tiny_ad_fc_int8", "tflm_person_detect_int8"),
)
_WINOGRAD = 16 / 36  # products of F(2x2, 3x3) for each product of a 3x3 convolution
_LEAST_CHANNELS = 8  # with which they pay


@dataclass(frozen=True, slots=True)
class Floor:
    """The least cycles of a core for each product, each pixel of a depthwise convolution and each result."""

    product: float
    transformed: float | None  # product of Winograd's convolutions, of which there are fewer; None: unused
    dense: float  # product of a dense layer, which uses each weight once
    depthwise: float  # product of a depthwise convolution
    pixel: float
    result: float

    def of(self, node: Node, plan: CompiledPlan) -> float | None:
        """Returns the cycles of a layer; None unless it is a convolution or a dense layer."""
        op, inputs, outputs = node.op, plan.graph.input_types(node), plan.graph.output_types(node)
        macs, results = op.cost(inputs, outputs).macs, self.result * prod(outputs[0].shape)
        if isinstance(op, DepthwiseConv2d):
            assert inputs[0] is not None
            return self.depthwise * macs + self.pixel * prod(inputs[0].shape) + results
        if isinstance(op, Conv2d | Conv2dAdd | Dense):
            return self._product(node, plan) * macs + results
        return None

    def _product(self, node: Node, plan: CompiledPlan) -> float:
        op = node.op.conv if isinstance(node.op, Conv2dAdd) else node.op
        if not isinstance(op, Conv2d):
            return self.dense
        weights = plan.graph.input_types(node)[1]
        assert weights is not None
        channels, rows, columns, depth = weights.shape
        is_3x3 = (rows, columns) == (3, 3) and op.stride == op.dilation == (1, 1)
        pays = is_3x3 and min(channels, depth) >= _LEAST_CHANNELS
        return self.transformed * _WINOGRAD if self.transformed is not None and pays else self.product


FLOORS = {
    "cortex-m4": Floor(0.5 + 0.3125 + 0.125, 0.5 + 0.3125, 0.5 + 0.25 + 0.25, 0.5, 0.25 + 0.5, 3),
    "cortex-m7": Floor(0.5, 0.5, 0.5, 0.5, 0, 1.5),
    "cortex-m55": Floor(2 / 16, None, 2 / 16, 2 / 8, 0, 1),
}
HEAD = """\
# Cycles against the floor

Cycles of each layer, as the compiler's tables have them (memory without wait states), and a floor: what the
products, loads and results of the layer need at least. Printed by `python -m benchmarks floors`.

| cycles | cortex-m4 | cortex-m7 | cortex-m55 |
| --- | --- | --- | --- |
| a product | 0.5 (SMLAD), loads for 4 x 2 sums 0.3125, widening 0.125 | 0.5 | 0.125 (VMLADAVA) |
| a product of a dense layer | 0.5, loads of weights 0.25, widening 0.25 | 0.5 | 0.125 |
| a product of a depthwise convolution | 0.5 | 0.5 | 0.25 (VMLA of 16 bits) |
| a pixel of it, loaded and widened once | 0.75 | 0 | 0 |
| a result: multiplied, saturated, stored | 3 | 1.5 | 1 |

A Cortex-M7 starts everything else beside its products. On both cores without vectors, 3x3 convolutions with
strides of 1 and at least 8 channels need 16 products for each 36 (Winograd), whose weights the Cortex-M4 does
not widen. Other layers have no floor here. A star marks estimated cycles of kernels that no table has.
"""


def floor_rows(name: str) -> Iterator[str]:
    """Yields a table for each core: the model's layers that have a floor, and their sum."""
    for core in FLOORS:
        plan = plan_job(read_job(model_file(name), load_board(BOARDS[core][0]).target, CompileOptions()))
        yield f"\n## {name} on {core}\n\n"
        yield "| layer | result | cycles | floor | times |\n| --- | --- | ---: | ---: | ---: |\n"
        all_cycles, all_floors = 0, 0.0
        for node, cycles, floor, is_measured in _layers(core, plan):
            shape = "x".join(map(str, plan.graph.types[node.outputs[0]].shape[1:]))
            yield f"| {node.op.name} | {shape} | {_cells(cycles, floor, is_measured)} |\n"
            all_cycles, all_floors = all_cycles + cycles, all_floors + floor
        yield f"| sum | | {_cells(all_cycles, all_floors)} |\n"


def _layers(core: str, plan: CompiledPlan) -> Iterator[tuple[Node, int, float, bool]]:
    """Yields layers with a floor: the node, its cycles, its floor, and whether the cycles are measured."""
    table = cycle_table(plan.job.target)
    for stage in plan.lowered.stages:
        floor = FLOORS[core].of(stage.node, plan) if stage.node is not None else None
        if stage.node is not None and floor is not None:
            found = table.of(stage, plan.lowered.tensors)
            yield stage.node, found.cycles, floor, found.is_measured


def _cells(cycles: int, floor: float, is_measured: bool = True) -> str:
    return f"{cycles:,}{'' if is_measured else '*'} | {floor:,.0f} | {cycles / floor:.2f}"
