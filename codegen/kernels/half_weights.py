"""Weights that are numbers of 16 bits kept as such: half the bytes of flash, and the same results.

A model of half precision has weights that float16 holds exactly. Kernels compute in single precision; each
load makes a number of 32 bits of a weight, which loses nothing, so that every result keeps its bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from aot.ir.types import Array, DType
from aot.target import Feature, Target
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Element,
    Expr,
    For,
    Invoke,
    Load,
    Proc,
    ScalarFunction,
    Stmt,
    Store,
    map_expr,
    parts_of,
    walk,
)

_LEAST = 16  # elements of a constant for which this is done
_NAME = "real_of_half"


def _real_of_half(bits: Any) -> float:
    return float(np.array(bits, np.int16).view(np.float16))


_IN_WHOLE_NUMBERS = ScalarFunction(
    _NAME,
    DType.F32,
    f"""\
/* A finite number of half precision: its bits at their places in single precision, with the exponent's start
   mended by a product, which is exact. */
static inline float {_NAME}(int32_t bits)
{{
    const uint32_t moved = ((uint32_t)bits & 0x7FFFu) << 13;
    float real;
    memcpy(&real, &moved, sizeof real);
    real *= 5192296858534827628530496329220096.0f; /* 2 to the power of 112 */
    return bits < 0 ? -real : real;
}}
""",
    _real_of_half,
    ("string.h",),
    machine_instructions=8,
)
_BY_FPU = ScalarFunction(
    _NAME,
    DType.F32,
    f"""\
/* A number of half precision: VCVTB. */
static inline float {_NAME}(int32_t bits)
{{
    float real;
    __asm__("vcvtb.f32.f16 %0, %1" : "=t"(real) : "t"(bits));
    return real;
}}
""",
    _real_of_half,
    needs=frozenset({Feature.FPU}),
    machine_instructions=2,
)


def with_half_weights(kernel: Kernel, target: Target) -> Kernel:
    """The kernel with its constants of half precision in 16 bits, where it loads them one by one."""
    names = {name for name, array in kernel.constants.items() if is_half(array)} - _kept_real(kernel)
    if not names or kernel.calls is not None:
        return kernel
    function = _BY_FPU if Feature.FPU in target.features else _IN_WHOLE_NUMBERS
    constants = {
        name: array.astype(np.float16).view(np.int16) if name in names else array
        for name, array in kernel.constants.items()
    }
    changed = kernel.with_loops(partial(_converting, names=names, function=function))
    return replace(changed, constants=constants)


def is_half(array: Array) -> bool:
    """True for single precision that half precision holds exactly, infinities left out."""
    if array.dtype != np.float32 or array.size < _LEAST or not np.isfinite(array).all():
        return False
    with np.errstate(over="ignore"):
        return np.array_equal(array.astype(np.float16).astype(np.float32), array)


def _kept_real(kernel: Kernel) -> set[str]:
    """The constants that something else than a load of one element reads."""
    found = set()
    for proc in kernel.procs:
        is_changed = kernel.carried is None or proc is not kernel.carried.start
        found |= {p.name for p in proc.params} if not is_changed else set(_taken_whole(proc))
    return found


def _taken_whole(proc: Proc) -> Iterator[str]:
    for stmt in walk(proc.body):
        if isinstance(stmt, Invoke):
            yield from (window.buffer.name for window in stmt.windows)
        elif isinstance(stmt, Store | Accumulate):
            yield from _tables(stmt.value)


def _tables(expr: Expr) -> Iterator[str]:
    if isinstance(expr, Element):
        yield expr.place.buffer.name
    for part in parts_of(expr):
        yield from _tables(part)


def _converting(proc: Proc, names: set[str], function: ScalarFunction) -> Proc:
    def real(expr: Expr) -> Expr:
        if isinstance(expr, Load) and expr.place.buffer.name in names:
            buffer = replace(expr.place.buffer, dtype=DType.I16)
            return Apply(function, (Load(replace(expr.place, buffer=buffer)),))
        return expr

    def changed(stmt: Stmt) -> Stmt:
        match stmt:
            case For(_, _, body):
                return replace(stmt, body=tuple(map(changed, body)))
            case Store(_, value) | Accumulate(_, value):
                return replace(stmt, value=map_expr(value, real))
        return stmt

    params = tuple(replace(p, dtype=DType.I16) if p.name in names else p for p in proc.params)
    return replace(proc, params=params, body=tuple(map(changed, proc.body)))
