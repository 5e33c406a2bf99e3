"""Layers of language models: RMS normalization, rotary positions, and attention to a cache of known length.

Other forms of these operators are read by ONNX's own definitions of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ir.types import DType
from aot.ops.transformer import CachedAttention, RmsNorm, Rotary

_HEADS = 1  # dimension


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


TRANSFORMER: Mapping[str, Importer] = {
    "Attention": _attention,
    "RMSNormalization": _rms_normalization,
    "RotaryEmbedding": _rotary_embedding,
    "SimplifiedLayerNormalization": _rms_normalization,
}
MICROSOFT: Mapping[str, Importer] = {
    "SkipSimplifiedLayerNormalization": _skip_rms_normalization,
}
