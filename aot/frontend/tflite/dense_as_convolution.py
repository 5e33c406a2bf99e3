"""Writes a dense layer as a 1x1 convolution: the same sums, with scales multiplied differently.

LiteRT, and compilers that follow it, multiply the scales of FULLY_CONNECTED in single precision and those of
CONV_2D in double. TensorFlow Lite Micro, which is the reference here, uses double for both.
"""

from __future__ import annotations

import tflite

from aot.frontend.tflite.operators import ACTIVATIONS, bias_of
from aot.frontend.tflite.unsigned import as_bytes
from aot.frontend.tflite.write_file import Sheet, input_of, view
from aot.ir.graph import Node
from aot.ir.types import TensorType
from aot.ops.dense import Dense


def write_dense(sheet: Sheet, node: Node) -> str | None:
    """Writes [N, K] as N pixels of K channels. Returns the reason if no such convolution exists."""
    op = node.op_as(Dense)
    x, y = sheet.type(input_of(node)), sheet.type(node.outputs[0])
    w, data = sheet.type(input_of(node, 1)), sheet.array(input_of(node, 1))
    stored = None if data is None else as_bytes(w, data)
    if stored is None:
        return "its weights are not constants of bytes"
    if op.activation not in ACTIVATIONS:
        return f"its activation {op.activation.value}"
    w, data = stored
    (rows, depth), channels = x.shape, w.shape[0]
    filters = (channels, 1, 1, depth)
    weights = sheet.tensor(input_of(node, 1), TensorType(w.dtype, filters, w.quant), data.reshape(filters))
    pixels = TensorType(x.dtype, (1, 1, rows, depth), x.quant)
    source = sheet.tensor(f"{node.name}/pixels", pixels)
    target = sheet.tensor(f"{node.name}/results", TensorType(y.dtype, (1, 1, rows, channels), y.quant))
    view(sheet, sheet.value(input_of(node)), source, pixels.shape)
    sheet.operator(
        "CONV_2D",
        3,
        (source, weights, bias_of(sheet, node, w, channels)),
        target,
        "Conv2DOptions",
        Padding=int(tflite.Padding.VALID),
        StrideH=1,
        StrideW=1,
        DilationHFactor=1,
        DilationWFactor=1,
        FusedActivationFunction=ACTIVATIONS[op.activation],
    )
    view(sheet, target, sheet.value(node.outputs[0]), y.shape)
    return None
