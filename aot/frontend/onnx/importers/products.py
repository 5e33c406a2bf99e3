"""Matrix products: a dense layer if the weights are constant, otherwise sums of products."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import sliced
from aot.frontend.onnx.importers.real import Real
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import DType, dense_strides
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.contract import Contract
from aot.ops.dense import Dense


def _matmul(node: OnnxOperator) -> Value:
    x1, x2 = node.operand(0), node.operand(1)
    if _is_known(node, x2) and len(x2.order) == 2 and node.dtype(x1) is DType.F32:
        return dense(node, x1, x2, None)
    return multiplied(node, x1, x2, x1.element)


def _is_known(node: OnnxOperator, value: Value | None) -> bool:
    return value is None or value.name in node.draft.constants


def dense(node: OnnxOperator, x: Value, weights: Value, bias: Value | None) -> Value:
    """Multiplies x [..., K] by constant weights [K, N]; the bias has N elements or one."""
    shape, (depth, columns) = node.shape(x), node.shape(weights)
    if not shape or shape[-1] != depth:
        raise node.fail(f"shapes {list(shape)} and {[depth, columns]} do not fit each other")
    label = node.place.label
    rows = node.reshaped(node.plain(x), (prod(shape[:-1]), depth))
    w = node.draft.moved(weights, np.transpose, f"{label}/weights")
    b = None
    if bias is not None:
        b = node.draft.moved(bias, lambda v: np.broadcast_to(v.reshape(-1), (columns,)), f"{label}/bias")
    made = node.apply(Dense(), rows, w, b)
    return node.value(node.reshaped(made, (*shape[:-1], columns)), x.element)


def multiplied(node: OnnxOperator, x1: Value, x2: Value, element: int) -> Value:
    """Multiplies matrices of any rank, like NumPy's matmul."""
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
    kept = (*batch, *([rows[-2]] if len(shape1) > 1 else []), *([columns[-1]] if len(shape2) > 1 else []))
    pairs = _pairs(node, x1, x2)
    if pairs is not None:
        return node.value(node.reshaped(pairs, kept), element)
    steps1, steps2 = _repeated(rows, batch), _repeated(columns, batch)
    op = Contract(
        (*batch, rows[-2], columns[-1]),
        (*batch, rows[-2], columns[-1], rows[-1]),
        1,
        (*steps1[:-2], steps1[-2], 0, steps1[-1]),
        (*steps2[:-2], 0, steps2[-1], steps2[-2]),
    )
    made = node.apply(op, node.plain(x1), node.plain(x2))
    return node.value(node.reshaped(made, kept), element)


def _pairs(node: OnnxOperator, x1: Value, x2: Value) -> str | None:
    """Multiplies float matrices, equally many or one on one side, without transposing them; else None."""
    shapes = node.shape(x1), node.shape(x2)
    counts = [prod(shape[:-2]) for shape in shapes]
    one_batch = shapes[0][:-2] == shapes[1][:-2] or 1 in counts
    if min(len(s) for s in shapes) < 2 or not one_batch or node.dtype(x1) is not DType.F32:
        return None
    if {x1.name, x2.name} <= node.draft.constants.keys():
        return None
    (first, x_transposed), (second, y_transposed) = (_matrices(node, x) for x in (x1, x2))
    return node.apply(BatchMatmul(x_transposed, y_transposed), first, second)


def _matrices(node: OnnxOperator, x: Value) -> tuple[str, bool]:
    """Returns the value as [1, pairs, rows, columns], and whether matrices are stored transposed."""
    rank = len(x.order)
    is_turned = x.order == (*range(rank - 2), rank - 1, rank - 2)
    name = x.name if is_turned else node.plain(x)
    shape = node.draft.types[name].shape
    return node.reshaped(name, (1, prod(shape[:-2]), *shape[-2:])), is_turned


def _repeated(shape: tuple[int, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides, one for each dimension of the batch."""
    steps = dense_strides(shape)
    own = tuple(0 if size == 1 else step for size, step in zip(shape[:-2], steps[:-2], strict=True))
    return (*(0,) * (len(batch) - len(own)), *own, *steps[-2:])


def _gemm(node: OnnxOperator) -> Value:
    a, b, c = node.operand(0), node.operand(1), node.optional(2)
    if len(a.order) != 2 or len(b.order) != 2:
        raise node.fail(f"shapes {list(node.shape(a))} and {list(node.shape(b))} are not matrices")
    a = node.do("Transpose", a) if node.integer("transA", 0) else a
    b = node.do("Transpose", b) if node.integer("transB", 0) else b
    alpha, beta = node.real("alpha", 1.0), node.real("beta", 1.0)
    has_vector = c is None or _is_vector(node.shape(c), node.shape(b)[1])
    if has_vector and _is_known(node, b) and _is_known(node, c) and node.dtype(a) is DType.F32:
        return dense(node, a, _scaled(node, b, alpha), None if c is None else _scaled(node, c, beta))
    product = multiplied(node, a, b, a.element)
    product = _scaled(node, product, alpha)
    return product if c is None else node.do("Add", product, _scaled(node, c, beta))


def _is_vector(shape: tuple[int, ...], columns: int) -> bool:
    """Returns whether all rows have the same bias."""
    return len(shape) <= 2 and prod(shape[:-1]) == 1 and shape[-1:] in ((), (1,), (columns,))


def _scaled(node: OnnxOperator, x: Value, factor: float) -> Value:
    return x if factor == 1 else node.do("Mul", x, node.number(factor, x.element))


def _einsum(node: OnnxOperator) -> Value:
    """Imports Einsum of one or two operands; more are contracted in pairs, if the letters allow it."""
    text = node.text("equation").replace(" ", "")
    values = [node.operand(i) for i in range(len(node.operands))]
    left, _, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(values) or len(values) > 2:
        raise node.fail(f'equation "{text}" of {len(values)} operands is not supported, the limit is 2')
    letters = [_letters(node, t, len(v.order)) for t, v in zip(terms, values, strict=True)]
    made = _result_letters(letters, right, "->" in text)
    return _contracted(node, values, letters, made)


def _letters(node: OnnxOperator, term: str, rank: int) -> str:
    """Replaces the ellipsis by capitals that count from the right."""
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


def _contracted(node: OnnxOperator, values: list[Value], letters: list[str], made: str) -> Value:
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


def _letter_strides(node: OnnxOperator, value: Value, term: str, order: list[str]) -> tuple[int, ...]:
    """Returns strides by letter; a letter that occurs twice steps along the diagonal."""
    shape = node.shape(value)
    steps = dense_strides(shape)
    return tuple(
        sum(s for c, s, n in zip(term, steps, shape, strict=True) if c == letter and n > 1)
        for letter in order
    )


def _matmul_integer(node: OnnxOperator) -> Value:
    """Multiplies integers; zero points may be given per row of the first or column of the second."""
    a = centred(node, node.operand(0), node.optional(2), -2)
    b = centred(node, node.operand(1), node.optional(3), -1)
    return multiplied(node, a, b, TensorProto.INT32)


def centred(node: OnnxOperator, x: Value, zero: Value | None, axis: int) -> Value:
    """Returns the value as int32 minus its zero point; several zero points apply along an axis."""
    wide = node.do("Cast", x, to=TensorProto.INT32)
    if zero is None:
        return wide
    zero = node.do("Cast", zero, to=TensorProto.INT32)
    shape = node.shape(zero)
    if prod(shape) > 1 and len(shape) == 1:
        rank = len(x.order)
        along = [shape[0] if a == axis % rank else 1 for a in range(rank)]
        zero = node.value(node.reshaped(node.plain(zero), along), TensorProto.INT32)
    return node.do("Sub", wide, zero)


PRODUCTS: dict[str, Importer] = {
    "Einsum": _einsum,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
}


# Det: Gaussian elimination step by step, with the largest first element as pivot.


_MAX_MATRIX_ROWS = 64  # each is a dozen layers


def _det(node: OnnxOperator) -> Value:
    x = node.operand(0)
    shape = node.shape(x)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] > _MAX_MATRIX_ROWS:
        raise node.fail(
            f"shape {list(shape)} is not supported, only square matrices of up to {_MAX_MATRIX_ROWS} rows"
        )
    size, count = shape[-1], prod(shape[:-2])
    left = node.value(node.reshaped(node.plain(x), (count, size, size)), x.element)
    total = node.number(np.ones((count, 1, 1)), x.element)
    for _ in range(size - 1):
        pivot, left = _eliminated(node, left)
        total = node.do("Mul", total, pivot)
    return node.value(node.reshaped(node.plain(node.do("Mul", total, left)), shape[:-2]), x.element)


def _eliminated(node: OnnxOperator, x: Value) -> tuple[Value, Value]:
    """Returns the pivot with the sign of the exchange, and the matrices without first row and column."""
    size, nothing = node.shape(x)[-1], node.number(0, x.element)
    column = sliced(node, x, {2: range(1)})
    largest = node.do("ArgMax", node.do("Abs", column), axis=1, keepdims=1)  # [matrices, 1, 1]
    numbers = node.number(np.arange(size).reshape(1, size, 1), TensorProto.INT64)
    chosen = node.do("Equal", largest, numbers)
    row = node.do("ReduceSum", node.do("Where", chosen, x, nothing), node.number([1], TensorProto.INT64))
    exchanged = node.do("Where", chosen, sliced(node, x, {1: range(1)}), x)
    below = sliced(node, exchanged, {1: range(1, size)})
    pivot = sliced(node, row, {2: range(1)})
    is_none = node.do("Equal", pivot, nothing)  # then the whole column is 0
    by = node.do(
        "Div", sliced(node, below, {2: range(1)}), node.do("Where", is_none, node.number(1, x.element), pivot)
    )
    rest, of_row = (sliced(node, v, {2: range(1, size)}) for v in (below, row))
    stays = node.do("Equal", largest, node.number(0, TensorProto.INT64))
    signed = node.do("Where", stays, pivot, node.do("Neg", pivot))
    return signed, (Real(node, rest) - Real(node, by) * Real(node, of_row)).value


DETERMINANTS: Mapping[str, Importer] = {"Det": _det}
