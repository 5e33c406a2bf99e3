"""FULLY_CONNECTED with weights computed in the run: a product, then bias and activation."""

from __future__ import annotations

from aot.frontend.tflite.draft import TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add
from aot.ops.dense import Dense
from aot.ops.rounding import rounding_of, rounding_of_i16
from aot.ops.unary import Clamp


def import_computed_weights(
    draft: TfliteDraft, operator: TfliteOperator, x: str, w: str, activation: Activation
) -> None:
    """Supports floats, and integers without a bias, because no op adds one before rounding."""
    outputs, depth = read.with_rank(draft, operator, w, 2).shape
    declared = draft.types[read.the_output(operator)]
    if draft.types[x].elements % depth or declared.elements != draft.types[x].elements // depth * outputs:
        raise operator.fail(
            f'its input "{x}" has {draft.types[x].elements} elements; the weights map rows of {depth} '
            f"to {outputs} elements, the file declares {list(declared.shape)}"
        )
    bias = _bias(draft, operator, outputs)
    is_wide = draft.types[x].dtype is DType.I16
    op = BatchMatmul(
        y_transposed=True,
        rounding=(rounding_of_i16 if is_wide else rounding_of)(Dense.name, draft.rounding),
        result=None if declared.dtype is draft.types[x].dtype else declared.dtype,
    )
    rows = draft.types[x].elements // depth
    matrices = (
        read.reshaped(draft, operator, x, (1, 1, rows, depth)),
        read.reshaped(draft, operator, w, (1, 1, outputs, depth)),
    )
    made = (1, 1, rows, outputs)
    if bias is None and activation is Activation.NONE:
        read.reshaped_result(draft, operator, op, matrices, made)
        return
    product = read.value_like(draft, f"{operator.label}/product", declared, made)
    draft.add_node(operator, op, matrices, product)
    if bias is None:
        read.reshaped_result(draft, operator, Clamp(activation), (product,), made)
        return
    each = read.reshaped(draft, operator, bias, (1, 1, 1, outputs))
    read.reshaped_result(draft, operator, Add(activation), (product, each), made)


def _bias(draft: TfliteDraft, operator: TfliteOperator, outputs: int) -> str | None:
    """Returns the bias, constant or computed; None if it is absent or all zeros."""
    name = read.optional_operand(operator, 2)
    if name is None or (name in draft.constants and not draft.constants[name].any()):
        return None
    tensor = draft.types[name]
    if tensor.elements != outputs:
        raise operator.fail(
            f'its bias "{name}" has {tensor.elements} elements, there are {outputs} output channels'
        )
    if tensor.dtype is not DType.F32:
        raise operator.fail(
            f'its weights "{operator.inputs[1]}" are computed and its bias "{name}" is not 0: '
            "integer layers with computed weights support no bias",
            "add the bias in a separate ADD after the layer, or freeze the weights",
        )
    return name
