"""FULLY_CONNECTED with weights computed in the run: a product, then bias and activation."""

from __future__ import annotations

from aot.frontend.tflite.operation import TfliteOperator
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add
from aot.ops.dense import Dense
from aot.ops.rounding import rounding_of, rounding_of_i16
from aot.ops.unary import Clamp


def import_computed_weights(node: TfliteOperator, x: str, w: str, activation: Activation) -> None:
    """Supports floats, and integers without a bias, because no op adds one before rounding."""
    outputs, depth = node.with_rank(w, 2).shape
    declared = node.tensor(node.the_output)
    if node.tensor(x).elements % depth or declared.elements != node.tensor(x).elements // depth * outputs:
        raise node.fail(
            f'its input "{x}" has {node.tensor(x).elements} elements; the weights map rows of {depth} '
            f"to {outputs} elements, the file declares {list(declared.shape)}"
        )
    bias = _bias(node, outputs)
    is_wide = node.tensor(x).dtype is DType.I16
    op = BatchMatmul(
        y_transposed=True,
        rounding=(rounding_of_i16 if is_wide else rounding_of)(Dense.name, node.draft.rounding),
        result=None if declared.dtype is node.tensor(x).dtype else declared.dtype,
    )
    rows = node.tensor(x).elements // depth
    matrices = (
        node.reshaped(x, (1, 1, rows, depth)),
        node.reshaped(w, (1, 1, outputs, depth)),
    )
    made = (1, 1, rows, outputs)
    if bias is None and activation is Activation.NONE:
        node.reshaped_result(op, matrices, made)
        return
    product = node.value_like(f"{node.label}/product", declared, made)
    node.add_node(op, matrices, product)
    if bias is None:
        node.reshaped_result(Clamp(activation), (product,), made)
        return
    each = node.reshaped(bias, (1, 1, 1, outputs))
    node.reshaped_result(Add(activation), (product, each), made)


def _bias(node: TfliteOperator, outputs: int) -> str | None:
    """Returns the bias, constant or computed; None if it is absent or all zeros."""
    name = node.optional_operand(2)
    if name is None or (name in node.draft.constants and not node.array(name).any()):
        return None
    tensor = node.tensor(name)
    if tensor.elements != outputs:
        raise node.fail(
            f'its bias "{name}" has {tensor.elements} elements, there are {outputs} output channels'
        )
    if tensor.dtype is not DType.F32:
        raise node.fail(
            f'its weights "{node.inputs[1]}" are computed and its bias "{name}" is not 0: '
            "integer layers with computed weights support no bias",
            "add the bias in a separate ADD after the layer, or freeze the weights",
        )
    return name
