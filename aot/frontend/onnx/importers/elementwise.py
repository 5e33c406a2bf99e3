"""Element-wise operators with broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import onnx
from onnx import TensorProto

from aot.frontend.onnx.draft import Order, Value
from aot.frontend.onnx.elements import BITS, FLOATS, NARROW, STORED, element_name, numbers_of, stored_type
from aot.frontend.onnx.importers.moving import cheapest_order
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.binary import Add, BinaryOp, Div, Mul, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.compare import Compare, Relation
from aot.ops.convert import Convert
from aot.ops.op import Op
from aot.ops.round_mantissa import Overflow
from aot.ops.select import Select
from aot.ops.unary import Clamp, HardSwish, LeakyRelu, Logistic, Tanh
from aot.ops.unary_math import MathFunction as F
from aot.ops.unary_math import UnaryMath


def combined(node: OnnxOperator, op: Op, values: list[Value], element: int) -> Value:
    """Adds one op over values, all stored in the order of the first one with the result's rank."""
    shape = _broadcast(node, values)
    order = _common_order(node, values, shape)
    names = [_aligned(node, value, order) for value in values]
    return Value(node.apply(op, *names), order, element)


def _broadcast(node: OnnxOperator, values: list[Value]) -> tuple[int, ...]:
    shapes = [node.shape(v) for v in values]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise node.fail(f"shapes {', '.join(str(list(s)) for s in shapes)} do not fit each other") from None


def _common_order(node: OnnxOperator, values: list[Value], shape: tuple[int, ...]) -> Order:
    return cheapest_order(node, [v for v in values if len(v.order) == len(shape)], len(shape))


def _aligned(node: OnnxOperator, value: Value, order: Order) -> str:
    """Returns its name with as many dimensions as the result, in the result's order."""
    missing = len(order) - len(value.order)
    if missing == 0:
        return node.draft.stored(node.place, value, order)
    shape = (1,) * missing + node.shape(value)
    if node.draft.types[value.name].elements == 1:
        return node.reshaped(value.name, (1,) * len(order))
    ranked = node.value(node.reshaped(node.plain(value), shape), value.element)
    return node.draft.stored(node.place, ranked, order)


def _computed(node: OnnxOperator, op: Op) -> Value:
    x = node.operand(0)
    return Value(node.apply(op, x.name), x.order, x.element)


def unary(make: Callable[[OnnxOperator], Op]) -> Importer:
    def import_it(node: OnnxOperator) -> Value:
        return _computed(node, make(node))

    return import_it


def binary(op: Op) -> Importer:
    def import_it(node: OnnxOperator) -> Value:
        first, second = node.operand(0), node.operand(1)
        if node.dtype(first) is DType.U8 and isinstance(op, BinaryOp):  # computed in 32 bits, then wrapped
            wide = [cast(node, v, TensorProto.INT32) for v in (first, second)]
            return cast(node, combined(node, op, wide, TensorProto.INT32), first.element)
        return in_range(node, combined(node, op, [first, second], first.element))

    return import_it


def chained(op: Op) -> Importer:
    """Imports an operator with one or more operands as a chain of ops with two."""

    def import_it(node: OnnxOperator) -> Value:
        result = node.operand(0)
        for position in range(1, len(node.operands)):
            result = combined(node, op, [result, node.operand(position)], result.element)
        return result

    return import_it


def _mean(node: OnnxOperator) -> Value:
    return divided(node, node.do("Sum", *node.operands), len(node.operands))


def divided(node: OnnxOperator, sums: Value, counts: int | Array) -> Value:
    """Divides, so that a mean is rounded once; multiplies floats if the reciprocals are exact."""
    exact = (np.frexp(counts)[0] == 0.5).all() and node.dtype(sums) is DType.F32
    factors = np.reciprocal(counts, dtype=np.float64) if exact else counts
    return node.do("Mul" if exact else "Div", sums, node.number(factors, sums.element))


def _clip(node: OnnxOperator) -> Value:
    """Imports Clip; a clamp with an activation's limits is fused into the op before."""
    low, high = (_limit(node, i, name) for i, name in ((1, "min"), (2, "max")))
    limits = _ACTIVATIONS.get((_number(node, low), _number(node, high)))
    x = node.operand(0)
    if limits is not None and x.element == 1:
        return Value(node.apply(Clamp(limits), x.name), x.order, x.element)
    raised = x if low is None else node.do("Max", x, low)
    return raised if high is None else node.do("Min", raised, high)


def _limit(node: OnnxOperator, position: int, name: str) -> Value | None:
    if node.has_attribute(name):
        return node.number(node.real(name), node.operand(0).element)
    return node.optional(position)


def _number(node: OnnxOperator, value: Value | None) -> float | None:
    """Returns the value of a constant limit; NaN, which equals nothing, for a computed one."""
    array = None if value is None else node.draft.array(value)
    if array is None:
        return None if value is None else float("nan")
    return float(array.reshape(-1)[0])


_ACTIVATIONS: dict[tuple[float | None, float | None], Activation] = {
    (0.0, None): Activation.RELU,
    (0.0, 6.0): Activation.RELU6,
    (-1.0, 1.0): Activation.RELU_N1_TO_1,
}


def _compared(relation: Relation) -> Importer:
    def import_it(node: OnnxOperator) -> Value:
        return combined(node, Compare(relation), [node.operand(0), node.operand(1)], TensorProto.BOOL)

    return import_it


def _celu(node: OnnxOperator) -> Value:
    """Imports Celu: divides, applies Elu, and multiplies."""
    x, alpha = node.operand(0), node.number(node.real("alpha", 1.0), node.operand(0).element)
    return node.do("Mul", node.do("Elu", node.do("Div", x, alpha)), alpha)


def _selu(node: OnnxOperator) -> Value:
    """Imports Selu as gamma * Elu: ONNX's function subtracts from exp(x), which loses digits near x = 0."""
    x, alpha = node.operand(0), node.real("alpha", 1.67326319217681884765625)
    gamma = node.number(node.real("gamma", 1.05070102214813232421875), x.element)
    return node.do("Mul", node.do("Elu", x, alpha=alpha), gamma)


def _where(node: OnnxOperator) -> Value:
    condition, x, y = (node.operand(i) for i in range(3))
    return combined(node, Select(), [condition, x, y], x.element)


def cast(node: OnnxOperator, x: Value, element: int, saturate: bool = True) -> Value:
    """Truncates floats; integers out of range keep their lower bits."""
    to = stored_type(element, f"at {node.place.origin}")
    if element in NARROW and x.element != element:
        return _narrowed(node, cast(node, x, TensorProto.FLOAT), element, saturate)
    if element in BITS and node.dtype(x) is DType.F32:
        return in_range(node, Value(cast(node, x, TensorProto.INT32).name, x.order, element))
    name = x.name if node.dtype(x) is to else node.apply(Convert(to), x.name)
    return in_range(node, Value(name, x.order, element)) if x.element != element else x


def _narrowed(node: OnnxOperator, x: Value, element: int, saturate: bool) -> Value:
    op = NARROW[element]
    if saturate and element not in (TensorProto.FLOAT16, TensorProto.BFLOAT16):
        op = replace(op, overflow=Overflow.LARGEST)
    return Value(node.apply(op, x.name), x.order, element)


def in_range(node: OnnxOperator, x: Value) -> Value:
    """Keeps only the bits of an integer type that is stored in a wider one."""
    if x.element not in BITS:
        return x
    bits, has_sign = BITS[x.element]
    to = stored_type(x.element, "")
    name = x.name
    if has_sign:
        dtype = node.draft.types[name].dtype
        wide = name if dtype is DType.I32 else node.apply(Convert(DType.I32), name)
        amount = node.draft.constant(np.full((1,) * len(x.order), 32 - bits, np.int32), "bits")
        shifted = node.apply(Combine(Combination.SHIFT_LEFT), wide, amount)
        name = node.apply(Combine(Combination.SHIFT_RIGHT), shifted, amount)
    else:
        dtype = node.draft.types[name].dtype
        ones = np.full((1,) * len(x.order), (1 << bits) - 1).astype(dtype.numpy)
        name = node.apply(Combine(Combination.AND), name, node.draft.constant(ones, "bits"))
    if node.draft.types[name].dtype is not to:
        name = node.apply(Convert(to), name)
    return Value(name, x.order, x.element)


def _bit_shift(node: OnnxOperator) -> Value:
    """Shifts bits; shifting by all bits or more leaves only the sign."""
    x, by = node.operand(0), node.operand(1)
    left = node.text("direction") == "LEFT"
    op = Combine(Combination.SHIFT_LEFT if left else Combination.SHIFT_RIGHT)
    bits = BITS[x.element][0] if x.element in BITS else node.dtype(x).bytes * 8
    known = node.draft.array(by)
    shifted = in_range(node, combined(node, op, [x, by], x.element))
    if known is not None and 0 <= int(known.min()) <= int(known.max()) < bits:
        return shifted
    nothing = node.number(0, x.element)
    inside = node.do(
        "And", node.do("GreaterOrEqual", by, nothing), node.do("Less", by, node.number(bits, x.element))
    )
    gone = (
        nothing
        if left
        else node.do("Where", node.do("Less", x, nothing), node.number(-1, x.element), nothing)
    )
    return node.do("Where", inside, shifted, gone)


def _mod(node: OnnxOperator) -> Value:
    by = Combination.REMAINDER if node.integer("fmod", 0) else Combination.FLOOR_MOD
    return combined(node, Combine(by), [node.operand(0), node.operand(1)], node.operand(0).element)


def _pow(node: OnnxOperator) -> Value:
    """Computes powers of floats; integers with a known exponent are multiplied."""
    x, y = node.operand(0), node.operand(1)
    power = _whole_power(node, x, y)
    if power is not None:
        return _multiplied(node, x, power)
    if node.dtype(x) is DType.F32 and node.dtype(y) is DType.F32:
        return combined(node, Combine(Combination.POWER), [x, y], x.element)
    floats = [v if node.dtype(v) is DType.F32 else cast(node, v, TensorProto.FLOAT) for v in (x, y)]
    return cast(node, combined(node, Combine(Combination.POWER), floats, TensorProto.FLOAT), x.element)


def _whole_power(node: OnnxOperator, x: Value, y: Value) -> int | None:
    """Returns the single constant exponent, if integers need fewer than 64 multiplications; else None."""
    known = node.draft.array(y)
    if known is None or known.size != 1 or len(y.order) > len(x.order) or not node.dtype(x).is_integer:
        return None
    power = float(known.reshape(-1)[0])
    return int(power) if power.is_integer() and 0 < power < 64 else None


def _multiplied(node: OnnxOperator, x: Value, power: int) -> Value:
    """Multiplies by squaring: the exponent's bits from the highest on."""
    made = x
    for bit in f"{power:b}"[1:]:
        made = node.do("Mul", made, made)
        made = node.do("Mul", made, x) if bit == "1" else made
    return made


def _math(of: F) -> Importer:
    return unary(lambda node: UnaryMath(of))


ELEMENTWISE: Mapping[str, Importer] = {
    "Abs": _math(F.ABS),
    "Acos": _math(F.ACOS),
    "Acosh": _math(F.ACOSH),
    "Add": binary(Add()),
    "And": binary(Combine(Combination.AND)),
    "Asin": _math(F.ASIN),
    "Asinh": _math(F.ASINH),
    "Atan": _math(F.ATAN),
    "Atanh": _math(F.ATANH),
    "BitShift": _bit_shift,
    "BitwiseAnd": binary(Combine(Combination.AND)),
    "BitwiseNot": lambda node: in_range(node, _computed(node, UnaryMath(F.NOT))),
    "BitwiseOr": binary(Combine(Combination.OR)),
    "BitwiseXor": binary(Combine(Combination.XOR)),
    "Celu": _celu,
    "Ceil": _math(F.CEIL),
    "Clip": _clip,
    "Cos": _math(F.COS),
    "Cosh": _math(F.COSH),
    "Div": binary(Div()),
    "Elu": unary(lambda node: UnaryMath(F.ELU, node.real("alpha", 1.0))),
    "Equal": _compared(Relation.EQUAL),
    "Erf": _math(F.ERF),
    "Exp": _math(F.EXP),
    "Floor": _math(F.FLOOR),
    "Gelu": unary(
        lambda node: UnaryMath(F.GELU_BY_TANH if node.text("approximate", "none") == "tanh" else F.GELU)
    ),
    "Greater": _compared(Relation.GREATER),
    "GreaterOrEqual": _compared(Relation.GREATER_EQUAL),
    "HardSwish": unary(lambda node: HardSwish()),
    "LeakyRelu": unary(lambda node: LeakyRelu(node.real("alpha", 0.01))),
    "Less": _compared(Relation.LESS),
    "LessOrEqual": _compared(Relation.LESS_EQUAL),
    "Log": _math(F.LOG),
    "Max": chained(Combine(Combination.MAXIMUM)),
    "Mean": _mean,
    "Min": chained(Combine(Combination.MINIMUM)),
    "Mod": _mod,
    "Mul": binary(Mul()),
    "Neg": _math(F.NEGATE),
    "Not": _math(F.NOT),
    "Or": binary(Combine(Combination.OR)),
    "Pow": _pow,
    "Reciprocal": _math(F.RECIPROCAL),
    "Relu": unary(lambda node: Clamp(Activation.RELU)),
    "Round": _math(F.ROUND),
    "Selu": _selu,
    "Sigmoid": unary(lambda node: Logistic()),
    "Sign": _math(F.SIGN),
    "Sin": _math(F.SIN),
    "Sinh": _math(F.SINH),
    "Softplus": _math(F.SOFTPLUS),
    "Softsign": _math(F.SOFTSIGN),
    "Sqrt": _math(F.SQRT),
    "Sub": binary(Sub()),
    "Sum": chained(Add()),
    "Tan": _math(F.TAN),
    "Tanh": unary(lambda node: Tanh()),
    "Where": _where,
    "Xor": binary(Combine(Combination.XOR)),
}


# Casts to an element type, and bits of one type read as another.


_WHOLE_BYTES = {element for element in STORED if BITS.get(element, (8, True))[0] % 8 == 0}


def _bit_cast(node: OnnxOperator) -> Value:
    """Imports BitCast. Between integers of one width it is a conversion, which keeps the lower bits."""
    x, to = node.operand(0), node.integer("to")
    names = [element_name(element) for element in (x.element, to)]
    if not {x.element, to} <= _WHOLE_BYTES or _width(x.element) != _width(to):
        raise node.fail(f"the bits of {names[0]} cannot be read as {names[1]}", "export the model without it")
    floats = [element in FLOATS for element in (x.element, to)]
    if x.element == to or not any(floats):
        return cast(node, x, to)
    if {x.element, to} - {TensorProto.FLOAT, TensorProto.INT32, TensorProto.UINT32} or all(floats):
        raise node.fail(
            f"the bits of {names[0]} read as {names[1]} are not supported, only integers and float32",
            "export the model without it",
        )
    if floats[1]:
        whole = cast(node, x, TensorProto.INT32)
        return Value(node.apply(Convert(DType.F32, True), whole.name), x.order, to)
    bits = Value(node.apply(Convert(DType.I32, True), x.name), x.order, TensorProto.INT32)
    return cast(node, bits, to)


def _width(element: int) -> int:
    return int(onnx.helper.tensor_dtype_to_np_dtype(element).itemsize)


_POWERS = numbers_of("FLOAT8E8M0")
_LEAST, _LEAST_NORMAL, _LARGEST = 2.0**-127, 2.0**-126, 2.0**127
_EXPONENT = 0x7F800000  # exponent bits of a float32


@dataclass(frozen=True)
class _Way:
    """A rounding: the number added to the bits, and the threshold between the two smallest powers."""

    added: int
    threshold: float


_WAYS: Mapping[str, _Way] = {
    "up": _Way(0x7FFFFF, float(np.nextafter(np.float32(_LEAST), np.float32(1)))),
    "down": _Way(0, _LEAST_NORMAL),
    "nearest": _Way(0x400000, 1.5 * _LEAST),  # ties round up
}


def _cast(node: OnnxOperator) -> Value:
    return _casted(node, node.integer("to"))


def _cast_like(node: OnnxOperator) -> Value:
    return _casted(node, node.operand(1).element)


def _casted(node: OnnxOperator, element: int) -> Value:
    x, saturate = node.operand(0), bool(node.integer("saturate", 1))
    if element not in _POWERS or x.element == element:
        return cast(node, x, element, saturate)
    mode = node.text("round_mode", "up")
    if mode not in _WAYS:
        raise node.fail(f'rounding "{mode}" is not one of {", ".join(_WAYS)}', "get or export the file again")
    made = _power(node, cast(node, x, TensorProto.FLOAT), _WAYS[mode], saturate)
    return Value(made.name, made.order, element)


def _power(node: OnnxOperator, x: Value, way: _Way, saturate: bool) -> Value:
    """Maps a number beyond those of the format to the nearest of them, or to NaN."""
    inside = node.do(
        "Min", node.do("Max", x, _real(node, 0.0)), _real(node, _LARGEST if saturate else np.inf)
    )
    bits = node.do(
        "BitCast", node.do("Where", node.do("IsNaN", x), _real(node, 1.0), inside), to=TensorProto.INT32
    )
    raised = node.do("Add", bits, node.number(way.added, TensorProto.INT32))
    kept = node.do("BitwiseAnd", raised, node.number(_EXPONENT, TensorProto.INT32))
    normal = node.do("BitCast", kept, to=TensorProto.FLOAT)
    is_raised = node.do("GreaterOrEqual", x, _real(node, way.threshold))
    small = node.do("Where", is_raised, _real(node, _LEAST_NORMAL), _real(node, _LEAST))
    power = node.do("Where", node.do("Less", x, _real(node, _LEAST_NORMAL)), small, normal)
    is_none = node.do("IsNaN", x)
    if not saturate:
        below = node.do("Less", x, _real(node, _LEAST))
        beyond = node.do("Or", below, node.do("Greater", power, _real(node, _LARGEST)))
        is_none = node.do("Or", is_none, beyond)
    return node.do("Where", is_none, _real(node, np.nan), power)


def _real(node: OnnxOperator, value: float) -> Value:
    return node.number(value, TensorProto.FLOAT)


CASTING: Mapping[str, Importer] = {"BitCast": _bit_cast, "Cast": _cast, "CastLike": _cast_like}
