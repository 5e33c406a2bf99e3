"""Products of matrices: a dense layer where the weights are constant, else sums of products."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.operation import Importer, Operator
from aot.frontend.onnx.strides import dense_strides
from aot.ir.graph import Array
from aot.ir.types import DType
from aot.ops.contract import Contract
from aot.ops.dense import Dense


def _matmul(node: Operator) -> Value:
    x1, x2 = node.operand(0), node.operand(1)
    weights = node.draft.array(x2)
    if weights is not None and weights.ndim == 2 and node.dtype(x1) is DType.F32:
        return dense(node, x1, weights, None)
    return multiplied(node, x1, x2, x1.element)


def dense(node: Operator, x: Value, weights: Array, bias: Array | None) -> Value:
    """x [..., K] times weights [K, N]."""
    shape = node.shape(x)
    if not shape or shape[-1] != weights.shape[0]:
        raise node.fail(f"shapes {list(shape)} and {list(weights.shape)} do not fit each other")
    label = node.place.label
    rows = node.reshaped(node.plain(x), (prod(shape[:-1]), shape[-1]))
    w = node.draft.constant(np.ascontiguousarray(weights.T), f"{label}/weights")
    b = None if bias is None else node.draft.constant(np.ascontiguousarray(bias), f"{label}/bias")
    made = node.apply(Dense(), rows, w, b)
    return node.value(node.reshaped(made, (*shape[:-1], weights.shape[1])), x.element)


def multiplied(node: Operator, x1: Value, x2: Value, element: int) -> Value:
    """Of any ranks, as NumPy's matmul."""
    shape1, shape2 = node.shape(x1), node.shape(x2)
    if not shape1 or not shape2:
        raise node.fail(f"shapes {list(shape1)} and {list(shape2)} do not fit each other")
    rows = (1, *shape1) if len(shape1) == 1 else shape1
    columns = (*shape2, 1) if len(shape2) == 1 else shape2
    try:
        batch = np.broadcast_shapes(rows[:-2], columns[:-2])
    except ValueError:
        batch = None
    if batch is None or rows[-1] != columns[-2]:
        raise node.fail(f"shapes {list(shape1)} and {list(shape2)} do not fit each other")
    steps1, steps2 = _repeated(rows, batch), _repeated(columns, batch)
    op = Contract(
        (*batch, rows[-2], columns[-1]),
        (*batch, rows[-2], columns[-1], rows[-1]),
        1,
        (*steps1[:-2], steps1[-2], 0, steps1[-1]),
        (*steps2[:-2], 0, steps2[-1], steps2[-2]),
    )
    made = node.apply(op, node.plain(x1), node.plain(x2))
    kept = (*batch, *([rows[-2]] if len(shape1) > 1 else []), *([columns[-1]] if len(shape2) > 1 else []))
    return node.value(node.reshaped(made, kept), element)


def _repeated(shape: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """Strides with one for each dimension of the batch."""
    steps = dense_strides(shape)
    own = tuple(0 if size == 1 else step for size, step in zip(shape[:-2], steps[:-2], strict=True))
    return (*(0,) * (len(batch) - len(own)), *own, *steps[-2:])


def _gemm(node: Operator) -> Value:
    a, b, c = node.operand(0), node.operand(1), node.optional(2)
    if len(a.order) != 2 or len(b.order) != 2:
        raise node.fail(f"shapes {list(node.shape(a))} and {list(node.shape(b))} are not matrices")
    a = node.do("Transpose", a) if node.integer("transA", 0) else a
    b = node.do("Transpose", b) if node.integer("transB", 0) else b
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    weights, bias = node.draft.array(b), None if c is None else node.draft.array(c)
    if weights is not None and (c is None or bias is not None) and node.dtype(a) is DType.F32:
        vector = None if bias is None else _as_vector(bias, weights.shape[1])
        if bias is None or vector is not None:
            scaled = None if vector is None else vector * np.float32(beta)
            return dense(node, a, weights * np.float32(alpha), scaled)
    product = multiplied(node, a, b, a.element)
    product = _scaled(node, product, alpha)
    return product if c is None else node.do("Add", product, _scaled(node, c, beta))


def _as_vector(bias: Array, columns: int) -> Array | None:
    """The bias for each column, where all rows have the same."""
    if bias.ndim > 2 or (bias.ndim == 2 and bias.shape[0] != 1) or bias.size not in (1, columns):
        return None
    return np.broadcast_to(bias.reshape(-1), (columns,))


def _scaled(node: Operator, x: Value, factor: float) -> Value:
    return x if factor == 1 else node.do("Mul", x, node.number(factor, x.element))


def _einsum(node: Operator) -> Value:
    """Of one or two operands; more are taken two by two, as the letters allow."""
    text = node.text("equation").replace(" ", "")
    values = [node.operand(i) for i in range(len(node.operands))]
    left, _, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(values) or len(values) > 2:
        raise node.fail(f'equation "{text}" of {len(values)} operands is not supported, of 1 or 2 it is')
    letters = [_letters(node, t, len(v.order)) for t, v in zip(terms, values, strict=True)]
    made = _result_letters(letters, right, "->" in text)
    return _contracted(node, values, letters, made)


def _letters(node: Operator, term: str, rank: int) -> str:
    """The ellipsis written out in capitals that count from the right."""
    named = term.replace("...", "")
    missing = rank - len(named)
    if missing < 0 or (missing and "..." not in term) or (not named.isalpha() and named):
        raise node.fail(f'"{term}" does not fit {rank} dimensions')
    return term.replace("...", "".join(chr(0x100 + missing - 1 - i) for i in range(missing)))


def _result_letters(letters: list[str], right: str, explicit: bool) -> str:
    every = "".join(letters)
    broad = "".join(sorted({c for c in every if ord(c) >= 0x100}, reverse=True))
    if explicit:
        return right.replace("...", broad)
    return broad + "".join(sorted(c for c in set(every) if every.count(c) == 1 and ord(c) < 0x100))


def _contracted(node: Operator, values: list[Value], letters: list[str], made: str) -> Value:
    sizes: dict[str, int] = {}
    for value, term in zip(values, letters, strict=True):
        for letter, size in zip(term, node.shape(value), strict=True):
            sizes[letter] = max(size, sizes.get(letter, 1))
            if size not in (1, sizes[letter]):
                raise node.fail(f"its operands differ in a dimension: {size} and {sizes[letter]}")
    if not set(made) <= set(sizes):
        raise node.fail("its result has a dimension that no operand has")
    summed = [c for c in sizes if c not in made]
    order = [*made, *summed]
    element = values[0].element
    if len(values) == 1:
        ones = node.number(np.ones(()), element)
        values, letters = [*values, ones], [*letters, ""]
    strides = [_letter_strides(node, v, t, order) for v, t in zip(values, letters, strict=True)]
    op = Contract(
        tuple(sizes[c] for c in made), tuple(sizes[c] for c in order), len(summed), strides[0], strides[1]
    )
    return node.value(node.apply(op, *(node.plain(v) for v in values)), element)


def _letter_strides(node: Operator, value: Value, term: str, order: list[str]) -> tuple[int, ...]:
    """A letter that comes twice steps along the diagonal."""
    shape = node.shape(value)
    steps = dense_strides(shape)
    return tuple(
        sum(s for c, s, n in zip(term, steps, shape, strict=True) if c == letter and n > 1)
        for letter in order
    )


def _matmul_integer(node: Operator) -> Value:
    """Products of integers counted from their zero points."""
    a, b = node.operand(0), node.operand(1)
    return multiplied(node, centred(node, a, 2, 0), centred(node, b, 3, 1), TensorProto.INT32)


def centred(node: Operator, x: Value, zero_point: int, side: int) -> Value:
    """As int32, counted from the zero point; one of many goes with rows (side 0) or columns (side 1)."""
    wide = node.do("Cast", x, to=TensorProto.INT32)
    if not node.has(zero_point):
        return wide
    zero = node.do("Cast", node.operand(zero_point), to=TensorProto.INT32)
    shape = node.shape(zero)
    if prod(shape) > 1 and side == 0:
        zero = node.value(node.reshaped(node.plain(zero), (*shape, 1)), TensorProto.INT32)
    return node.do("Sub", wide, zero)


PRODUCTS: dict[str, Importer] = {
    "Einsum": _einsum,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
}
