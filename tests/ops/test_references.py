"""Every op's reference does what its types promise and agrees with the plain definition in floats."""

import importlib
from collections.abc import Iterator

import numpy as np
import pytest
from op_case import OpCase

from aot.interpret import run_graph
from aot.ir.types import Array, DType, TensorType
from aot.ir.verify import verify
from aot.ops import OPS
from aot.ops.activation import integer_clamp
from aot.ops.op import Op


def all_cases() -> Iterator[OpCase]:
    for stem in sorted({op.__module__.removeprefix("aot.ops.") for op in OPS.values()}):
        yield from importlib.import_module(f"{stem}_cases").CASES


CASES = {case.name: case for case in all_cases()}
INT8 = {
    name: case
    for name, case in CASES.items()
    if case.graph.types["y"].dtype is DType.I8 and case.graph.types["y"].quant is not None
}


_WITH_MACS = {
    "batch_matmul",
    "cached_attention",
    "contract",
    "conv2d",
    "depthwise_conv2d",
    "dense",
    "energy",
    "fft",
} | {
    "hybrid_dense",
    "conv2d+add",
    "filter_bank",
    "recurrent",
    "real_samples",
    "real_spectrum",
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_case_keeps_the_rules_and_gives_what_its_types_and_costs_promise(case):
    verify(case.graph)
    y, declared = run_graph(case.graph, case.inputs())["y"], case.graph.types["y"]
    assert (y.dtype, y.shape) == (declared.dtype.numpy, declared.shape)
    if case.name in INT8:
        assert y.size < 3 or len(np.unique(y)) > 1 or case.name == "softmax_fine_scale", (
            "its random inputs give one value only, which tests nothing"
        )
    check_costs(case)


def check_costs(case: OpCase) -> None:
    """Every result costs something, and what multiplies has multiplications."""
    node = case.node
    cost = node.op.cost(case.graph.input_types(node), case.graph.output_types(node))
    is_free = node.op.name == "reshape"
    assert is_free or cost.elementwise >= case.graph.types["y"].elements
    multiplies = node.op.name in _WITH_MACS or case.name == "loop_dense"
    assert (cost.macs > 0) == (multiplies and case.name != "energy_none")


def in_reals(case: OpCase, inputs: dict[str, Array]) -> Array:
    """The float32 meaning of the same op on the dequantised operands."""
    node, types = case.node, case.graph.types
    arrays, real_types = [], []
    for name in node.inputs:
        stored = None if name is None else inputs.get(name, case.graph.constants.get(name))
        arrays.append(None if stored is None or name is None else dequantised(stored, types[name], case))
        real_types.append(None if name is None else TensorType(DType.F32, types[name].shape))
    out = TensorType(DType.F32, types["y"].shape)
    (y,) = node.op.reference(arrays, real_types, (out,))
    return y


def dequantised(stored: Array, tensor: TensorType, case: OpCase) -> Array:
    if tensor.dtype is DType.I32:  # a bias is in * w by definition
        (x, *_), w = case.graph.inputs, case.node.inputs[1]
        scales = np.array(case.graph.types[w].quant.scales) * case.graph.types[x].quant.scale  # type: ignore[index,union-attr]
        return np.asarray(stored * scales)  # type: ignore[operator]
    assert tensor.quant is not None
    shape = [1] * tensor.rank
    if tensor.quant.axis is not None:
        shape[tensor.quant.axis] = -1
    scales = np.array(tensor.quant.scales).reshape(shape)
    return np.asarray(
        (stored.astype(np.float64) - np.array(tensor.quant.zero_points).reshape(shape)) * scales
    )


# Their operands or results are stored integers and nothing else: there is no result in floats.
STORED = ("gather", "gather_nd", "lookup", "pad", "quantize", "select", "update_slice", "write_rows")
# The only reference for running sums begins them with the stored number 0, whatever the zero point is.
# Sums that leave 32 bits wrap around in the reference.
AS_IT_IS = ("cumulate_int8_zero", "depthwise_sums_that_wrap")
REAL = {n: case for n, case in INT8.items() if case.node.op.name not in STORED and n not in AS_IT_IS}


@pytest.mark.parametrize("case", REAL.values(), ids=REAL)
def test_integers_are_the_real_result_rounded_to_the_next_step(case):
    inputs = case.inputs()
    y, quant = run_graph(case.graph, inputs)["y"], case.graph.types["y"].quant
    assert quant is not None
    op: Op = case.node.op
    low, high = (
        integer_clamp(op.activation, case.graph.types["y"]) if hasattr(op, "activation") else (-128, 127)
    )
    floats = in_reals(case, inputs)
    wanted = np.clip(floats / quant.scale + quant.zero_point, low, high)
    assert np.abs(y - wanted)[np.isfinite(floats)].max() <= 1.01


def test_no_two_cases_have_one_name():
    assert len(CASES) == len(list(all_cases()))
