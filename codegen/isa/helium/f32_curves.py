"""Helium: sigmoid and tanh of four floats, by the polynomials of `approximate.py`.

Helium has no division: a reciprocal begins with a guess from the number's bits, and three of Newton's steps
double its digits each. Products and sums are fused, so that last digits differ from those of scalar
polynomials. The largest error over all floats is 2.4e-7 of a result (sigmoid at -17.16), and 2.1e-7 for tanh,
except that sigmoids end at 4.5e-38 instead of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from aot.ir.types import DType
from codegen.isa.helium import INCLUDES
from codegen.isa.helium.f32 import AT_LEAST, AT_MOST, FLOAT_NEEDS
from codegen.isa.helium.fours import Fours
from codegen.isa.names import mangle
from codegen.isa.plain.f32 import FUSED, literal
from codegen.kernels.approximate import EXP_TERMS, LN2, LN2_REST, NEAR, PER_LN2, ROUNDS, TANH_TERMS
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Instruction,
    Role,
    ScalarFunction,
    Store,
    at,
    load,
)

_MOST = 86.0  # of an argument of sigmoid: e**v and 1 / e**v are floats
_FLAT = 10.0  # where tanh is 1
_GUESS = 0x7EF311C7  # minus the bits of a number: within an eighth of its reciprocal
_GATES, _FRESH = 4, 3
_INSTRUCTIONS, _STACK_BYTES = 170, 40
_F = np.float32


def _part(name: str, definition: str, *calls: Instruction) -> Instruction:
    return Instruction(name, (), (), "", definition, INCLUDES, calls=calls, needs=FLOAT_NEEDS)


_RECIPROCALS = _part(
    "reals_inverted",
    f"""\
/* 1 / v for v from 1 to 2^125. */
static inline __attribute__((always_inline)) float32x4_t reals_inverted(float32x4_t v)
{{
    const int32x4_t guess = vsubq_s32(vdupq_n_s32(0x{_GUESS:X}), vreinterpretq_s32_f32(v));
    float32x4_t y = vreinterpretq_f32_s32(guess);
    for (int32_t i = 0; i < 3; ++i) {{
        y = vfmaq_f32(y, y, vfmsq_f32(vdupq_n_f32(1.0f), v, y));
    }}
    return y;
}}
""",
)
_first, _second, _third, _last = map(literal, EXP_TERMS)
_EXPS = _part(
    "reals_exp",
    f"""\
/* e to the power of v, for v from -86 to 88; the last bits of `sum` are the power of 2. */
static inline __attribute__((always_inline)) float32x4_t reals_exp(float32x4_t v)
{{
    const float32x4_t sum = vfmaq_n_f32(vdupq_n_f32({literal(ROUNDS)}), v, {literal(PER_LN2)});
    const float32x4_t power = vsubq_n_f32(sum, {literal(ROUNDS)});
    const float32x4_t r =
        vfmaq_n_f32(vfmaq_n_f32(v, power, {literal(-LN2)}), power, {literal(-LN2_REST)});
    float32x4_t y = vfmaq_n_f32(vdupq_n_f32({_third}), r, {_last});
    y = vfmasq_n_f32(y, r, {_second});
    y = vfmasq_n_f32(y, r, {_first});
    y = vaddq_n_f32(vfmaq_f32(r, y, vmulq_f32(r, r)), 1.0f);
    return vreinterpretq_f32_s32(
        vaddq_s32(vreinterpretq_s32_f32(y), vshlq_n_s32(vreinterpretq_s32_f32(sum), 23)));
}}
""",
)
_SIGMOIDS = _part(
    "reals_sigmoid",
    f"""\
/* 1 / (1 + e to the power of -v); v is at least -{_MOST:g}. */
static inline __attribute__((always_inline)) float32x4_t reals_sigmoid(float32x4_t v)
{{
    v = reals_at_most(vnegq_f32(v), vdupq_n_f32({literal(_MOST)}));
    v = reals_at_least(v, vdupq_n_f32({literal(-_MOST)}));
    return reals_inverted(vaddq_n_f32(reals_exp(v), 1.0f));
}}
""",
    AT_MOST,
    AT_LEAST,
    _EXPS,
    _RECIPROCALS,
)
_first, _second, _third, _last = map(literal, TANH_TERMS)
_TANHS = _part(
    "reals_tanh",
    f"""\
static inline __attribute__((always_inline)) float32x4_t reals_tanh(float32x4_t v)
{{
    const float32x4_t size = reals_at_most(vabsq_f32(v), vdupq_n_f32({literal(_FLAT)}));
    const float32x4_t part = reals_inverted(vaddq_n_f32(reals_exp(vaddq_f32(size, size)), 1.0f));
    const int32x4_t far = vreinterpretq_s32_f32(vfmaq_n_f32(vdupq_n_f32(1.0f), part, -2.0f));
    const int32x4_t sign = vandq_s32(vreinterpretq_s32_f32(v), vdupq_n_s32(INT32_MIN));
    const float32x4_t z = vmulq_f32(v, v);
    float32x4_t near = vfmaq_n_f32(vdupq_n_f32({_third}), z, {_last});
    near = vfmasq_n_f32(near, z, {_second});
    near = vfmasq_n_f32(near, z, {_first});
    near = vfmaq_f32(v, v, vmulq_f32(near, z));
    return vpselq_f32(
        near, vreinterpretq_f32_s32(vorrq_s32(far, sign)), vcmpltq_n_f32(size, {literal(NEAR)}));
}}
""",
    AT_MOST,
    _EXPS,
    _RECIPROCALS,
)


def _fused(a: Any, b: Any, total: Any) -> Any:
    return _F(FUSED.meaning(float(a), float(b), float(total)))


def _inverted(v: Any) -> Any:
    y = (np.int32(_GUESS) - v.view(np.int32)).view(np.float32)
    for _ in range(3):
        y = _fused(y, _fused(-v, y, 1), y)
    return _F(y)


def _exp(v: Any) -> Any:
    total = _fused(v, _F(PER_LN2), _F(ROUNDS))
    power = _F(total - _F(ROUNDS))
    r = _fused(power, _F(-LN2_REST), _fused(power, _F(-LN2), v))
    y = _polynomial(EXP_TERMS, r)
    y = _F(_fused(y, _F(r * r), r) + _F(1))
    return _F(np.ldexp(y, int(power)))


def _polynomial(terms: tuple[float, ...], v: Any) -> Any:
    *others, last = map(_F, terms)
    y = last
    for each in reversed(others):
        y = _fused(y, v, each)
    return y


def _sigmoid(v: float) -> float:
    if np.isnan(v):
        return v
    return float(_inverted(_F(_exp(_F(min(max(-v, -_MOST), _MOST))) + _F(1))))


def _tanh(v: float) -> float:
    x, size = _F(v), _F(min(abs(v), _FLAT))
    if np.isnan(v):
        return v
    if size < _F(NEAR):
        z = _F(x * x)
        return float(_fused(x, _F(_polynomial(TANH_TERMS, z) * z), x))
    return float(np.copysign(_fused(_inverted(_F(_exp(_F(size + size)) + _F(1))), _F(-2), _F(1)), x))


def _curve(name: str, compute: Callable[[float], float]) -> ScalarFunction:
    """Returns the meaning of a lane. It has no C code of its own."""
    return ScalarFunction(name, DType.F32, "", compute)


SIGMOID, TANH = _curve("lane_sigmoid", _sigmoid), _curve("lane_tanh", _tanh)
CURVES: Mapping[str, ScalarFunction] = {"logistic": SIGMOID, "tanh": TANH}  # by op
_PARTS = {"logistic": _SIGMOIDS, "tanh": _TANHS}


def curve_row(op: str, count: int) -> Instruction:
    """y[i] = sigmoid(x[i]) or tanh(x[i])."""
    x, y = Buffer("x", DType.F32, 0, Role.ROWS), Buffer("y", DType.F32, 0, Role.OUTPUT)
    i, own, part = variable("i"), Fours(count, "w", "f32"), _PARTS[op]
    name = f"real_{op}_of_{count}"
    lines = [
        f"/* The {op} of {count} numbers, four at a time. */",
        f"static inline void {name}(float *y, const float *x)",
        "{",
        *own.loop([own.stored("y + u", f"{part.name}({own.loaded('x + u')})")]),
        "}",
    ]
    return Instruction(
        name=name,
        params=(y, x),
        body=(For("i", count, (Store(at(y, i), Apply(CURVES[op], (load(x, i),))),)),),
        call=f"{name}({{y}}, {{x[0]}});",
        definition="\n".join(lines) + "\n",
        includes=INCLUDES,
        calls=(part,),
        needs=FLOAT_NEEDS,
        machine_instructions=_INSTRUCTIONS // 3,
        stack_bytes=_STACK_BYTES,
    )


def float_units(count: int, gives_cell: bool, clip: float) -> Instruction:
    """Computes the gates, cells and results of an LSTM's units from the sums of its gates."""
    y, cells = Buffer("y", DType.F32, 0, Role.OUTPUT), Buffer("cells", DType.F32, 0, Role.STATE)
    sums, u = Buffer("sums", DType.F32, 0, Role.SCRATCH), variable("u")

    def curves(gate: int) -> For:
        own = u + gate * count
        curve = TANH if gate == _FRESH else SIGMOID
        return For("u", count, (Store(at(sums, own), Apply(curve, (load(sums, own),))),))

    taken, shown, kept, fresh = (load(sums, u + gate * count) for gate in range(_GATES))
    cell = load(cells, u)
    new = Buffer("new", DType.F32, 1, Role.LOCAL)
    grown: Expr = Apply(FUSED, (kept, cell, load(new)))
    if clip > 0:
        grown = Binary("max", Binary("min", grown, Const(clip)), Const(-clip))
    unit = (
        Declare(new),
        Store(at(new), Binary("*", taken, fresh)),
        Store(cell.place, grown),
        Store(at(y, u), Binary("*", shown, Apply(TANH, (cell,)))),
        *((Store(at(y, u + count), cell),) if gives_cell else ()),
    )
    name = mangle(f"real_lstm_{count}_units", gives_cell, clip)
    own = Fours(count, "w", "f32")
    lines = [
        f"/* {count} units of an LSTM: their gates, cells and hidden values. */",
        f"static inline __attribute__((always_inline)) void {name}(float *y, float *sums, float *cells)",
        "{",
        *_curves("reals_sigmoid", 0, _FRESH * count),
        *_curves("reals_tanh", _FRESH * count, count),
        *own.loop(_unit(own, gives_cell, clip)),
        "}",
    ]
    return Instruction(
        name=name,
        params=(y, sums, cells),
        body=(*map(curves, range(_GATES)), For("u", count, unit)),
        call=f"{name}({{y}}, {{sums}}, {{cells}});",
        definition="\n".join(lines) + "\n",
        includes=INCLUDES,
        calls=(_SIGMOIDS, _TANHS),
        needs=FLOAT_NEEDS,
        machine_instructions=_INSTRUCTIONS,
        stack_bytes=_STACK_BYTES,
    )


def _unit(own: Fours, gives_cell: bool, clip: float) -> list[str]:
    """Returns C code of the cells and results of four units."""
    taken, shown, kept, fresh = (own.loaded(f"sums + u + {gate * own.count}") for gate in range(_GATES))
    clipped = [
        f"cell = reals_at_most(cell, vdupq_n_f32({literal(clip)}));",
        f"cell = reals_at_least(cell, vdupq_n_f32({literal(-clip)}));",
    ]
    return [
        f"float32x4_t cell = vmulq_f32({taken}, {fresh});",
        f"cell = vfmaq_f32(cell, {kept}, {own.loaded('cells + u')});",
        *(clipped if clip > 0 else []),
        own.stored("cells + u", "cell"),
        *([own.stored(f"y + u + {own.count}", "cell")] if gives_cell else []),
        own.stored("y + u", f"vmulq_f32({shown}, reals_tanh(cell))"),
    ]


def _curves(curve: str, first: int, count: int) -> list[str]:
    """Returns C code that replaces sums by gates."""
    own, place = Fours(count, "w", "f32"), f"sums + u + {first}" if first else "sums + u"
    return own.loop([own.stored(place, f"{curve}({own.loaded(place)})")])
