"""Kernels on floats are near their references: as loop nests, and as C on this computer."""

import importlib

import numpy as np
import pytest
from model_checks import DSP, PLAIN, compiled, samples_of
from op_case import OpCase, float32, float32_weights, op_case
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.types import Array, DType
from aot.ops import OPS
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.mean import COLUMNS, ROWS, Mean
from aot.ops.softmax import Softmax
from aot.ops.unary import HardSwish, Logistic, Tanh
from aot.passes.pipeline import run_meaning
from aot.target import Feature, Target
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions
from platforms.shared_library import build

WITH_FPU = Target("cortex-m33", frozenset({Feature.FPU, Feature.UNALIGNED}))
NEAR = 1e-5  # of the largest result
IMAGE = (1, 5, 6, 3)
PADS = ((1, 0), (2, 1))


def case(name: str, op: object, shape: tuple[int, ...], *weights: tuple[int, ...]) -> OpCase:
    constants = [float32_weights(*w, seed=seed) for seed, w in enumerate(weights)]
    return op_case(f"{name}_reals", op, [float32(*shape)], float32(), constants)  # type: ignore[arg-type]


TILED = (  # as an FPU has them: tiles with something left over, windows written out and not
    case("conv2d_of_tiles", Conv2d(activation=Activation.RELU6), (1, 2, 9, 17), (7, 1, 1, 17), (7,)),
    case("conv2d_of_strides", Conv2d((1, 2), (1, 1), PADS), (1, 4, 11, 1), (5, 3, 3, 1), (5,)),
    case("depthwise_of_tiles", DepthwiseConv2d(padding=((1, 1), (1, 1))), (1, 3, 13, 5), (3, 3, 5), (5,)),
    case("depthwise_of_many_taps", DepthwiseConv2d((1, 2), multiplier=2), (1, 5, 17, 1), (5, 5, 2)),
    case("depthwise_of_one_pixel", DepthwiseConv2d(), (1, 4, 1, 3), (4, 1, 3), (3,)),
)
WRITTEN = (
    case("conv2d", Conv2d(padding=PADS, activation=Activation.RELU), IMAGE, (6, 3, 2, 3), (6,)),
    case("conv2d_dilated", Conv2d((2, 1), (1, 2), ((1, 1), (2, 2))), IMAGE, (5, 3, 2, 3)),
    case("conv2d_one", Conv2d(), (1, 1, 1, 3), (2, 1, 1, 3), (2,)),
    case("depthwise_conv2d", DepthwiseConv2d((2, 1), (1, 1), PADS), IMAGE, (2, 3, 3), (3,)),
    case("depthwise_multiplied", DepthwiseConv2d(multiplier=2), IMAGE, (2, 3, 6), (6,)),
    *TILED,
    case("dense", Dense(Activation.RELU6), (1, 9), (7, 9), (7,)),
    case("dense_of_rows", Dense(), (3, 9), (2, 9)),
    case("average_pool2d", AveragePool2d((2, 3), (1, 2), PADS), IMAGE),
    case("average_pool2d_of_all", AveragePool2d((5, 6), (1, 1), activation=Activation.RELU), IMAGE),
    case("max_pool2d", MaxPool2d((2, 3), (1, 2), PADS), IMAGE),
    case("max_pool2d_clamped", MaxPool2d((2, 2), activation=Activation.RELU_N1_TO_1), IMAGE),
    case("softmax", Softmax(0.7), (3, 9)),
    case("softmax_of_pixels", Softmax(), IMAGE),
    case("mean", Mean(), IMAGE),
    case("mean_of_rows", Mean((ROWS,)), IMAGE),
    case("mean_of_columns", Mean((COLUMNS,)), IMAGE),
    case("logistic", Logistic(), IMAGE),
    case("tanh", Tanh(), IMAGE),
    case("hard_swish", HardSwish(), IMAGE),
)


def f32_cases() -> dict[str, OpCase]:
    """These, and what tests/ops has."""
    stems = sorted({op.__module__.removeprefix("aot.ops.") for op in OPS.values()} - {"reshape"})
    others = [c for stem in stems for c in importlib.import_module(f"{stem}_cases").CASES]
    types = {c.name: {c.graph.types["x0"].dtype, c.graph.types["y"].dtype} for c in others}
    return {c.name: c for c in (*WRITTEN, *(c for c in others if types[c.name] == {DType.F32}))}


CASES = f32_cases()


def is_near(made: Array, wanted: Array) -> bool:
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-30)
    with np.errstate(invalid="ignore"):
        near = np.abs(made - wanted) <= NEAR * largest  # type: ignore[operator]
    return bool((near | (made == wanted) | (np.isnan(made) & np.isnan(wanted))).all())


@pytest.mark.parametrize("name", CASES)
def test_a_loop_nest_on_reals_is_near_the_reference(name):
    graph = CASES[name].graph
    lowered = lower_graph(run_meaning(graph).graph, DSP, CompileOptions())
    for inputs in samples_of(CASES[name]):
        assert is_near(run_lowered(lowered, inputs)["y"], run_graph(graph, inputs)["y"])


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "target"),
    [*((name, PLAIN) for name in CASES), *((case.name, WITH_FPU) for case in WRITTEN)],
    ids=lambda value: value if isinstance(value, str) else value.core,
)
def test_c_on_reals_is_near_the_reference(name, target, tmp_path):
    graph = CASES[name].graph
    host = build(compiled(graph, target, CompileOptions(), "reals").sources, tmp_path)
    for inputs in samples_of(CASES[name]):
        host.arenas[0][:] = 0xA5
        assert is_near(host.run(inputs)["y"], run_graph(graph, inputs)["y"])
