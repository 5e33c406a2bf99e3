"""Every scalar function's C equals its meaning, on random and on extreme arguments."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from c_checks import Check, c_array, failures_on_board, failures_on_host

from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.average_pool2d import Halves
from aot.ops.binary_rescale import add_parameters
from aot.ops.mean import MeanParameters
from aot.ops.requant import multiply_by_quantized_multiplier
from aot.ops.rounding import PARITY, RequantRounding
from aot.ops.softmax import softmax_parameters
from codegen.c.kernel_library import collect_helpers
from codegen.c.printer import Printer
from codegen.isa.dsp.isa import with_dsp
from codegen.isa.plain import arithmetic, scalar, softmax
from codegen.isa.plain.f32 import quantise_f32
from codegen.isa.plain.fitted_scale import SumRange, fitted, store_fitted
from codegen.isa.plain.requantise import Requant, store_quantised
from codegen.isa.plain.scalar import requantise, stored_mean
from codegen.isa.plain.scalar_math import CLAMP, PORTABLE, ScalarMath
from codegen.loops.ir import ScalarFunction

COUNT = 400
RNG = np.random.default_rng(7)
INT32 = (-(2**31), 2**31 - 1)
INT30 = (-(2**30) + 1, 2**30 - 1)
MULT = (2**30, 2**31 - 1)
INT8 = (-128, 127)


@dataclass(frozen=True)
class Trial:
    """A C expression over a[0], a[1], ..., the arguments it is tried on and what it must give."""

    name: str
    functions: tuple[ScalarFunction, ...]
    call: str
    arguments: Array  # one row for each call
    wanted: Array

    def check(self) -> Check:
        helpers = collect_helpers(self.functions)
        printer = Printer(names=helpers.names)
        includes = [f"#include <{name}>" for name in helpers.includes]
        call = printer.helper_text(self.call, [helper.name for helper in helpers.every])
        columns = self.arguments.shape[1]
        text = f"""
{c_array("flat", self.arguments.astype(np.int32))}{c_array("wanted", self.wanted.astype(np.int32))}
uint32_t CHECK(void)
{{
    for (uint32_t i = 0; i < {len(self.wanted)}u; i++) {{
        const int32_t *const a = flat + i * {columns}u;
        if ({call} != wanted[i]) {{
            return i + 1;
        }}
    }}
    return 0;
}}
"""
        return Check(self.name, "\n".join((*includes, *helpers.texts(printer), text)))


def trial(name: str, function: ScalarFunction, arguments: Array) -> Trial:
    """One function against its own meaning."""
    call = f"{function.name}({', '.join(f'a[{n}]' for n in range(arguments.shape[1]))})"
    wanted = np.array([function.meaning(*row) for row in arguments.tolist()])
    return Trial(c_name(name), (function,), call, arguments, wanted)


def c_name(name: str) -> str:
    return name.replace("-", "m").replace(".", "_")


def within(low: int, high: int, count: int = COUNT) -> Array:
    """Random values of every magnitude, with both ends, zero and its neighbours among them."""
    reach = 2.0 ** RNG.uniform(0, 32, count) * RNG.choice([-1, 1], count)
    values = np.clip(np.rint(reach), low, high)
    edges = [v for v in (low, low + 1, -1, 0, 1, high - 1, high) if low <= v <= high]
    values[: len(edges)] = edges
    return RNG.permutation(values.astype(np.int64))


def rows(*columns: Array) -> Array:
    return np.stack(columns, axis=1)


def requant_trials(math: ScalarMath) -> Iterator[Trial]:
    for (zero, low, high), kind in product(CLAMPS, KINDS):
        yield requant_trial(f"to_int8_{zero}_in_{low}_{high}_{kind}", zero, low, high, kind, math)


# Zero point, lowest and highest result: no activation, relu, relu6, and ones that let little through.
CLAMPS = (
    (-128, -128, 127),
    (5, -128, 127),
    (127, -128, 127),
    (-9, -9, 127),
    (-128, -128, 90),
    (3, -3, 9),
    (0, 0, 0),
)

# kind -> rounding, least and greatest right shift, whether sums fit 30 bits
KINDS = {
    "plain": (RequantRounding.DOUBLE, (1, 22), True),
    "no_shift": (RequantRounding.DOUBLE, (0, 22), True),
    "wide": (RequantRounding.DOUBLE, (1, 22), False),
    "far_right": (RequantRounding.DOUBLE, (1, 31), True),
    "wide_far_right": (RequantRounding.DOUBLE, (23, 31), False),
    "left": (RequantRounding.DOUBLE, (-30, 31), False),
    "once": (RequantRounding.SINGLE, (-30, 31), False),
    "even": (RequantRounding.EVEN, (-30, 31), False),
    "odd": (RequantRounding.ODD, (-30, 31), False),
    "even_powers": (RequantRounding.EVEN, (0, 21), True),
    "odd_powers": (RequantRounding.ODD, (0, 21), True),
    "even_power": (RequantRounding.EVEN, (6, 6), True),
    "odd_power": (RequantRounding.ODD, (0, 0), True),
}


def requant_trial(name: str, zero: int, low: int, high: int, kind: str, math: ScalarMath) -> Trial:
    """Storing a sum, with what is prepared for it, against the op's reference."""
    rounding, rights, small = KINDS[kind]
    requant = Requant(zero, low, high, rounding, rights, small, math=math, are_powers="power" in kind)
    to_stored = store_quantised(requant)
    sums, mults, right = requant_arguments(kind)
    wanted = multiply_by_quantized_multiplier(sums, mults, -right, rounding) + zero  # type: ignore[arg-type, misc]
    functions = (to_stored.store,) if to_stored.prepare is None else (to_stored.prepare, to_stored.store)
    prepared = "" if to_stored.prepare is None else f", {to_stored.prepare.name}(a[2])"
    call = f"{to_stored.store.name}(a[0], a[1], a[2]{prepared})"
    return Trial(c_name(name), functions, call, rows(sums, mults, right), np.clip(wanted, low, high))


def requant_arguments(kind: str) -> tuple[Array, Array, Array]:
    """Sums, multipliers, right shifts; half of the sums give a result that is half way or near the clamp."""
    _, rights, small = KINDS[kind]
    sums = within(*(INT30 if small else INT32))
    mults = RNG.integers(*MULT, COUNT, endpoint=True)
    mults[:3] = (*MULT, 2**30 + 1)
    if KINDS[kind][0] in PARITY:  # whose halves are exact
        mults[RNG.random(COUNT) < 0.5] = 2**30
    right = RNG.integers(*rights, COUNT, endpoint=True)
    right[:2] = rights
    if "power" in kind:
        mults[:] = 2**30
    if rights[0] <= 0 and "power" not in kind:
        mults[-1], right[-1] = 0, 0  # the multiplier of a channel too small to matter
    near = np.rint(np.ldexp(RNG.integers(-520, 520, COUNT) / 2.0 / mults.clip(1), 31 + right))
    take = (RNG.random(COUNT) < 0.5) & (near >= sums.min()) & (near <= sums.max())
    return np.where(take, near, sums).astype(np.int64), mults, right


def fitted_trials(math: ScalarMath) -> Iterator[Trial]:
    """Storing sums with scales fitted to them, at all sums around which the result changes."""
    for (zero, low, high), right in product(CLAMPS[:1] + CLAMPS[3:5], (2, 7, 10)):
        r = Requant(zero, low, high, RequantRounding.DOUBLE, (right, right), True, math=math)
        mult = np.array([1717986918])
        sums = np.arange(-(1 << 16), 1 << 16)
        found = fitted(r, mult, np.array([right]), SumRange(sums[:1], sums[-1:]), math.high_word_half)
        assert found is not None
        scaled = multiply_by_quantized_multiplier(sums, mult, np.array([-right]), r.rounding)
        wanted = np.clip(np.asarray(scaled, np.int64) + zero, low, high)
        changes = np.flatnonzero(np.diff(wanted))
        seen = np.unique(np.concatenate(([0], changes, changes + 1, [len(sums) - 1])))
        store = store_fitted(r, found.shift).store
        constants = np.concatenate((found.mult, found.addend))
        arguments = np.column_stack((sums[seen] + found.offset, np.tile(constants, (len(seen), 1))))
        call = f"{store.name}(a[0], a[1], a[2])"
        yield Trial(c_name(f"fitted_{zero}_in_{low}_{high}_{right}"), (store,), call, arguments, wanted[seen])


def int8(scale: float, zero_point: int = 0) -> TensorType:
    return TensorType(DType.I8, (1, 4), Quant((float(np.float32(scale)),), (zero_point,)))


# Scales of both inputs and the result, zero points of the same, clamp.
ADDS = {
    "alike": ((0.1, 0.1, 0.1), (0, 0, 0), INT8),
    "saturating": ((0.5, 0.5, 0.01), (-128, 127, 3), INT8),
    "first_tiny": ((1e-6, 0.3, 0.2), (5, -128, 127), INT8),
    "first_vanishing": ((3e-10, 0.3, 0.2), (5, -128, 127), INT8),
    "coarsest_result": ((1e-4, 1e-4, 300.0), (-128, 127, 0), INT8),
    "coarse_result": ((0.01, 0.02, 3.0), (-128, -128, -128), (-128, 127)),
    "relu": ((0.04, 0.05, 0.06), (4, -4, -9), (-9, 90)),
    "result_above_2_to_20": ((0.1, 0.1, 1e-6), (0, 1, 2), INT8),
}


def sum_trials(math: ScalarMath) -> Iterator[Trial]:
    """Sums of two operands, and of one with a constant that is at the sum's scale already."""
    for (name, (scales, zeros, clamp)), sign in product(ADDS.items(), "+-"):
        first, second, out = zeros
        types = [int8(scale, zero) for scale, zero in zip(scales, zeros, strict=True)]
        p, result = add_parameters(*types), arithmetic.StoredResult(out, *clamp, math)
        both = arithmetic.sum_int8(sign, p, (first, second), result)
        yield trial(f"sum_{ord(sign)}_{name}", both, pairs_of_bytes())
        one = arithmetic.sum_int8(sign, p, (first, None), result)
        prepared = within(-(2**28), 2**28)
        yield trial(f"sum_{ord(sign)}_{name}_constant", one, rows(pairs_of_bytes()[:, 0], prepared))


# Multiplier, zero points of both factors (None: it has been subtracted), of the result, clamp.
PRODUCTS = {
    "small": ((2**30 + 12345, -9), (3, -128), 7, INT8),
    "far_right": ((2**31 - 1, -31), (0, 0), 0, INT8),
    "one": ((2**30, 1), (127, 5), -128, INT8),
    "above_one": ((1717986918, 13), (-128, 127), 0, INT8),
    "nothing": ((0, 0), (1, 2), -9, INT8),
    "constant": ((2**30 + 777, -7), (None, -3), 3, (3, 90)),
}


def product_trials(math: ScalarMath) -> Iterator[Trial]:
    for name, (multiplier, zeros, out, clamp) in PRODUCTS.items():
        function = arithmetic.product_int8(multiplier, zeros, arithmetic.StoredResult(out, *clamp, math))
        yield trial(f"product_{name}", function, pairs_of_bytes())


def pairs_of_bytes() -> Array:
    pairs = rows(RNG.integers(*INT8, COUNT, endpoint=True), RNG.integers(*INT8, COUNT, endpoint=True))
    pairs[:4] = [(-128, -128), (-128, 127), (127, -128), (127, 127)]
    return pairs


def softmax_trials() -> Iterator[Trial]:
    differences = np.arange(-255, 1)
    for scale in (1e-4, 0.0125, 0.1447, 0.5, 3.0, 100.0):
        p = softmax_parameters(int8(scale), 1.0)
        yield trial(f"exp_of_difference_{scale}", softmax.exp_of_difference(p), differences[:, None])
        yield trial(f"exp_for_sum_{scale}", softmax.exp_for_sum(p), differences[:, None])
        sums = within(1 << 19, INT32[1])
        scales = [softmax.RECIPROCAL.meaning(int(v)) for v in sums]
        bits = [softmax.RECIPROCAL_BITS.meaning(int(v)) for v in sums]
        arguments = rows(RNG.integers(-255, 1, COUNT), np.array(scales), np.array(bits))
        yield trial(f"share_{scale}", softmax.share(p), arguments)
    yield trial("reciprocal", softmax.RECIPROCAL, within(1 << 19, INT32[1])[:, None])
    yield trial("reciprocal_bits", softmax.RECIPROCAL_BITS, within(1, INT32[1])[:, None])


def other_trials(math: ScalarMath) -> Iterator[Trial]:
    yield trial("clamp", CLAMP, rows(within(*INT32), np.full(COUNT, -100), np.full(COUNT, 7)))
    yield trial("doubling_high_mul", math.high_mul, rows(within(*INT30), within(*MULT)))
    added = rows(within(*INT30), within(*MULT), within(*INT30))
    yield trial("doubling_high_mul_add", math.high_mul_add, added)
    yield trial(
        "divide_by_pot", scalar.DIVIDE_BY_POT, rows(within(-(2**29), 2**29), RNG.integers(1, 30, COUNT))
    )
    for halves, count in product(Halves, (1, 2, 3, 7, 64, 1000)):
        sums = within(-128 * count, 127 * count)[:, None]
        yield trial(f"mean_of_{count}_{halves.name}", scalar.mean_of(count, halves), sums)
    for halves in Halves:
        counts = RNG.integers(1, 1000, COUNT)
        sums = RNG.integers(-128, 128, COUNT) * counts + counts // 2  # most of them half way
        yield trial(f"mean_{halves.name}", scalar.mean_of_counted(halves), rows(sums, counts))
    most = rows(within(*INT32), within(-(2**30), 2**30))
    yield trial("add_wrapping", scalar.ADD_WRAPPING, most)
    for low, high in (INT8, (0, 127), (-128, -128), (-7, 90)):
        yield trial(f"clamp_{low}_{high}", scalar.clamp_to(low, high), within(*INT32)[:, None])


def quantising_trials() -> Iterator[Trial]:
    """Floats, most of them half way between two steps; NumPy's rounding is the judge."""
    halves = np.arange(-300, 301)
    for even, zero_point in product((False, True), (0, -7)):
        function = quantise_f32(Quant((0.25,), (zero_point,)), DType.I8, even)
        steps = halves / 2.0
        whole = np.rint(steps) if even else np.sign(steps) * np.floor(np.abs(steps) + 0.5)
        name = f"quantise_{'even' if even else 'away'}_{zero_point}"
        call = f"{function.name}((float)a[0] * 0.125f)"
        wanted = np.clip(whole + zero_point, *INT8).astype(np.int64)
        assert wanted.tolist() == [function.meaning(h * 0.125) for h in halves.tolist()]
        yield Trial(c_name(name), (function,), call, halves[:, None], wanted)


def trials(math: ScalarMath) -> list[Trial]:
    makers: Sequence[Callable[[bool], Iterator[Trial]]] = (  # type: ignore[assignment]
        requant_trials,
        fitted_trials,
        sum_trials,
        product_trials,
        other_trials,
    )
    found = [t for maker in makers for t in maker(math)]  # type: ignore[arg-type]
    return found if math is not PORTABLE else [*found, *softmax_trials(), *quantising_trials()]


@pytest.mark.slow
@pytest.mark.parametrize("math", [PORTABLE, with_dsp(PORTABLE)], ids=["portable", "dsp"])
def test_functions_call_what_they_say(math):
    """A helper that is named and not called would stand in the C for nothing."""
    every = [function for each in trials(math) for function in each.functions]
    for shift, dtype in product((-3, 0, 2), (DType.I8, DType.I32)):
        every.append(stored_mean(MeanParameters(2**30 + 7, shift), 5, -3, dtype))
        every.append(requantise(Quant((0.75 * 2.0**shift,), (1,)), Quant((1.0,), (0,)), dtype))
    for function in every:
        for called in function.calls:
            assert f"{called.name}(" in function.definition, f"{function.name} calls {called.name}"


@pytest.mark.cc
@pytest.mark.slow
def test_portable_functions_mean_what_they_say(tmp_path):
    checks = [t.check() for t in trials(PORTABLE)]
    assert failures_on_host(checks, tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_dsp_functions_mean_what_they_say(tmp_path):
    checks = [t.check() for t in trials(with_dsp(PORTABLE))]
    assert failures_on_board(checks, tmp_path / "checks") == {}
