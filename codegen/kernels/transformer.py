"""rms_norm, rotary and cached_attention: the layers of language models.

Loops of attention end at the number of known positions, which the loop nest that defines the meaning cannot
express: there each unknown position gets a share of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import ClassVar

import numpy as np

from aot.ir.types import DType
from aot.ops.transformer import CachedAttention, RmsNorm, Rotary
from aot.target import Feature
from codegen.formats import RowFormat
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import FUSED, f32_function, literal
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.approximate import EXP
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import (
    K,
    flat_kernel,
    flat_requests,
    operand,
    requests_anything,
    result,
    summed,
    vector_kernel,
)
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    BufferPlace,
    Cast,
    Choose,
    Const,
    Declare,
    Expr,
    For,
    Index,
    Instruction,
    Invoke,
    Load,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    less,
    let,
    load,
    local,
    maximum,
    minimum,
)

# Sums in registers, by the number of heads that are computed together: positions and elements of each.
_SUMS = {1: (4, 8), 2: (4, 8), 3: (2, 8), 4: (2, 4)}
_MOST, _TOTAL, _SCORE = (local(name, DType.F32) for name in ("most", "total", "score"))
_COUNT = local("count", DType.I32)
INVERSE = expression_function("inverse_of", DType.F32, (DType.F32,), "1.0f / a", lambda a: 1 / a)


@dataclass(frozen=True)
class AttentionGroup:
    """Heads that share keys and values."""

    heads: int
    head: int  # elements
    positions: int  # of the cache
    scale: float
    length: DType  # of the number of known positions
    is_fused: bool  # products and sums are rounded once
    is_scaled: bool  # keys and values are int8, with a scale for each position
    LEAST: ClassVar[float] = -3.402823466e38

    @property
    def together(self) -> int:
        """Returns how many heads are computed together: they load, and convert, each key and value once.

        Without an FPU, products in software take so long that loads do not matter, but conversions do.
        """
        if not self.is_fused and not self.is_scaled:
            return 1
        return max(count for count in _SUMS if self.heads % count == 0)

    @property
    def name(self) -> str:
        base = f"attend_{self.heads}x{self.head}_of_{self.positions}_{self.length.value}"
        kind = f"{'_i8' if self.is_scaled else ''}{'_fused' if self.is_fused else ''}"
        return mangle(base + kind, self.scale)

    @property
    def cached(self) -> DType:
        """Returns the type of keys and values."""
        return DType.I8 if self.is_scaled else DType.F32

    @property
    def params(self) -> tuple[Buffer, ...]:
        """Returns y, q, k, v, the number of known positions, scratch for the shares, and scales if any."""
        y, q = Buffer("y", DType.F32, 0, Role.OUTPUT), Buffer("q", DType.F32, 0, Role.INPUT)
        k, v = (Buffer(name, self.cached, 0, Role.INPUT) for name in "kv")
        length = Buffer("length", self.length, 1, Role.INPUT)
        shares = Buffer("shares", DType.F32, self.together * self.positions, Role.SCRATCH)
        scales = ("key_scales", "value_scales") if self.is_scaled else ()
        return y, q, k, v, length, shares, *(Buffer(each, DType.F32, 0, Role.INPUT) for each in scales)

    def _meaning(self) -> tuple[Stmt, ...]:
        length = load(self.params[4])
        clamped = minimum(maximum(length, 1), self.positions)
        count = Cast(DType.I32, clamped) if self.length is DType.I64 else clamped
        return (*let(_COUNT, count), For("m", self.heads, self._head()))

    def _head(self) -> tuple[Stmt, ...]:
        """Returns the loops of a head: scores, their exponentials, and the mix of values."""
        y, q, k, v, _, shares, *scales = self.params
        t, e, own = variable("t"), variable("e"), variable("m") * self.head + variable("e")
        cached, share, out = t * self.head + e, load(shares, t), at(y, own)
        known = less(Index(t), load(_COUNT))
        scored = (
            *let(_SCORE, 0.0),
            For("e", self.head, (Accumulate(at(_SCORE), load(q, own) * self._real(load(k, cached))),)),
            Store(share.place, load(_SCORE) * (load(scales[0], t) * self.scale if scales else self.scale)),
            Store(at(_MOST), Choose(known, maximum(load(_MOST), share), load(_MOST))),
        )
        power = Choose(known, Apply(EXP, (share - load(_MOST),)), Const(0.0))
        value = Choose(known, self._real(load(v, cached)), Const(0.0))
        scaled = Store(share.place, Choose(known, share * load(scales[1], t), Const(0.0))) if scales else None
        shared = (Store(share.place, power), Accumulate(at(_TOTAL), share))
        mixed = (
            Store(out, Const(0.0)),
            For("t", self.positions, (Accumulate(out, share * value),)),
            Store(out, load(y, own) * Apply(INVERSE, (load(_TOTAL),))),
        )
        return (
            *let(_MOST, self.LEAST),
            *let(_TOTAL, 0.0),
            For("t", self.positions, scored),
            For("t", self.positions, (*shared, scaled) if scaled else shared),
            For("e", self.head, mixed),
        )

    def _real(self, cached: Load) -> Expr:
        return Cast(DType.F32, cached) if self.is_scaled else cached

    def instruction(self) -> Instruction:
        return Instruction(
            name=self.name,
            params=self.params,
            body=self._meaning(),
            call=f"{self.name}({', '.join(f'{{{p.name}}}' for p in self.params)});",
            definition=self._definition(),
            includes=("math.h",),
            calls=(EXP, *((FUSED,) if self.is_fused else ())),
            machine_instructions=160,
            is_inline=False,
        )

    def _add(self, total: str, a: str, b: str) -> str:
        return f"{total} = real_fused({a}, {b}, {total});" if self.is_fused else f"{total} += {a} * {b};"

    def real(self, cached: str) -> str:
        return f"(float){cached}" if self.is_scaled else cached

    def factor(self, position: str) -> str:
        """Returns what a sum of products with a key is multiplied by."""
        own = literal(self.scale)
        return f"key_scales[{position}] * {own}" if self.is_scaled else own

    def heading(self) -> list[str]:
        """Returns the C function's lines up to those of a head."""
        n, d, c, e = self.positions, self.head, self.length.c_name, self.cached.c_name
        count = self.together
        scales = [", const float *restrict key_scales,", "    const float *restrict value_scales)"]
        ends = scales if self.is_scaled else [")"]
        return [
            f"/* Attention of {self.heads} heads to the first *length positions of their keys and values. */",
            f"static void {self.name}(float *restrict y, const float *restrict q, const {e} *restrict k,",
            f"    const {e} *restrict v, const {c} *length, float *restrict shares{ends[0]}",
            *ends[1:],
            "{",
            f"    const int32_t count = *length < 1 ? 1 : *length > {n} ? {n} : (int32_t)*length;",
            f"    for (int32_t m = 0; m < {self.heads // count}; ++m, q += {count * d}, y += {count * d}) {{",
        ]

    def _definition(self) -> str:
        d, heads, (positions, elements) = self.head, self.together, _SUMS[self.together]
        lines = [
            *self.heading(),
            *(f"        float most{h} = {literal(self.LEAST)};" for h in range(heads)),
            "        int32_t t = 0;",
            f"        for (; t + {positions} <= count; t += {positions}) {{",
            *self._scores(positions),
            "        }",
            "        for (; t < count; ++t) {",
            *self._scores(1),
            "        }",
            f"        const float most[{heads}] = {{{', '.join(f'most{h}' for h in range(heads))}}};",
            f"        float totals[{heads}];",
            f"        for (int32_t h = 0; h < {heads}; ++h) {{",
            f"            float *const own = shares + h * {self.positions};",
            "            float total = 0.0f;",
            "            for (t = 0; t < count; ++t) {",
            "                own[t] = approximate_exp(own[t] - most[h]);",
            "                total += own[t];",
            *(["                own[t] *= value_scales[t];"] if self.is_scaled else []),
            "            }",
            "            totals[h] = 1.0f / total;",
            "        }",
        ]
        for first in range(0, d, elements):
            lines += self._mixed(first, min(elements, d - first))
        return "\n".join([*lines, "    }", "}"]) + "\n"

    def _scores(self, count: int) -> list[str]:
        """Returns the statements for the scores of some positions from t on."""
        d, heads, positions = self.head, range(self.together), range(count)
        sums = [f"s{h}_{i}" for h in heads for i in positions]
        keys = [f"keys[{_after(i * d, 'e')}]" for i in positions]
        queries = [f"q[{_after(h * d, 'e')}]" for h in heads]
        body = [
            f"const {self.cached.c_name} *const keys = k + t * {d};",
            f"float {', '.join(f'{s} = 0.0f' for s in sums)};",
            f"for (int32_t e = 0; e < {d}; ++e) {{",
            *(f"    const float key{i} = {self.real(keys[i])};" for i in positions),
            *(f"    {self._add(f's{h}_{i}', queries[h], f'key{i}')}" for h in heads for i in positions),
            "}",
            *(f"const float factor{i} = {self.factor(_after(i, 't'))};" for i in positions),
        ]
        for h in heads:
            for i in positions:
                s = f"s{h}_{i}"
                body += [
                    f"{s} *= factor{i};",
                    f"most{h} = {s} > most{h} ? {s} : most{h};",
                    f"shares[{_after(h * self.positions + i, 't')}] = {s};",
                ]
        return [f"            {line}" for line in body]

    def _mixed(self, first: int, count: int) -> list[str]:
        """Returns the statements for some elements of the result."""
        heads, elements, n = range(self.together), range(count), self.positions
        body = [
            "{",
            f"    const {self.cached.c_name} *values = v{f' + {first}' if first else ''};",
            f"    float {', '.join(f's{h}_{i} = 0.0f' for h in heads for i in elements)};",
            f"    for (t = 0; t < count; ++t, values += {self.head}) {{",
            *(f"        const float share{h} = shares[{_after(h * n, 't')}];" for h in heads),
            *(
                line
                for i in elements
                for line in (
                    f"        const float value{i} = {self.real(f'values[{i}]')};",
                    *(f"        {self._add(f's{h}_{i}', f'share{h}', f'value{i}')}" for h in heads),
                )
            ),
            "    }",
            *(
                f"    y[{h * self.head + first + i}] = s{h}_{i} * totals[{h}];"
                for h in heads
                for i in elements
            ),
            "}",
        ]
        return [f"        {line}" for line in body]


def _after(distance: int, index: str) -> str:
    return f"{index} + {distance}" if distance else index


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
