"""The table of roundings: complete, true to what ops take, and different where the references differ."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from op_case import OpCase
from test_references import CASES

from aot.ir.types import DType, TensorType
from aot.ops import OPS
from aot.ops.constraints import violations
from aot.ops.op import Types
from aot.ops.rounding import MEANINGS, MODES, ROUNDING, TRANSPOSED_NARROW, RequantRounding, scales_in_single
from codegen.kernels.table import KERNELS


def test_every_op_has_rows_and_every_row_every_mode():
    assert set(ROUNDING) == set(OPS)
    rows = [row for by_elements in ROUNDING.values() for row in by_elements.values()]
    assert [row for row in rows if tuple(row) != MODES] == []


def test_every_rounding_has_a_meaning():
    used = {rounding for rows in ROUNDING.values() for row in rows.values() for rounding in row.values()}
    assert {rounding.value for rounding in used} == {rounding.value for rounding in MEANINGS}


@pytest.mark.parametrize("op_name", sorted(OPS))
def test_rows_are_of_the_element_types_that_constraints_let_in(op_name):
    taken = {dtype for case in CASES.values() if case.node.op.name == op_name for dtype in _taken(case)}
    kernel = KERNELS.get(op_name)
    served = {dtype.value for dtype in (DType if kernel is None else kernel.dtypes)}
    assert {elements.split(",")[0] for elements in ROUNDING[op_name]} == taken & served


def _taken(case: OpCase) -> Iterator[str]:
    """The element types that the case might have in its place, with quantisation or without."""
    inputs, outputs = case.graph.input_types(case.node), case.graph.output_types(case.node)
    data = inputs[1 if case.node.op.name == "select" else 0]
    assert data is not None
    for dtype in DType:
        alike = [_retyped(t, data.dtype, dtype) for t in inputs]
        alone = [replace(t, dtype=dtype) if t is data else t for t in inputs]
        made = [replace(t, dtype=dtype) if t.dtype is data.dtype else t for t in outputs]
        forms = [(reads, writes) for reads in (alike, alone) for writes in (made, outputs)]
        if any(_fits(case, *form) or _fits(case, *map(_unscaled, form)) for form in forms):
            yield dtype.value


def _retyped(tensor: TensorType | None, old: DType, new: DType) -> TensorType | None:
    return tensor if tensor is None or tensor.dtype is not old else replace(tensor, dtype=new)


def _unscaled(tensors: Types) -> Types:
    return [None if t is None else replace(t, quant=None) for t in tensors]


def _fits(case: OpCase, inputs: Types, outputs: Types) -> bool:
    op, results = case.node.op, [t for t in outputs if t is not None]
    if [(t.dtype.value, t.shape) for t in results] != list(op.infer(inputs)):
        return False
    return not violations(op, inputs, results)


def test_only_dense_layers_of_tflite_round_once_and_only_as_litert_does():
    once = _where(RequantRounding.SINGLE)
    assert {(op, mode) for op, _, mode in once if mode != "onnx"} == {("dense", "litert-ref")}
    sums = {op for op, elements, _ in _where(RequantRounding.DOUBLE) if elements == "i8"}
    of_onnx = {op for op, elements, mode in once if (elements, mode) == ("i8", "onnx")}
    assert of_onnx == {*sums, "mul"}  # ONNX Runtime multiplies in floats


def test_sums_of_16_bits_are_cut_but_beside_a_bias_of_32():
    cut = {(op, elements) for op, elements, mode in _where(RequantRounding.REDUCED) if mode == "tflm"}
    layers = ("batch_matmul", "conv2d", "dense", "depthwise_conv2d", "recurrent")
    assert {elements for op, elements in cut if op == "conv2d"} == {
        "i16",
        "i16, transposed",
        TRANSPOSED_NARROW,
    }
    assert {op for op, elements in cut if elements == "i16"} == set(layers)


def test_litert_multiplies_scales_in_single_precision_in_three_ops():
    found = [
        (op, mode) for op in ("mul", "prelu", "leaky_relu") for mode in MODES if scales_in_single(op, mode)
    ]
    assert found == [(op, "litert-ref") for op in ("mul", "prelu", "leaky_relu")]


def _where(rounding: RequantRounding) -> Sequence[tuple[str, str, str]]:
    return [
        (op, elements, mode)
        for op, rows in ROUNDING.items()
        for elements, row in rows.items()
        for mode, how in row.items()
        if how is rounding
    ]
