"""Fitted scales store what the reference stores, for every sum there can be, or there are none."""

import numpy as np
import pytest

from aot.ir.types import DType
from aot.ops.requant import Ints, multiply_by_quantized_multiplier
from aot.ops.rounding import RequantRounding
from codegen.isa.dsp.isa import with_dsp
from codegen.isa.plain.fitted_scale import FittedScales, SumRange, fitted, store_fitted
from codegen.isa.plain.requantise import Requant
from codegen.isa.plain.scalar_math import PORTABLE, ScalarMath

CHANNELS = 12
MATHS = {"portable": PORTABLE, "dsp": with_dsp(PORTABLE)}

# Rounding, zero point, the least and greatest result, the right shifts of the channels.
LAYERS = {
    "relu": (RequantRounding.DOUBLE, -128, (-128, 127), (6, 10)),
    "relu6": (RequantRounding.DOUBLE, -100, (-100, 56), (7, 9)),
    "relu_above_0": (RequantRounding.DOUBLE, 3, (3, 127), (5, 8)),
    "large_scales": (RequantRounding.DOUBLE, -128, (-128, 127), (2, 2)),
    "signed": (RequantRounding.SINGLE, -7, (-128, 127), (6, 9)),
    "few_results": (RequantRounding.SINGLE, 0, (-3, 4), (8, 9)),
}


def drawn(
    rng: np.random.Generator, rights: tuple[int, int], step: int, addends: DType = DType.I16
) -> tuple[Ints, Ints, SumRange]:
    """Multipliers, right shifts and ranges of sums: within a few results, or far beyond the clamp."""
    mult = rng.integers(2**30, 2**31, CHANNELS)
    mult[:2] = 2**30, 2**31 - 1
    right = rng.integers(*rights, CHANNELS, endpoint=True)
    reach = np.rint(2.0 ** rng.uniform(3, 17, CHANNELS)).astype(np.int64)
    start = rng.integers(-1000, 1000, CHANNELS)
    return mult, right, SumRange(start - reach, start + reach, step, addends)


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 4, 256])
@pytest.mark.parametrize("math", sorted(MATHS))
@pytest.mark.parametrize("layer", sorted(LAYERS))
def test_every_sum_is_stored_as_the_reference_stores_it(layer, math, step):
    rounding, zero, (low, high), rights = LAYERS[layer]
    r = Requant(zero, low, high, rounding, rights, True, math=MATHS[math])
    rng = np.random.default_rng(11)
    fits = 0
    for _ in range(6):
        mult, right, sums = drawn(rng, rights, step)
        found = fitted(r, mult, right, sums, r.math.high_word_half)
        fits += found is not None
        if found is not None:
            _assert_equal(r, found, mult, right, sums)
    assert fits >= 5, "nearly every layer has fitted scales"


def _assert_equal(r: Requant, found: FittedScales, mult: Ints, right: Ints, sums: SumRange) -> None:
    for channel in range(CHANNELS):
        every = np.arange(sums.least[channel], sums.greatest[channel] + 1)
        scaled = multiply_by_quantized_multiplier(
            every, np.int64(mult[channel]), np.int64(-right[channel]), r.rounding
        )
        wanted = np.clip(np.asarray(scaled, np.int64) + r.zero_point, r.low, r.high)
        moved = every * sums.step + found.offset[channel]
        high_word = (moved * found.mult[channel] + r.math.high_word_half >> 32) + found.addend[channel]
        assert np.array_equal(np.clip(high_word >> found.shift, r.low, r.high), wanted)
        store = store_fitted(r, found.shift).store
        for n in {0, len(every) // 2, len(every) - 1}:
            arguments = int(moved[n]), int(found.mult[channel]), int(found.addend[channel])
            assert store.meaning(*arguments) == wanted[n]


@pytest.mark.slow
@pytest.mark.parametrize(("step", "shift", "short"), [(1, 4, {4}), (256, 10, {8, 10})])
def test_with_addends_of_32_bits_the_first_shift_does(step, shift, short):
    """So other weights have the same code; with 16 bits it does not for all layers."""
    rounding, zero, (low, high), rights = LAYERS["relu"]
    r = Requant(zero, low, high, rounding, rights, True, math=MATHS["dsp"])
    shifts: dict[DType, set[int]] = {DType.I16: set(), DType.I32: set()}
    for seed in range(12):
        for addends, found_shifts in shifts.items():
            mult, right, sums = drawn(np.random.default_rng(seed), rights, step, addends)
            found = fitted(r, mult, right, sums, r.math.high_word_half)
            assert found is not None
            found_shifts.add(found.shift)
            _assert_equal(r, found, mult, right, sums)
            assert np.abs(found.addend).max() < (2**15 if addends is DType.I16 else 2**26)
    assert shifts == {DType.I16: short, DType.I32: {shift}}


def test_constants_fit_their_tables():
    rounding, zero, (low, high), rights = LAYERS["signed"]
    r = Requant(zero, low, high, rounding, rights, True, math=PORTABLE)
    found = fitted(r, *drawn(np.random.default_rng(3), rights, 1), r.math.high_word_half)
    assert found is not None
    assert np.abs(found.addend).max() < 2**15
    assert 0 <= found.mult.min() <= found.mult.max() < 2**31
    assert np.abs(found.offset).max() <= 2**19


@pytest.mark.parametrize("right", [0, -3])
def test_scales_too_large_for_one_product_have_none(right):
    r = Requant(0, 0, 127, RequantRounding.DOUBLE, (right, right), True, math=PORTABLE)
    sums = SumRange(np.array([-9]), np.array([9]))
    assert fitted(r, np.array([2**30]), np.array([right]), sums, 0) is None


def test_results_rounded_away_from_zero_on_both_sides_have_none():
    """One rounding cannot do it where there are enough sums to see the difference."""
    r = Requant(0, -128, 127, RequantRounding.DOUBLE, (9, 9), True, math=PORTABLE)
    sums = SumRange(np.array([-70000]), np.array([70000]))
    assert fitted(r, np.array([2**30 + 12345]), np.array([9]), sums, 0) is None


@pytest.mark.parametrize(("math", "shift"), [("dsp", 4), ("portable", 0)])
def test_what_fits_is_one_shift_for_most_layers(math, shift):
    """Layers with the same shift share their kernels."""
    chosen: ScalarMath = MATHS[math]
    r = Requant(-128, -128, 127, RequantRounding.DOUBLE, (6, 9), True, math=chosen)
    rng = np.random.default_rng(5)
    shifts = [
        found.shift if (found := fitted(r, *drawn(rng, (6, 9), 1), chosen.high_word_half)) else None
        for _ in range(8)
    ]
    assert shifts == [shift] * 8


def test_external_weights_have_the_same_shift_on_all_cores():
    rounding, zero, (low, high), rights = LAYERS["relu"]
    r = Requant(zero, low, high, rounding, rights, True, math=PORTABLE)
    for seed in range(12):
        found = fitted(r, *drawn(np.random.default_rng(seed), rights, 1, DType.I32), 0)
        assert found is not None
        assert found.shift == 4
