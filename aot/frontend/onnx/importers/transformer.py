"""Layers of language models: RMS normalization, rotary positions, and attention to a cache of known length.

Other forms of ONNX's own operators are read by their definitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ir.types import DType
from aot.ops.transformer import CachedAttention, RmsNorm, Rotary

_HEADS = 1  # dimension
_NEVER = -1e30  # added to scores of positions that are not seen


def _rms_normalization(node: OnnxOperator) -> Results | None:
    x = node.operand(0)
    last = node.axis(node.integer("axis", -1), len(x.order)) == len(x.order) - 1
    return _rms_normed(node, x, node.operand(1), 1e-5) if last else None


def _rms_normed(node: OnnxOperator, x: Value, gain: Value, epsilon: float) -> Value | None:
    is_known = node.draft.array(gain) is not None and node.shape(gain) == node.shape(x)[-1:]
    if not is_known or node.dtype(x) is not DType.F32:
        return None
    made = node.apply(RmsNorm(node.real("epsilon", epsilon)), node.plain(x), node.plain(gain))
    return node.value(made, x.element)


def _skip_rms_normalization(node: OnnxOperator) -> Results:
    """Normalizes a sum; the sum is the last result. Mean and deviation are for training only."""
    total = node.do("Add", node.operand(0), node.operand(1))
    total = node.do("Add", total, node.operand(3)) if node.has(3) else total
    made = _rms_normed(node, total, node.operand(2), 1e-5)
    if made is None or any(node.proto.output[1:3]):
        raise node.fail(
            "its gain must be known for each channel, and mean and deviation are not computed",
            "export the model for inference",
        )
    return [made, made, made, total]


def _rotary_embedding(node: OnnxOperator) -> Results | None:
    """Rotates whole heads [1, heads, positions, head]; tables hold all positions, or those of x."""
    x, cosines, sines = (node.operand(position) for position in range(3))
    shape = node.shape(x)
    is_whole = len(shape) == 4 and shape[0] == 1 and not node.integer("rotary_embedding_dim", 0)
    if not is_whole or node.dtype(x) is not DType.F32:
        return None
    turns = [
        node.do("Gather", table, node.operand(3), axis=0) if node.has(3) else table
        for table in (cosines, sines)
    ]
    sizes = (shape[2], shape[3] // 2)
    tables = [node.reshaped(node.plain(turn), sizes) for turn in turns]
    made = node.apply(Rotary(bool(node.integer("interleaved", 0))), node.plain(x), *tables)
    return node.value(made, x.element)


def _attention(node: OnnxOperator) -> Results | None:
    """Reads attention of one position to a cache (nonpad_kv_seqlen); other forms by their definition."""
    has_cache = node.has(6) and not any(node.has(position) for position in (3, 4, 5))
    if not has_cache or node.integer("is_causal", 0) or node.real("softcap", 0.0) or node.result_count > 1:
        return None
    q, k, v = (node.operand(position) for position in range(3))
    shape, cached = node.shape(q), node.shape(k)
    is_step = len(shape) == 4 and shape[0] == shape[2] == 1 and node.dtype(q) is DType.F32
    if not is_step or cached != node.shape(v) or shape[3] != cached[3] or shape[_HEADS] % cached[_HEADS]:
        return None
    op = CachedAttention(node.real("scale", shape[3] ** -0.5))
    made = node.apply(op, *(node.plain(each) for each in (q, k, v, node.operand(6))))
    return node.value(made, q.element)


# ONNX Runtime's own forms, in com.microsoft.


def _heads_of(node: OnnxOperator, x: Value, heads: int) -> Value:
    """Returns [1, positions, heads * head] as [1, heads, positions, head]."""
    shape = node.shape(x)
    if len(shape) != 3 or shape[0] != 1 or heads < 1 or shape[2] % heads:
        raise node.fail(
            f"an operand of shape {list(shape)} is not one sequence of {heads} heads",
            "export the model with a batch of 1",
        )
    split = node.reshaped(node.plain(x), (1, shape[1], heads, shape[2] // heads))
    return node.do("Transpose", node.value(split, x.element), perm=[0, 2, 1, 3])


def _joined(node: OnnxOperator, x: Value) -> Value:
    """Returns [1, heads, positions, head] as [1, positions, heads * head]."""
    _, heads, positions, head = node.shape(x)
    turned = node.plain(node.do("Transpose", x, perm=[0, 2, 1, 3]))
    return node.value(node.reshaped(turned, (1, positions, heads * head)), x.element)


def _turned(node: OnnxOperator, x: Value, tables: tuple[Value, Value], places: Value, pairs: int) -> Value:
    """Rotates the first elements of each head, twice as many as a table has columns."""
    width, head = 2 * node.shape(tables[0])[-1], node.shape(x)[3]
    first = x if width == head else sliced(node, x, {3: range(width)})
    made = node.do("RotaryEmbedding", first, *tables, places, interleaved=pairs)
    return made if width == head else concatenated(node, [made, sliced(node, x, {3: range(width, head)})], 3)


def _from(node: OnnxOperator, start: Value, count: int) -> Value:
    """Returns the positions [1, count] from a start on."""
    begin = node.value(node.reshaped(node.plain(start), (1, 1)), start.element)
    return node.do("Add", begin, node.number(np.arange(count).reshape(1, count), start.element))


def _rotary_of_runtime(node: OnnxOperator) -> Value:
    """Rotates heads in one or two dimensions; one position is that of the first row."""
    x, places, *tables = (node.operand(position) for position in range(4))
    width = 2 * node.shape(tables[0])[-1]
    if node.integer("is_packed_batching", 0) or node.real("scale", 1.0) != 1.0:
        raise node.fail("packed batches and scaled rotations are not supported")
    shape = node.shape(x)
    is_split = len(shape) == 4
    heads = node.integer("num_heads", 0) or (shape[-1] // width if width else 0)
    whole = x if is_split else _heads_of(node, x, heads)
    if node.shape(whole)[0] != 1:
        raise node.fail(f"batches of {shape[0]} are not supported", "export the model with a batch of 1")
    count = node.shape(whole)[2]
    given = _from(node, places, count) if node.shape(places) == (1,) else places
    made = _turned(node, whole, (tables[0], tables[1]), given, node.integer("interleaved", 0))
    return made if is_split else _joined(node, made)


_NOT_SUPPORTED = {"smooth_softmax": 0, "qk_output": 0}


@dataclass(frozen=True)
class _Span:
    """The positions of the queries, and the keys and values with those before them."""

    start: Value  # of the first query: one integer
    keys: Value  # [1, shared heads, positions, head]
    values: Value


def _grouped_query_attention(node: OnnxOperator) -> Results:
    """Attends to the keys and values up to each position, which are written to caches of fixed length.

    If the total length is known and exceeds that of the caches, they grow instead.
    """
    refused = [name for name, usual in _NOT_SUPPORTED.items() if node.integer(name, usual) != usual]
    if refused or node.has(11) or any(node.proto.output[3:]):
        raise node.fail(f"{refused[0] if refused else 'head sinks or scores as results'} is not supported")
    heads, shared = node.integer("num_heads"), node.integer("kv_num_heads")
    q, k, v = _three(node, heads, shared)
    count, head = node.shape(q)[2:]
    if node.has(3) != node.has(4) or heads % shared or node.shape(k) != (1, shared, count, head):
        raise node.fail(
            f"{heads} heads of queries do not fit keys {list(node.shape(k))}, or a cache is missing"
        )
    last = node.value(node.reshaped(node.plain(node.operand(5)), (1,)), node.operand(5).element)
    ends = node.do("Cast", last, to=TensorProto.INT64)
    span = _Span(node.do("Add", ends, node.number([1 - count], TensorProto.INT64)), k, v)
    if node.integer("do_rotary", 0):
        tables, pairs = (node.operand(7), node.operand(8)), node.integer("rotary_interleaved", 0)
        places = node.operand(9) if node.has(9) else _from(node, span.start, count)
        q, k = (_turned(node, each, tables, places, pairs) for each in (q, k))
    span = _cached(node, span.start, k, v)
    mixed = _joined(node, _attended(node, q, span))
    return [mixed, span.keys, span.values]


def _three(node: OnnxOperator, heads: int, shared: int) -> tuple[Value, Value, Value]:
    """Returns queries, keys and values by head; one operand may have all of them."""
    x = node.operand(0)
    if node.has(1):
        q, k, v = _heads_of(node, x, heads), *(_heads_of(node, node.operand(n), shared) for n in (1, 2))
    else:
        whole = _heads_of(node, x, heads + 2 * shared)
        ends = (0, heads, heads + shared, heads + 2 * shared)
        q, k, v = (sliced(node, whole, {1: range(*ends[n : n + 2])}) for n in range(3))
    if node.dtype(q) is not DType.F32:
        raise node.fail(f"it computes in {node.element_name(q)}, but float32 is needed")
    return q, k, v


def _cached(node: OnnxOperator, start: Value, k: Value, v: Value) -> _Span:
    """Returns the caches after the new rows."""
    if not node.has(3) or not node.shape(node.operand(3))[2]:
        return _Span(node.number([0], TensorProto.INT64), k, v)
    pasts, news = (node.operand(3), node.operand(4)), (k, v)
    (_, shared, count, head), size = node.shape(k), node.shape(pasts[0])[2]
    for past in pasts:
        if node.shape(past) != (1, shared, size, head):
            raise node.fail(
                f"a cache of shape {list(node.shape(past))} does not fit {[1, shared, size, head]}"
            )
    total = node.draft.array(node.operand(6)) if node.has(6) else None
    if total is None or int(total.reshape(-1)[0]) <= size:
        keys, values = (
            node.do("TensorScatter", past, new, start, axis=2) for past, new in zip(pasts, news, strict=True)
        )
        return _Span(start, keys, values)
    if int(total.reshape(-1)[0]) != size + count:
        raise node.fail(f"{size} past and {count} new positions are not {int(total.reshape(-1)[0])} in total")
    keys, values = (concatenated(node, [past, new], 2) for past, new in zip(pasts, news, strict=True))
    return _Span(node.number([size], TensorProto.INT64), keys, values)


def _attended(node: OnnxOperator, q: Value, span: _Span) -> Value:
    """Returns the values that each head of q attends to: [1, heads, positions, head]."""
    (_, heads, count, head), (_, shared, size, _) = node.shape(q), node.shape(span.keys)
    scale = node.real("scale", 0.0) or head**-0.5
    window, cap = node.integer("local_window_size", -1), node.real("softcap", 0.0)
    if count == 1 and window < 0 and not cap and not node.has(10):
        length = node.do("Add", span.start, node.number([1], TensorProto.INT64))
        names = [node.plain(each) for each in (q, span.keys, span.values, length)]
        return node.value(node.apply(CachedAttention(scale), *names), q.element)

    def viewed(value: Value, *shape: int) -> Value:
        return node.value(node.reshaped(node.plain(value), shape), value.element)

    rows = viewed(q, 1, shared, heads // shared * count, head)  # heads that share keys, one after the other
    scores = node.do("MatMul", rows, node.do("Transpose", span.keys, perm=[0, 1, 3, 2]))
    scores = node.do("Mul", viewed(scores, 1, heads, count, size), node.number(scale, q.element))
    if cap:
        limit = node.number(cap, q.element)
        scores = node.do("Mul", node.do("Tanh", node.do("Div", scores, limit)), limit)
    if node.has(10):
        scores = node.do("Add", scores, node.operand(10))
    shares = node.do(
        "Softmax", node.do("Add", scores, _mask(node, span.start, (count, size), window)), axis=-1
    )
    mixed = node.do("MatMul", viewed(shares, 1, shared, heads // shared * count, size), span.values)
    return viewed(mixed, 1, heads, count, head)


def _mask(node: OnnxOperator, start: Value, sizes: tuple[int, int], window: int) -> Value:
    """Returns 0 for keys at or before a query's position, within the window, and a huge negative number."""
    places = node.value(node.reshaped(node.plain(_from(node, start, sizes[0])), (sizes[0], 1)), start.element)
    keys = node.number(np.arange(sizes[1]).reshape(1, -1), start.element)
    seen = node.do("LessOrEqual", keys, places)
    if window >= 0:  # with the query's own position
        first = node.do("Sub", places, node.number([window - 1], start.element))
        seen = node.do("And", seen, node.do("GreaterOrEqual", keys, first))
    nothing, never = (node.number(each, TensorProto.FLOAT) for each in (0.0, _NEVER))
    return node.do("Where", seen, nothing, never)


TRANSFORMER: Mapping[str, Importer] = {
    "Attention": _attention,
    "RMSNormalization": _rms_normalization,
    "RotaryEmbedding": _rotary_embedding,
    "SimplifiedLayerNormalization": _rms_normalization,
}
MICROSOFT: Mapping[str, Importer] = {
    "GroupQueryAttention": _grouped_query_attention,
    "RotaryEmbedding": _rotary_of_runtime,
    "SkipSimplifiedLayerNormalization": _skip_rms_normalization,
}
