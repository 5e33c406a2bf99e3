"""Elements moved into a result with another scale or zero point: rescaled, copied or rejected.

Follows the references. LiteRT rescales unsigned parts of a concatenation. It rejects other cases, which
TFLite Micro copies unchanged; cases that neither runs are rejected here as well.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.operation import TfliteOperator
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.lookup import Lookup

_UNSIGNED_OFFSET = 128  # unsigned bytes are read as signed ones, minus this

# By operator: the file's element types that neither LiteRT nor TFLite Micro moves to another quantization.
_REFUSED = {
    "BATCH_TO_SPACE_ND": ("u8", "i16"),
    "CONCATENATION": ("i8",),
    "MIRROR_PAD": ("u8", "i16"),
    "PACK": ("u8",),
    "PADV2": ("u8", "i8"),
    "SPACE_TO_BATCH_ND": ("u8", "i16"),
    "UNPACK": ("u8",),
}


def require_movable(node: TfliteOperator, x: str, output: str) -> None:
    """Raises ModelError if neither reference copies the elements of x unchanged to the output."""
    source, target = node.tensor(x), node.tensor(output)
    is_unsigned = x in node.draft.unsigned
    dtype = "u8" if is_unsigned else source.dtype.value
    if _is_same(source, target) or dtype not in _REFUSED.get(node.code, ()):
        return
    raise node.fail(
        f"{_told(x, source, is_unsigned)} and {_told(output, target, is_unsigned)}; "
        f"neither LiteRT nor TFLite Micro converts {dtype} elements between the two",
        "convert the model again, so that both have the same scale and zero point",
    )


def rescaled(node: TfliteOperator, x: str, output: str) -> str:
    """Returns a part of a concatenation at the scale of the whole; x itself if they are equal."""
    source, target = node.tensor(x), node.tensor(output)
    if x not in node.draft.unsigned or _is_same(source, target):
        return x
    assert source.quant is not None
    assert target.quant is not None
    entries = rescaling_table(source.quant, target.quant)
    table = node.add_value(f"{x}/table", TensorType(DType.I8, entries.shape), entries)
    result = node.add_value(f"{x}/rescaled", replace(source, quant=target.quant))
    node.add_node(Lookup(), (x, table), result)
    return result


def rescaling_table(source: Quant, target: Quant) -> Array:
    """Returns the result for each signed byte in order, computed in single precision like LiteRT."""
    scale = np.float32(source.scales[0]) * (np.float32(1) / np.float32(target.scales[0]))
    bias = np.float32(-(source.zero_points[0] + _UNSIGNED_OFFSET)) * scale
    floats = (np.arange(256, dtype=np.float32) * scale + bias).astype(np.float64)
    nearest = np.copysign(np.floor(np.abs(floats) + 0.5), floats)
    table: Array = np.clip(nearest + target.zero_points[0], *DType.I8.limits).astype(np.int8)
    return table


def _is_same(source: TensorType, target: TensorType) -> bool:
    if source.quant is None or target.quant is None:
        return True  # plain integers have no scales to differ
    return _first(source.quant) == _first(target.quant)


def _first(quant: Quant) -> tuple[float, int]:
    return quant.scales[0], quant.zero_points[0]


def _told(name: str, tensor: TensorType, is_unsigned: bool) -> str:
    """Describes a tensor's scale and zero point with the numbers of the file."""
    assert tensor.quant is not None
    scale, zero_point = _first(tensor.quant)
    shown = zero_point + (_UNSIGNED_OFFSET if is_unsigned else 0)
    return f'"{name.removesuffix("/signed")}" has scale {scale:.6g} and zero point {shown}'
