"""fft, real_samples, real_spectrum: butterflies of four and of two, in place in the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod
from operator import mul

import numpy as np

from aot.ir.types import DType
from aot.ops.fft import Fft, factors, spectrum_turns, turns
from codegen.formats import RowFormat
from codegen.isa.plain.fixed_pairs import PairFunctions
from codegen.kernels.flat import flat_kernel, flat_requests, operand, result
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.schedule import OpKernel, Schedule
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    Choose,
    Const,
    Declare,
    Expr,
    For,
    Index,
    Role,
    Stmt,
    Store,
    at,
    load,
)


@dataclass(frozen=True)
class _Pair:
    """Real and imaginary part."""

    real: Expr
    imaginary: Expr


class _Butterflies:
    """Statements as they come; each pair that is computed with twice has two locals of its own."""

    def __init__(self, dtype: DType) -> None:
        self.functions, self.dtype = PairFunctions(dtype), dtype
        self.statements: list[Stmt] = []

    def local(self, name: str, pair: _Pair) -> _Pair:
        made = []
        for part, value in (("re", pair.real), ("im", pair.imaginary)):
            buffer = Buffer(f"{name}_{part}", self.dtype, 1, Role.LOCAL)
            self.statements += [Declare(buffer), Store(at(buffer), value)]
            made.append(load(buffer))
        return _Pair(*made)

    def store(self, buffer: Buffer, place: Affine, pair: _Pair) -> None:
        self.statements.append(Store(at(buffer, place), pair.real))
        self.statements.append(Store(at(buffer, place + 1), pair.imaginary))

    def sum(self, a: _Pair, b: _Pair) -> _Pair:
        f = self.functions.sum
        return _Pair(Apply(f, (a.real, b.real)), Apply(f, (a.imaginary, b.imaginary)))

    def difference(self, a: _Pair, b: _Pair) -> _Pair:
        f = self.functions.difference
        return _Pair(Apply(f, (a.real, b.real)), Apply(f, (a.imaginary, b.imaginary)))

    def divided(self, a: _Pair, by: int) -> _Pair:
        f = self.functions.divided(by)
        return _Pair(Apply(f, (a.real,)), Apply(f, (a.imaginary,)))

    def turned(self, z: _Pair, w: _Pair) -> _Pair:
        values = (z.real, z.imaginary, w.real, w.imaginary)
        return _Pair(Apply(self.functions.real, values), Apply(self.functions.imaginary, values))


def _at(buffer: Buffer, place: Affine) -> _Pair:
    return _Pair(load(buffer, place), load(buffer, place + 1))


def _fft(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, x, ys = site.node.op, operand(site, 0, "x"), result(site)
    assert isinstance(op, Fft)
    pairs, size = op.pairs, site.input(0).shape[-1]
    first = variable("row") * (2 * pairs)
    w = Buffer("w", x.dtype, 2 * pairs, Role.CONSTANT)
    body = [_in_order(x, ys, size, factors(pairs))]
    done = 1
    for radix in reversed(factors(pairs)):
        body.append(_stage(ys, w, first, radix, done, pairs))
        done *= radix
    rows = For("row", ys.elements // (2 * pairs), tuple(body))
    kernel = flat_kernel(site, (x, w), (rows,), "the transform")
    return replace(
        kernel, constants={**kernel.constants, "w": turns(pairs, x.dtype).astype(x.dtype.numpy).reshape(-1)}
    )


def _in_order(x: Buffer, ys: Buffer, size: int, radices: tuple[int, ...]) -> Stmt:
    """Each sample to the small transform that it is of: the digits of its number, the other way round."""
    count = prod(radices)
    source, target = to_affine(0), to_affine(0)
    for n, taken in enumerate(accumulate((1, *radices[:-1]), mul)):
        digit = variable(f"d{n}")
        source = source + digit * (2 * taken)
        target = target + digit * (2 * count // (taken * radices[n]))
    row = variable("row")
    zero = Const(0.0 if x.dtype is DType.F32 else 0)
    body: tuple[Stmt, ...] = ()
    for part in range(2):
        sample: Expr = load(x, row * size + source + part)
        if size < 2 * count:
            sample = Choose(Binary("<", Index(source + part), Const(size)), sample, zero)
        body += (Store(at(ys, row * (2 * count) + target + part), sample),)
    for n, radix in reversed(list(enumerate(radices))):
        body = (For(f"d{n}", radix, body),)
    return body[0]


def _stage(ys: Buffer, w: Buffer, first: Affine, radix: int, done: int, pairs: int) -> Stmt:
    """Every `radix` transforms of `done` pairs become one."""
    step = pairs // (radix * done)
    k, begin = variable("k"), variable("group") * (2 * radix * done)
    places = [first + begin + k * 2 + 2 * q * done for q in range(radix)]
    steps = _Butterflies(ys.dtype)
    parts = [steps.local(f"z{q}", steps.divided(_at(ys, place), radix)) for q, place in enumerate(places)]
    turned = [parts[0]] + [
        steps.local(f"t{q}", steps.turned(parts[q], _at(w, k * (2 * step * q)))) for q in range(1, radix)
    ]
    (_two if radix == 2 else _four)(steps, ys, places, turned)
    return For("group", step, (For("k", done, tuple(steps.statements)),))


def _two(steps: _Butterflies, ys: Buffer, places: Sequence[Affine], z: Sequence[_Pair]) -> None:
    steps.store(ys, places[0], steps.sum(z[0], z[1]))
    steps.store(ys, places[1], steps.difference(z[0], z[1]))


def _four(steps: _Butterflies, ys: Buffer, places: Sequence[Affine], z: Sequence[_Pair]) -> None:
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
    x, ys = operand(site, 0, "x"), result(site)
    pairs = site.input(0).shape[-1] // 2
    source, target, k = variable("row") * (2 * pairs), variable("row") * (2 * pairs + 2), variable("k")
    w = Buffer("w", x.dtype, max(2 * (pairs // 2), 2), Role.CONSTANT)
    table = np.zeros(w.elements, x.dtype.numpy)
    angles = spectrum_turns(pairs, x.dtype).reshape(-1)
    table[: angles.size] = angles
    ends = _Butterflies(x.dtype)
    start = ends.local("start", ends.divided(_at(x, source), 2))
    zero = Const(0.0 if x.dtype is DType.F32 else 0)
    f = ends.functions
    ends.store(ys, target, _Pair(Apply(f.sum, (start.real, start.imaginary)), zero))
    ends.store(ys, target + 2 * pairs, _Pair(Apply(f.difference, (start.real, start.imaginary)), zero))
    middle = _mirrored(x, ys, w, source + k * 2 + 2, source + k * -2 + 2 * (pairs - 1), target, pairs)
    body = (*ends.statements, *((For("k", pairs // 2, middle),) if pairs > 1 else ()))
    kernel = flat_kernel(site, (x, w), (For("row", x.elements // (2 * pairs), body),), "the spectrum")
    return replace(kernel, constants={**kernel.constants, "w": table})


def _samples(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    x, ys = operand(site, 0, "x"), result(site)
    pairs = site.input(0).shape[-1] // 2 - 1
    source, target = variable("row") * (2 * pairs + 2), variable("row") * (2 * pairs)
    w = Buffer("w", x.dtype, max(2 * (pairs // 2), 2), Role.CONSTANT)
    table = np.zeros(w.elements, x.dtype.numpy)
    angles = spectrum_turns(pairs, x.dtype, backwards=True).reshape(-1)
    table[: angles.size] = angles
    ends = _Butterflies(x.dtype)
    first, last = load(x, source), load(x, source + 2 * pairs)
    f = ends.functions
    both = ends.local("both", _Pair(Apply(f.sum, (first, last)), Apply(f.difference, (first, last))))
    ends.store(ys, target, _exchanged(ends.divided(both, 2)))
    middle = _unmirrored(x, ys, w, source, target, pairs)
    body = (*ends.statements, *((For("k", pairs // 2, middle),) if pairs > 1 else ()))
    rows = x.elements // (2 * pairs + 2)
    kernel = flat_kernel(site, (x, w), (For("row", rows, body),), "pairs of samples out of the spectrum")
    return replace(kernel, constants={**kernel.constants, "w": table})


def _exchanged(pair: _Pair) -> _Pair:
    return _Pair(pair.imaginary, pair.real)


def _unmirrored(
    x: Buffer, ys: Buffer, w: Buffer, source: Affine, target: Affine, pairs: int
) -> tuple[Stmt, ...]:
    """A pair and the one that mirrors it; in the middle both are one, and the second store stays."""
    steps, k = _Butterflies(x.dtype), variable("k")
    f, here, there = steps.functions, k * 2 + 2, k * -2 + 2 * (pairs - 1)
    a = steps.local("a", steps.divided(_at(x, source + here), 2))
    mirror = _at(x, source + there)
    mirror = _Pair(mirror.real, Apply(f.negative, (mirror.imaginary,)))
    b = steps.local("b", steps.divided(mirror, 2))
    total = steps.local("total", steps.sum(a, b))
    apart = steps.local("apart", steps.difference(a, b))
    turned = steps.local("turned", steps.turned(apart, _at(w, k * 2)))
    steps.store(ys, target + here, _exchanged(steps.sum(total, turned)))
    less = steps.difference(total, turned)
    steps.store(ys, target + there, _exchanged(_Pair(less.real, Apply(f.negative, (less.imaginary,)))))
    return tuple(steps.statements)


def _mirrored(
    x: Buffer, ys: Buffer, w: Buffer, here: Affine, there: Affine, target: Affine, pairs: int
) -> tuple[Stmt, ...]:
    """A pair and the one that mirrors it; in the middle both are one, and the second store stays."""
    steps, k = _Butterflies(x.dtype), variable("k")
    f = steps.functions
    a = steps.local("a", steps.divided(_at(x, here), 2))
    mirror = _at(x, there)
    mirror = _Pair(mirror.real, Apply(f.negative, (mirror.imaginary,)))
    b = steps.local("b", steps.divided(mirror, 2))
    total = steps.local("total", steps.sum(a, b))
    apart = steps.local("apart", steps.difference(a, b))
    turned = steps.local("turned", steps.turned(apart, _at(w, k * 2)))
    plus, minus = f.half_sum, f.half_difference
    steps.store(
        ys,
        target + k * 2 + 2,
        _Pair(Apply(plus, (total.real, turned.real)), Apply(plus, (total.imaginary, turned.imaginary))),
    )
    steps.store(
        ys,
        target + k * -2 + 2 * (pairs - 1),
        _Pair(Apply(minus, (total.real, turned.real)), Apply(minus, (turned.imaginary, total.imaginary))),
    )
    return tuple(steps.statements)


KERNELS: Mapping[str, OpKernel] = {
    "fft": OpKernel((Schedule("plain", flat_requests, _fft),), frozenset(DType)),
    "real_samples": OpKernel((Schedule("plain", flat_requests, _samples),), frozenset(DType)),
    "real_spectrum": OpKernel((Schedule("plain", flat_requests, _spectrum),), frozenset(DType)),
}
