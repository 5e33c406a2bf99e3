"""rms_norm, rotary and cached_attention: the layers of language models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod, sqrt

import numpy as np

from aot.ir.types import DType
from aot.ops.transformer import CachedAttention, RmsNorm, Rotary
from aot.target import Feature
from codegen.formats import RowFormat
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import f32_function, literal
from codegen.kernels.attention import AttentionGroup
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.nest import flat_kernel, flat_requests, operand, result, summed
from codegen.kernels.row_nests import K, requests_anything, vector_kernel
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    BufferPlace,
    Declare,
    For,
    Invoke,
    Load,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)

_F32 = frozenset({DType.F32})


def _share_of_root(count: int, epsilon: float) -> ScalarFunction:
    single = np.float32(epsilon)
    return f32_function(
        mangle(f"share_of_root_of_{count}", float(single)),
        f"1.0f / sqrtf(v / {literal(count)} + {literal(float(single))})",
        lambda v: 1 / sqrt(v / count + single),
        ("math.h",),
    )


def _lower_rms_norm(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, channels = site.op_as(RmsNorm), inputs[0].channels
    total, share = (local(name, DType.F32) for name in ("total", "share"))
    gain = Buffer("gain", DType.F32, channels, Role.CONSTANT)

    def body(element: Callable[..., Load], place: Callable[[Affine], BufferPlace]) -> Sequence[Stmt]:
        return (
            *let(total, 0.0),
            *summed(total, "k", channels, lambda k: element(k) * element(k)),
            *let(share, Apply(_share_of_root(channels, op.epsilon), (load(total),))),
            For("k", channels, (Store(place(K), _times(element(K), load(share), load(gain, K))),)),
        )

    tables = {gain: site.constants[1]}
    return vector_kernel(site, inputs[0], output, body, "vectors of mean square 1", tables)


def _times(a: Load, b: Load, c: Load) -> Binary:
    return a * b * c


def _lower_rotary(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, x = site.op_as(Rotary), site.input(0)
    *heads, positions, size = x.shape
    half = size // 2
    xs, cosines, sines, ys = (
        operand(site, 0, "x"),
        operand(site, 1, "cosines"),
        operand(site, 2, "sines"),
        result(site),
    )
    pair, position = variable("pair"), variable("position")
    step, second = (2, 1) if op.is_interleaved else (1, half)
    first = variable("h") * (positions * size) + position * size + pair * step
    one, two, turn = load(xs, first), load(xs, first + second), position * half + pair
    cosine, sine = load(cosines, turn), load(sines, turn)
    body = (
        Store(at(ys, first), one * cosine - two * sine),
        Store(at(ys, first + second), two * cosine + one * sine),
    )
    loops = For("h", prod(heads), (For("position", positions, (For("pair", half, body),)),))
    return flat_kernel(site, (xs, cosines, sines), (loops,), "rotated pairs")


def _lower_attention(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return attention_kernel(site, AttentionGroup)


def attention_kernel(site: Site, kind: type[AttentionGroup]) -> Kernel:
    """Returns the kernel with that kind of C code for each group of heads."""
    op, q, k = site.op_as(CachedAttention), site.input(0), site.input(1)
    _, shared, positions, head = k.shape
    group = kind(
        q.shape[1] // shared,
        head,
        positions,
        float(np.float32(op.scale)),
        site.input(3).dtype,
        site.target.has(Feature.FPU),
        k.dtype is DType.I8,
    )
    names = ("q", "k", "v", "length", "key_scales", "value_scales")[: len(site.inputs)]
    operands = tuple(operand(site, position, name) for position, name in enumerate(names))
    shares = Buffer("shares", DType.F32, group.together * positions, Role.LOCAL)
    ys, h = result(site), variable("h")
    queries, cached = h * (group.heads * head), h * (positions * head)
    places = (at(ys, queries), at(operands[0], queries), at(operands[1], cached), at(operands[2], cached))
    scales = (at(each, h * positions) for each in operands[4:])
    call = Invoke(group.instruction(), (*places, at(operands[3]), at(shares), *scales))
    return flat_kernel(site, operands, (Declare(shares), For("h", shared, (call,))), "an attention")


KERNELS: Mapping[str, OpKernel] = {
    "rms_norm": OpKernel((Strategy("plain", requests_anything, _lower_rms_norm),), _F32),
    "rotary": OpKernel((Strategy("plain", flat_requests, _lower_rotary),), _F32),
    "cached_attention": OpKernel((Strategy("plain", flat_requests, _lower_attention),), _F32 | {DType.I8}),
}
