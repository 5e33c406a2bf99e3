"""Layers of floats that instructions compute in tiles, with something left over along every axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import recurrent_cases
from c_checks import Check
from model_checks import check_of, compiled, samples_of
from op_case import OpCase, float32, float32_weights, op_case
from row_machine import run_lowered

from aot.ir.graph import Node
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.recurrent import Cell
from aot.ops.reshape import Reshape
from aot.passes.pipeline import run_meaning
from aot.target import Target
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions


def layer(name: str, op: object, shape: tuple[int, ...], *weights: tuple[int, ...]) -> OpCase:
    constants = [float32_weights(*w, seed=seed) for seed, w in enumerate(weights)]
    return op_case(name, op, [float32(*shape)], float32(), constants)  # type: ignore[arg-type]


SAME = ((1, 1), (1, 1))
RELU6 = Activation.RELU6
LAYERS = (
    *(
        layer(f"conv2d_to_{n}", Conv2d(padding=SAME, activation=RELU6), (1, 4, 7, 5), (n, 3, 3, 5), (n,))
        for n in (1, 3, 5, 8, 17)
    ),
    layer("conv2d_by_2", Conv2d((2, 2), padding=((0, 1), (2, 1))), (1, 9, 12, 3), (12, 4, 5, 3), (12,)),
    layer("conv2d_of_1", Conv2d((1, 1), padding=SAME), (1, 5, 10, 1), (6, 3, 3, 1), (6,)),
    layer("conv2d_of_dilated_rows", Conv2d(dilation=(2, 1)), (1, 7, 6, 2), (9, 3, 2, 2)),
    layer("conv2d_of_columns", Conv2d(dilation=(1, 3)), (1, 4, 9, 4), (4, 2, 1, 4), (4,)),
    layer("pointwise", Conv2d(activation=Activation.RELU), (1, 3, 13, 24), (40, 1, 1, 24), (40,)),
    layer("pointwise_of_far_pixels", Conv2d(), (1, 2, 5, 600), (8, 1, 1, 600), (8,)),
    *(layer(f"dense_{n}_to_{m}", Dense(RELU6), (1, n), (m, n), (m,)) for n, m in ((1, 1), (9, 7), (33, 50))),
    layer("dense_of_rows", Dense(), (3, 9), (2, 9)),
)
DEPTHWISE = (
    *(
        layer(
            f"depthwise_of_{n}",
            DepthwiseConv2d(padding=SAME, activation=RELU6),
            (1, 4, 7, n),
            (3, 3, n),
            (n,),
        )
        for n in (1, 3, 5, 8, 17, 140)
    ),
    layer("depthwise_by_2", DepthwiseConv2d((2, 2), padding=((0, 1), (2, 1))), (1, 9, 12, 8), (4, 5, 8)),
    layer("depthwise_dilated", DepthwiseConv2d(dilation=(2, 3)), (1, 7, 16, 6), (2, 4, 6), (6,)),
    layer("depthwise_of_columns", DepthwiseConv2d(), (1, 1, 30, 4), (1, 12, 4), (4,)),
)


def flattened() -> OpCase:
    """A dense layer that adds the rows of an image as they come."""
    image = layer("image", Conv2d(), (1, 5, 4, 3), (6, 1, 1, 3), (6,)).graph
    weights, bias = float32_weights(7, 120, seed=3), float32_weights(7, seed=4)
    new = {"w": weights, "bias": bias}
    (conv,) = image.nodes
    nodes = (
        replace(conv, outputs=("made",)),
        Node("flat", Reshape((1, 120)), ("made",), ("flat",)),
        Node("dense", Dense(RELU6), ("flat", "w", "bias"), ("y",)),
    )
    types = {**image.types, "made": image.types["y"], "flat": float32(1, 120), "y": float32(1, 7)}
    types |= {name: each.type for name, each in new.items()}
    constants = {**image.constants, **{name: each.array for name, each in new.items()}}
    return OpCase("flattened", replace(image, nodes=nodes, types=types, constants=constants))


RECURRENT = [
    case
    for case in recurrent_cases.CASES
    if "c_r" in case.graph.constants
    and case.graph.types["x0"].dtype is DType.F32
    and getattr(case.node.op, "cell", None) in (Cell.LSTM, Cell.RNN)
]


def layer_checks(cases: Iterable[OpCase], target: Target) -> list[Check]:
    """Each layer's C gives the bits of its loops."""
    checks = []
    for n, case in enumerate(cases):
        lowered = lower_graph(run_meaning(case.graph).graph, target, CompileOptions())
        model = compiled(case.graph, target, CompileOptions(), f"k{n}")
        samples = samples_of(case)
        checks.append(check_of(case.name, model, samples, [run_lowered(lowered, each) for each in samples]))
    return checks
