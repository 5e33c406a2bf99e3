"""Batches of images: processed image by image, because ops on images accept one."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from aot.frontend.tflite.draft import TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ops.concat import Concat
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape

MOST_IMAGES = 64  # of a batch: each adds layers


def by_images(
    draft: TfliteDraft,
    operator: TfliteOperator,
    op: Op,
    x: str,
    others: Sequence[str | None],
    output: str = "",
) -> None:
    """Applies the op to each image of x and joins the results in the output (by default, the operator's)."""
    output = output or read.the_output(operator)
    images, declared = draft.types[x].shape[0], draft.types[output]
    if not 1 < images <= MOST_IMAGES or declared.rank == 0 or declared.shape[0] != images:
        draft.add_node(operator, op, (x, *others), output)
        return
    parts = []
    size, made = prod(draft.types[x].shape[1:]), (1, *declared.shape[1:])
    flat = read.reshaped(draft, operator, x, (1, images * size))
    for number in range(images):
        part = read.value_like(draft, f"{x}/{number}", draft.types[x], (1, size))
        draft.add_node(operator, Rearrange((1, size), (size,), (1,), number * size), (flat,), part)
        image = read.reshaped(draft, operator, part, (1, *draft.types[x].shape[1:]))
        result = read.value_like(draft, f"{output}/{number}", declared, made)
        draft.add_node(operator, op, (image, *others), result)
        parts.append(read.reshaped(draft, operator, result, (1, prod(made))))
    whole = read.value_like(draft, f"{output}/images", declared, (1, declared.elements))
    draft.add_node(operator, Concat(1), parts, whole)
    draft.add_node(operator, Reshape(declared.shape), (whole,), output)
