"""Limits shared by several ops. Each rule is one sentence, for error messages and for docs/ops.md."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType, TensorType
from aot.ops.op import Constraint, Op, Types, required

Outputs = Sequence[TensorType]


def violations(op: Op, inputs: Types, outputs: Outputs) -> list[str]:
    """Returns '<rule>: <fact about this node>' for the first constraint that the types violate.

    A later constraint may rely on earlier ones, so the search ends at the first violation.
    """
    for constraint in op.constraints:
        fact = constraint.violation(op, inputs, outputs)
        if fact is not None:
            return [f"{constraint.rule}: {fact}"]
    return []


def input_count(least: int, most: int) -> Constraint:
    """Limits the number of inputs; absent optional ones count."""
    wanted = str(least) if least == most else f"{least} to {most}"

    def violation(op: Op, inputs: Types, outputs: Outputs) -> str | None:
        present = all(t is not None for t in inputs[:least])
        return None if least <= len(inputs) <= most and present else f"it has {len(inputs)}"

    return Constraint(f"there must be {wanted} inputs and one output", violation)


def same_dtype_in(*dtypes: DType) -> Constraint:
    """Requires that the data input and the output have one of these element types, the same one."""
    names = " or ".join(d.value for d in dtypes)

    def violation(op: Op, inputs: Types, outputs: Outputs) -> str | None:
        found = [t.dtype for t in (inputs[0], *outputs) if t is not None]
        if set(found) <= set(dtypes) and len(set(found)) == 1:
            return None
        return "they are " + ", ".join(d.value for d in found)

    return Constraint(f"input and output elements must both be {names}", violation)


def rank_is(rank: int) -> Constraint:
    def violation(op: Op, inputs: Types, outputs: Outputs) -> str | None:
        x = inputs[0]
        return None if x is not None and x.rank == rank else f"it has shape {shape_text(x)}"

    return Constraint(f"the input must have {rank} dimensions", violation)


def _quantised(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    for name, tensor in (("input", inputs[0]), *(("output", t) for t in outputs)):
        if tensor is None or tensor.dtype is not DType.I8:
            continue
        if tensor.quant is None:
            return f"the {name} has no quantization"
        if tensor.quant.is_per_channel:
            return f"the {name} has {len(tensor.quant.scales)} scales"
    return None


INT8_IS_QUANTISED = Constraint(
    "i8 inputs and outputs must be quantized with one scale and one zero point", _quantised
)


def _batch(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x = inputs[0]
    return None if x is not None and x.shape[0] == 1 else f"it has shape {shape_text(x)}"


BATCH_IS_ONE = Constraint("the batch (first dimension of the input) must be 1", _batch)


def _window_fits(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    ((_, shape),) = op.infer(inputs)
    rows, columns = shape[1:3]
    return None if rows > 0 and columns > 0 else f"the result would have {rows} rows, {columns} columns"


WINDOW_FITS = Constraint("the window must fit into the padded image", _window_fits)


_INTEGERS = (DType.I8, DType.I16)  # of data and weights


def _sum_types(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x, y = inputs[0], outputs[0]
    if x is None or (x.dtype in _INTEGERS and y.dtype in _INTEGERS) or x.dtype is y.dtype is DType.F32:
        return None
    return f"they are {x.dtype.value}, {y.dtype.value}"


SUM_TYPES = Constraint("input and output elements must both be integers (i8 or i16) or both f32", _sum_types)


def _integers_quantised(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    for name, tensor in (("input", inputs[0]), ("output", outputs[0])):
        if tensor is not None and tensor.dtype in _INTEGERS and (fact := _one_scale(tensor)) is not None:
            return f"the {name} has {fact}"
    return None


def _one_scale(tensor: TensorType) -> str | None:
    if tensor.quant is None:
        return "no quantization"
    return f"{len(tensor.quant.scales)} scales" if tensor.quant.is_per_channel else None


INTEGERS_ARE_QUANTISED = Constraint(
    "i8 and i16 inputs and outputs must be quantized with one scale and one zero point", _integers_quantised
)


def _weights(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x, w = inputs[0], inputs[1]
    if x is None or w is None or w.dtype is x.dtype or {x.dtype, w.dtype} <= set(_INTEGERS):
        return None
    return f"the input is {x.dtype.value}, the weights are {w.dtype.value}"


WEIGHTS_LIKE_INPUT = Constraint("weights must be i8 or i16 if the input is, else f32", _weights)


def _weights_or_steps(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x, w = inputs[0], inputs[1]
    is_hybrid = x is not None and w is not None and (x.dtype, w.dtype) == (DType.F32, DType.I8)
    return None if is_hybrid else _weights(op, inputs, outputs)


WEIGHTS_MAY_BE_STEPS = Constraint(
    "weights must be i8 or i16 if the input is, else f32 or i8", _weights_or_steps
)


def _bias(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x, b = inputs[0], inputs[2] if len(inputs) > 2 else None
    if x is None or b is None:
        return None
    wanted = (DType.I32, DType.I64) if x.dtype in _INTEGERS else (x.dtype,)
    return None if b.dtype in wanted else f"the input is {x.dtype.value}, the bias is {b.dtype.value}"


BIAS_FITS_INPUT = Constraint("the bias must be i32 or i64 for integer inputs and f32 for f32 inputs", _bias)


def bias_per_channel(channel_axis: int) -> Constraint:
    """Requires one bias per output channel; `channel_axis` is the weights' axis of output channels."""

    def violation(op: Op, inputs: Types, outputs: Outputs) -> str | None:
        w, b = inputs[1], inputs[2] if len(inputs) > 2 else None
        if w is None or b is None or b.shape == (w.shape[channel_axis],):
            return None
        return f"it has shape {shape_text(b)}, there are {w.shape[channel_axis]} channels"

    return Constraint("the bias must be 1-d with one element for each output channel", violation)


def weights_are_symmetric(channel_axis: int) -> Constraint:
    """Requires that quantized weights have zero point 0 and one scale, or one per output channel."""

    def violation(op: Op, inputs: Types, outputs: Outputs) -> str | None:
        w = inputs[1]
        if w is None or w.dtype not in _INTEGERS:
            return None
        if w.quant is None:
            return "they have no quantization"
        if any(w.quant.zero_points):
            return f"zero point {next(z for z in w.quant.zero_points if z)}"
        if w.quant.axis not in (None, channel_axis):
            return f"scales along dimension {w.quant.axis} of shape {shape_text(w)}"
        return None

    return Constraint(
        "i8 and i16 weights must have zero point 0 and one scale, or one scale for each output channel",
        violation,
    )


def _rescale(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x, w, y = inputs[0], inputs[1], outputs[0]
    if x is None or w is None or x.quant is None or w.quant is None or y.quant is None:
        return None
    largest = x.quant.scale * max(w.quant.scales) / y.quant.scale
    return None if largest < MAX_RESCALE else f"it is {largest:.3g}"


# The references shift left by the exponent of the factor, in 32 bits.
MAX_RESCALE = 2.0**30
RESCALE_FITS = Constraint("input scale * weight scale / output scale must be below 2**30", _rescale)


def of_weighted_sums(
    rank: int, weights: Constraint, *shapes: Constraint, channel_axis: int
) -> tuple[Constraint, ...]:
    """Returns the limits of a layer that sums inputs times weights, and adds an optional bias.

    `shapes` are the limits of its own shapes; `channel_axis` is the weights' axis of output channels.
    """
    return (
        input_count(2, 3),
        SUM_TYPES,
        weights,
        BIAS_FITS_INPUT,
        rank_is(rank),
        *shapes,
        INTEGERS_ARE_QUANTISED,
        bias_per_channel(channel_axis),
        weights_are_symmetric(channel_axis),
        RESCALE_FITS,
    )


def _same_dtype(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x, (y,) = required(inputs[0]), outputs
    return None if x.dtype is y.dtype else f"{x.dtype.value} would become {y.dtype.value}"


DTYPE_IS_KEPT = Constraint("the element type must stay the same", _same_dtype)


def _same_quant(op: Op, inputs: Types, outputs: Outputs) -> str | None:
    x, (y,) = inputs[0], outputs
    if x is None or x.quant is None or y.quant is None:
        return None
    if x.quant.zero_point == y.quant.zero_point and abs(x.quant.scale - y.quant.scale) < 1e-6:
        return None
    return (
        f"scale {x.quant.scale:.6g}, zero point {x.quant.zero_point} become "
        f"scale {y.quant.scale:.6g}, zero point {y.quant.zero_point}"
    )


QUANTISATION_IS_KEPT = Constraint("input and output must have the same quantization", _same_quant)


def shape_text(tensor: TensorType | None) -> str:
    """Formats a shape, such as 1x8x8x3."""
    return "unknown" if tensor is None else "x".join(map(str, tensor.shape)) or "scalar"
