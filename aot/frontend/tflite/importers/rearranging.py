"""Nodes that importers add to move elements: by strides, image by image, transposed constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np

from aot.frontend.builder import rearrangement
from aot.frontend.tflite.draft import FOR_RECURRENT_LAYERS
from aot.frontend.tflite.operation import TfliteOperator
from aot.ir.types import Array, DType, Quant, TensorType, dense_strides
from aot.ops.concat import Concat
from aot.ops.lookup import Lookup
from aot.ops.op import Op
from aot.ops.pad import Pad
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.reshape import Reshape

Shape = tuple[int, ...]


def transposed_constant(node: TfliteOperator, name: str, seen: Shape, order: Shape, shape: Shape) -> str:
    """Returns the constant viewed in one shape, transposed, and viewed in another shape."""
    array = node.array(name).reshape(seen).transpose(order).reshape(shape)
    tensor = replace(node.tensor(name), shape=shape)
    return node.add_value(f"{name}/ordered", tensor, np.ascontiguousarray(array))


def rearrange(node: TfliteOperator, x: str, loops: Loops, output: str) -> None:
    """Sets `output` to the elements of x that the loops select, in order."""
    declared = node.tensor(output)
    if 0 in loops.sizes:
        raise node.fail(
            f"it makes shape {list(loops.sizes)}, which has no elements (an empty list)",
            FOR_RECURRENT_LAYERS,
        )
    if min(loops.sizes, default=1) < 1 or prod(loops.sizes) != declared.elements:
        raise node.fail(
            f"it makes shape {list(loops.sizes)}, the file declares {list(declared.shape)}",
            "models need static shapes: convert with a fixed input shape",
        )
    found = rearrangement(node.tensor(x), loops, declared.shape)
    if found is None:
        node.add_node(Reshape(declared.shape), (x,), output)
        return
    seen = node.reshaped(x, found.source)
    node.reshaped_into(found.op, (seen,), found.op.shape, output)


def repeated(node: TfliteOperator, shape: tuple[int, ...], whole: tuple[int, ...]) -> Loops:
    """Returns loops that broadcast one shape to another."""
    ranked = (1,) * (len(whole) - len(shape)) + shape
    if len(ranked) != len(whole) or any(a not in (1, b) for a, b in zip(ranked, whole, strict=True)):
        raise node.fail(f"shape {list(shape)} cannot be repeated to {list(whole)}")
    strides = dense_strides(ranked)
    return Loops(whole, tuple(0 if a == 1 else s for a, s in zip(ranked, strides, strict=True)))


def with_holes(node: TfliteOperator, x: str, steps: Sequence[int], fill: float) -> str:
    """Returns x with elements of one value between its own: neighbors in an axis are its step apart."""
    for axis, step in enumerate(steps):
        tensor = node.tensor(x)
        before, size, after = (prod(tensor.shape[:axis]), tensor.shape[axis], prod(tensor.shape[axis + 1 :]))
        if step == 1 or size == 1:
            continue
        rows = node.reshaped(x, (1, before * size, 1, after))
        wide = node.value_like(f"{x}/spread", tensor, (1, before * size, step, after))
        node.add_node(Pad(((0, 0), (0, step - 1)), fill), (rows,), wide)
        made = (size - 1) * step + 1
        x = node.value_like(f"{x}/holes", tensor, (*tensor.shape[:axis], made, *tensor.shape[axis + 1 :]))
        kept = Loops((before, made * after), (size * step * after, 1))
        rearrange(node, wide, kept, x)
    return x


MOST_IMAGES = 64  # of a batch: each adds layers


def by_images(
    node: TfliteOperator,
    op: Op,
    x: str,
    others: Sequence[str | None],
    output: str = "",
) -> None:
    """Applies the op, which accepts one image, to each image of x and joins the results in the output."""
    output = output or node.the_output
    images, declared = node.tensor(x).shape[0], node.tensor(output)
    if not 1 < images <= MOST_IMAGES or declared.rank == 0 or declared.shape[0] != images:
        node.add_node(op, (x, *others), output)
        return
    parts = []
    size, made = prod(node.tensor(x).shape[1:]), (1, *declared.shape[1:])
    flat = node.reshaped(x, (1, images * size))
    for number in range(images):
        part = node.value_like(f"{x}/{number}", node.tensor(x), (1, size))
        node.add_node(Rearrange((1, size), (size,), (1,), number * size), (flat,), part)
        image = node.reshaped(part, (1, *node.tensor(x).shape[1:]))
        result = node.value_like(f"{output}/{number}", declared, made)
        node.add_node(op, (image, *others), result)
        parts.append(node.reshaped(result, (1, prod(made))))
    whole = node.value_like(f"{output}/images", declared, (1, declared.elements))
    node.add_node(Concat(1), parts, whole)
    node.add_node(Reshape(declared.shape), (whole,), output)


# Elements moved into a result with another scale or zero point: rescaled, copied or rejected.
#
# Follows the references. LiteRT rescales unsigned parts of a concatenation. It rejects other cases, which
# TFLite Micro copies unchanged; cases that neither runs are rejected here as well.


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
