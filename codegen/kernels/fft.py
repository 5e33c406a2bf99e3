"""fft, real_samples, real_spectrum: radix-4 and radix-2 butterflies, in place in the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.fft import Fft, factors, spectrum_twiddles, twiddles
from codegen.formats import RowFormat
from codegen.isa.plain.signal import ComplexFunctions
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import AxisVector, last_axis_kernel, last_axis_requests
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    Choose,
    Const,
    Expr,
    For,
    Index,
    Role,
    Stmt,
    Store,
    less,
    let,
    load,
    local,
)


@dataclass(frozen=True)
class _Pair:
    """Real and imaginary part."""

    real: Expr
    imaginary: Expr


class _Butterflies:
    """Collects statements. Each pair that is used in several computations has two locals."""

    def __init__(self, dtype: DType) -> None:
        self.functions, self.dtype = ComplexFunctions(dtype), dtype
        self.statements: list[Stmt] = []

    def local(self, name: str, pair: _Pair) -> _Pair:
        made = []
        for part, value in (("re", pair.real), ("im", pair.imaginary)):
            buffer = local(f"{name}_{part}", self.dtype)
            self.statements += [*let(buffer, value)]
            made.append(load(buffer))
        return _Pair(*made)

    def store(self, vector: AxisVector, place: Affine, pair: _Pair) -> None:
        self.statements.append(Store(vector.at(place), pair.real))
        self.statements.append(Store(vector.at(place + 1), pair.imaginary))

    def sum(self, a: _Pair, b: _Pair) -> _Pair:
        f = self.functions.sum
        return _Pair(Apply(f, (a.real, b.real)), Apply(f, (a.imaginary, b.imaginary)))

    def difference(self, a: _Pair, b: _Pair) -> _Pair:
        f = self.functions.difference
        return _Pair(Apply(f, (a.real, b.real)), Apply(f, (a.imaginary, b.imaginary)))

    def divided(self, a: _Pair, by: int) -> _Pair:
        f = self.functions.divided(by)
        return _Pair(Apply(f, (a.real,)), Apply(f, (a.imaginary,)))

    def rotated(self, z: _Pair, w: _Pair) -> _Pair:
        values = (z.real, z.imaginary, w.real, w.imaginary)
        return _Pair(Apply(self.functions.real, values), Apply(self.functions.imaginary, values))


def _at(vector: AxisVector, place: Affine | int) -> _Pair:
    return _Pair(vector.load(place), vector.load(to_affine(place) + 1))


def _table(dtype: DType, elements: int) -> AxisVector:
    """Returns the constant of cosines and sines that a kernel reads."""
    return AxisVector(Buffer("w", dtype, elements, Role.CONSTANT), to_affine(0))


def _fft(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, dtype, size = site.op_as(Fft), site.input(0).dtype, site.input(0).shape[-1]
    pairs = op.pairs
    w = _table(dtype, 2 * pairs)

    def body(x: AxisVector, y: AxisVector) -> Sequence[Stmt]:
        stages, done = [_in_order(x, y, size, factors(pairs))], 1
        for radix in reversed(factors(pairs)):
            stages.append(_stage(y, w, radix, done, pairs))
            done *= radix
        return stages

    kernel = last_axis_kernel(site, inputs, output, body, "the transform", (w.buffer,))
    table = twiddles(pairs, dtype).astype(dtype.numpy).reshape(-1)
    return replace(kernel, constants={**kernel.constants, "w": table})


def _in_order(x: AxisVector, y: AxisVector, size: int, radices: tuple[int, ...]) -> Stmt:
    """Moves each sample to its first small transform, in digit-reversed order."""
    count = prod(radices)
    source, target = to_affine(0), to_affine(0)
    for n, taken in enumerate(accumulate((1, *radices[:-1]), mul)):
        digit = variable(f"d{n}")
        source = source + digit * (2 * taken)
        target = target + digit * (2 * count // (taken * radices[n]))
    zero = Const(0.0 if x.buffer.dtype is DType.F32 else 0)
    body: tuple[Stmt, ...] = ()
    for part in range(2):
        sample: Expr = x.load(source + part)
        if size < 2 * count:
            sample = Choose(less(Index(source + part), size), sample, zero)
        body += (Store(y.at(target + part), sample),)
    for n, radix in reversed(list(enumerate(radices))):
        body = (For(f"d{n}", radix, body),)
    return body[0]


def _stage(ys: AxisVector, w: AxisVector, radix: int, done: int, pairs: int) -> Stmt:
    """Combines `radix` transforms of `done` pairs to one."""
    step = pairs // (radix * done)
    k, begin = variable("k"), variable("group") * (2 * radix * done)
    places = [begin + k * 2 + 2 * q * done for q in range(radix)]
    steps = _Butterflies(w.buffer.dtype)
    parts = [steps.local(f"z{q}", steps.divided(_at(ys, place), radix)) for q, place in enumerate(places)]
    rotated = [parts[0]] + [
        steps.local(f"t{q}", steps.rotated(parts[q], _at(w, k * (2 * step * q)))) for q in range(1, radix)
    ]
    (_two if radix == 2 else _four)(steps, ys, places, rotated)
    return For("group", step, (For("k", done, tuple(steps.statements)),))


def _two(steps: _Butterflies, ys: AxisVector, places: Sequence[Affine], z: Sequence[_Pair]) -> None:
    steps.store(ys, places[0], steps.sum(z[0], z[1]))
    steps.store(ys, places[1], steps.difference(z[0], z[1]))


def _four(steps: _Butterflies, ys: AxisVector, places: Sequence[Affine], z: Sequence[_Pair]) -> None:
    even = steps.local("even", steps.sum(z[0], z[2]))
    odd = steps.local("odd", steps.difference(z[0], z[2]))
    both = steps.local("both", steps.sum(z[1], z[3]))
    apart = steps.local("apart", steps.difference(z[1], z[3]))
    plus, minus = steps.functions.sum, steps.functions.difference
    steps.store(ys, places[0], steps.sum(even, both))
    steps.store(
        ys,
        places[1],
        _Pair(Apply(plus, (odd.real, apart.imaginary)), Apply(minus, (odd.imaginary, apart.real))),
    )
    steps.store(ys, places[2], steps.difference(even, both))
    steps.store(
        ys,
        places[3],
        _Pair(Apply(minus, (odd.real, apart.imaginary)), Apply(plus, (odd.imaginary, apart.real))),
    )


def _spectrum(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    dtype, pairs = site.input(0).dtype, site.input(0).shape[-1] // 2
    w = _table(dtype, max(2 * (pairs // 2), 2))

    def body(x: AxisVector, y: AxisVector) -> Sequence[Stmt]:
        ends = _Butterflies(dtype)
        start = ends.local("start", ends.divided(_at(x, 0), 2))
        zero, f = Const(0.0 if dtype is DType.F32 else 0), ends.functions
        ends.store(y, to_affine(0), _Pair(Apply(f.sum, (start.real, start.imaginary)), zero))
        ends.store(y, to_affine(2 * pairs), _Pair(Apply(f.difference, (start.real, start.imaginary)), zero))
        return _with_middle(ends.statements, pairs, _mirrored(x, y, w, pairs))

    kernel = last_axis_kernel(site, inputs, output, body, "the spectrum", (w.buffer,))
    return replace(kernel, constants={**kernel.constants, "w": _filled(w, spectrum_twiddles(pairs, dtype))})


def _samples(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    dtype, pairs = site.input(0).dtype, site.input(0).shape[-1] // 2 - 1
    w = _table(dtype, max(2 * (pairs // 2), 2))

    def body(x: AxisVector, y: AxisVector) -> Sequence[Stmt]:
        ends = _Butterflies(dtype)
        first, last, f = x.load(0), x.load(2 * pairs), ends.functions
        both = ends.local("both", _Pair(Apply(f.sum, (first, last)), Apply(f.difference, (first, last))))
        ends.store(y, to_affine(0), _exchanged(ends.divided(both, 2)))
        return _with_middle(ends.statements, pairs, _unmirrored(x, y, w, pairs))

    what = "pairs of samples out of the spectrum"
    kernel = last_axis_kernel(site, inputs, output, body, what, (w.buffer,))
    table = _filled(w, spectrum_twiddles(pairs, dtype, backwards=True))
    return replace(kernel, constants={**kernel.constants, "w": table})


def _with_middle(ends: Sequence[Stmt], pairs: int, middle: tuple[Stmt, ...]) -> Sequence[Stmt]:
    return (*ends, *((For("k", pairs // 2, middle),) if pairs > 1 else ()))


def _filled(w: AxisVector, angles: Array) -> Array:
    """Returns the kernel's table, which has at least one pair."""
    table = np.zeros(w.buffer.elements, w.buffer.dtype.numpy)
    table[: angles.size] = angles.reshape(-1)
    return table


def _exchanged(pair: _Pair) -> _Pair:
    return _Pair(pair.imaginary, pair.real)


@dataclass(frozen=True)
class _Mirrored:
    """A pair and its mirror, taken apart. In the middle they are the same pair, and the second store wins."""

    steps: _Butterflies
    here: Affine
    there: Affine
    total: _Pair
    rotated: _Pair


def _taken_apart(x: AxisVector, w: AxisVector, pairs: int) -> _Mirrored:
    steps, k = _Butterflies(w.buffer.dtype), variable("k")
    here, there = k * 2 + 2, k * -2 + 2 * (pairs - 1)
    a = steps.local("a", steps.divided(_at(x, here), 2))
    mirror = _at(x, there)
    mirror = _Pair(mirror.real, Apply(steps.functions.negative, (mirror.imaginary,)))
    b = steps.local("b", steps.divided(mirror, 2))
    total = steps.local("total", steps.sum(a, b))
    apart = steps.local("apart", steps.difference(a, b))
    rotated = steps.local("turned", steps.rotated(apart, _at(w, k * 2)))
    return _Mirrored(steps, here, there, total, rotated)


def _unmirrored(x: AxisVector, y: AxisVector, w: AxisVector, pairs: int) -> tuple[Stmt, ...]:
    both = _taken_apart(x, w, pairs)
    steps, total, rotated = both.steps, both.total, both.rotated
    steps.store(y, both.here, _exchanged(steps.sum(total, rotated)))
    less = steps.difference(total, rotated)
    negative = steps.functions.negative
    steps.store(y, both.there, _exchanged(_Pair(less.real, Apply(negative, (less.imaginary,)))))
    return tuple(steps.statements)


def _mirrored(x: AxisVector, y: AxisVector, w: AxisVector, pairs: int) -> tuple[Stmt, ...]:
    both = _taken_apart(x, w, pairs)
    steps, total, rotated = both.steps, both.total, both.rotated
    plus, minus = steps.functions.half_sum, steps.functions.half_difference
    steps.store(
        y,
        both.here,
        _Pair(Apply(plus, (total.real, rotated.real)), Apply(plus, (total.imaginary, rotated.imaginary))),
    )
    steps.store(
        y,
        both.there,
        _Pair(Apply(minus, (total.real, rotated.real)), Apply(minus, (rotated.imaginary, total.imaginary))),
    )
    return tuple(steps.statements)


KERNELS: Mapping[str, OpKernel] = {
    "fft": OpKernel((Strategy("plain", last_axis_requests, _fft),), frozenset(DType)),
    "real_samples": OpKernel((Strategy("plain", last_axis_requests, _samples),), frozenset(DType)),
    "real_spectrum": OpKernel((Strategy("plain", last_axis_requests, _spectrum),), frozenset(DType)),
}
