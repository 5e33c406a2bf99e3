"""Stores weights that float16 represents exactly as float16: half the flash, and identical results.

A half-precision model has such weights. Kernels compute in single precision; each load converts a weight to
32 bits, which is exact, so that every result is bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from aot.ir.types import Array, DType
from aot.target import Feature, Target
from codegen.kernels.kernel import Kernel
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Body,
    Buffer,
    Declare,
    Element,
    Expr,
    For,
    Invoke,
    Load,
    Proc,
    ScalarFunction,
    Stmt,
    Store,
    indices_of,
    map_values,
    parts_of,
    substitute,
    walk,
)

PAIR = 2  # 16-bit numbers per 32-bit word
_LEAST = 16  # elements of a constant that is worth it
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


def _pair_function(name: str, instruction: str, says: str, compute: Callable[[Any], float]) -> ScalarFunction:
    definition = f"""\
/* The {says} of two numbers of half precision: {instruction.upper()}. */
static inline float {name}(int32_t both)
{{
    float real;
    __asm__("{instruction}.f32.f16 %0, %1" : "=t"(real) : "t"(both));
    return real;
}}
"""
    needs = frozenset({Feature.FPU})
    return ScalarFunction(name, DType.F32, definition, compute, needs=needs, machine_instructions=1)


def _lower_half(both: Any) -> float:
    return _real_of_half((int(both) + (1 << 15)) % (1 << 16) - (1 << 15))


def _upper_half(both: Any) -> float:
    return _real_of_half(int(both) >> 16)


_OF_WORD = (
    _pair_function("lower_real", "vcvtb", "first", _lower_half),
    _pair_function("upper_real", "vcvtt", "second", _upper_half),
)


def with_half_weights(kernel: Kernel, target: Target) -> Kernel:
    """Returns the kernel with its half-precision constants in 16 bits, if it loads them one by one.

    For an FPU, two of them are one 32-bit load if the loops determine which half each load reads.
    """
    names = {name for name, array in kernel.constants.items() if is_half(array)} - _kept_real(kernel)
    if not names or kernel.calls is not None:
        return kernel
    pairs: frozenset[str] = frozenset()
    function = _IN_WHOLE_NUMBERS
    if Feature.FPU in target.features:
        function = _BY_FPU
        written_out = kernel.with_loops(partial(_written_out, names=names))
        pairs = _in_known_halves(written_out, names) - kernel.row_tables.keys()
        kernel = written_out if pairs else kernel
    constants = {
        name: _in_16_bits(array, name in pairs) if name in names else array
        for name, array in kernel.constants.items()
    }
    dtypes = {name: DType.I32 if name in pairs else DType.I16 for name in names}
    changed = kernel.with_loops(partial(_converting, dtypes=dtypes, function=function))
    return replace(changed, constants=constants)


def _in_16_bits(array: Array, in_words: bool) -> Array:
    halves = array.reshape(-1).astype(np.float16)
    return np.pad(halves, (0, halves.size % PAIR)).view(np.int32) if in_words else halves.view(np.int16)


def _written_out(proc: Proc, names: set[str]) -> Proc:
    """Returns the proc with loops unrolled as in C, if iterations read different halves."""

    def visit(body: Body) -> Iterator[Stmt]:
        for stmt in body:
            if not isinstance(stmt, For):
                yield stmt
                continue
            inner = tuple(visit(stmt.body))
            if stmt.unrolled and _takes_halves(inner, stmt.var, names):
                for turn in range(stmt.extent):
                    yield from (substitute(each, {stmt.var: Affine(constant=turn)}) for each in inner)
            else:
                yield replace(stmt, body=inner)

    return replace(proc, body=tuple(visit(proc.body)))


def _takes_halves(body: Body, var: str, names: set[str]) -> bool:
    if any(isinstance(stmt, Declare) for stmt in walk(body)):
        return False  # each iteration has another one
    return any(index.coefficient(var) % PAIR for name, index in indices_of(body) if name in names)


def _in_known_halves(kernel: Kernel, names: set[str]) -> frozenset[str]:
    """Returns the constants whose every load reads the same half in all iterations."""
    unknown = {
        name
        for proc in kernel.procs
        for name, index in indices_of(proc.body)
        if any(factor % PAIR for _, factor in index.terms)
    }
    return frozenset(names - unknown)


def is_half(array: Array) -> bool:
    """Returns True for finite single precision that half precision represents exactly."""
    if array.dtype != np.float32 or array.size < _LEAST or not np.isfinite(array).all():
        return False
    with np.errstate(over="ignore"):
        return np.array_equal(array.astype(np.float16).astype(np.float32), array)


def _kept_real(kernel: Kernel) -> set[str]:
    """Returns the constants that are read other than by loads of one element."""
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


def _converting(proc: Proc, dtypes: Mapping[str, DType], function: ScalarFunction) -> Proc:
    buffers = {p.name: _narrow(p, dtypes[p.name]) for p in proc.params if p.name in dtypes}

    def real(expr: Expr) -> Expr:
        if not (isinstance(expr, Load) and expr.place.buffer.name in buffers):
            return expr
        buffer, index = buffers[expr.place.buffer.name], expr.place.index
        if buffer.dtype is DType.I16:
            return Apply(function, (Load(replace(expr.place, buffer=buffer)),))
        word, half = divmod(index.constant, PAIR)
        terms = tuple((name, factor // PAIR) for name, factor in index.terms)
        return Apply(_OF_WORD[half], (Load(replace(expr.place, buffer=buffer, index=Affine(terms, word))),))

    params = tuple(buffers.get(p.name, p) for p in proc.params)
    return replace(proc, params=params, body=tuple(map_values(stmt, real) for stmt in proc.body))


def _narrow(buffer: Buffer, dtype: DType) -> Buffer:
    elements = -(-buffer.elements // PAIR) if dtype is DType.I32 else buffer.elements
    return replace(buffer, dtype=dtype, elements=elements)
