"""Ticks become instructions, cycles or only time, as the board's counter says; differences are counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, TensorType
from boards.board import Counter
from deploy.benchmark.meter import Meter, spread
from deploy.inputs.samples import make_samples, random_samples
from deploy.verification.compare_layers import differences
from platforms.board_files import load_board

SLOT = TensorSpec("scores", TensorType(DType.I8, (1, 3)))


def test_an_emulated_board_counts_instructions() -> None:
    """One instruction takes 256 ns, one tick 40 ns."""
    meter = Meter(load_board("mps2-an386"))
    assert (meter.unit, meter.count(2560), meter.seconds(2560)) == ("instructions", 400, 400 / 25e6)


def test_a_real_counter_counts_cycles_whatever_its_own_clock() -> None:
    counter = Counter("register", hz=10_000_000, bits=32, address=0x4000_0000)
    meter = Meter(replace(load_board("mps2-an386"), own_counter=counter))
    assert (meter.unit, meter.count(1000), meter.seconds(1000)) == ("cycles", 2500, 1e-4)


def test_a_clock_counts_nothing_but_time() -> None:
    meter = Meter(load_board("host"))
    assert (meter.unit, meter.seconds(1_000_000)) == ("", 1e-3)


def test_a_spread_is_five_numbers() -> None:
    found = spread([1, 2, 3, 6])
    assert (found.mean, found.median, found.min, found.max) == (3, 2.5, 1, 6)
    assert found.std == pytest.approx(3.5**0.5)


def test_equal_outputs_have_no_difference() -> None:
    outputs = [(np.array([[1, 2, 3]], np.int8),)]
    assert differences(outputs, outputs, [SLOT]) == []


def test_a_difference_is_counted_and_its_first_place_is_reported() -> None:
    expected = [(np.array([[1, 2, 3]], np.int8),), (np.array([[1, 2, 3]], np.int8),)]
    found = [(np.array([[1, 2, 3]], np.int8),), (np.array([[1, -126, 4]], np.int8),)]
    (difference,) = differences(expected, found, [SLOT])
    assert str(difference) == (
        'sample 1, output "scores": 2 of 3 elements differ, by 128 at most; first at [0, 1]: -126, expected 2'
    )


def test_a_float_that_is_not_a_number_must_be_none_on_the_board_too() -> None:
    spec = TensorSpec("y", TensorType(DType.F32, (2,)))
    expected, other = (np.array([x, 1.0], np.float32) for x in (np.nan, 1.0))
    assert differences([(expected,)], [(expected,)], [spec]) == []
    assert len(differences([(expected,)], [(other,)], [spec])) == 1


def test_random_samples_are_the_same_each_time_and_reach_the_limits() -> None:
    first, second = (
        random_samples([TensorSpec("x", TensorType(DType.I8, (1, 5000)))], 1).each[0][0] for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert (first.min(), first.max()) == (-128, 127)


def test_an_input_without_an_axis_for_samples_serves_them_all() -> None:
    specs = [TensorSpec("a", TensorType(DType.I8, (2,))), TensorSpec("b", TensorType(DType.I8, (2,)))]
    series = np.arange(6, dtype=np.int8).reshape(3, 2)
    samples = make_samples({"a": series, "input_1": series[0]}, specs, "here")
    assert [tuple(x.tolist() for x in sample) for sample in samples.each] == [
        ([0, 1], [0, 1]),
        ([2, 3], [0, 1]),
        ([4, 5], [0, 1]),
    ]


def test_arrays_come_from_the_device_in_little_endian_order() -> None:
    spec = TensorSpec("x", TensorType(DType.I16, (2,)))
    assert spec.from_bytes(b"\x01\x00\xff\xff").tolist() == [1, -1]
    assert spec.to_bytes(np.array([1, -1], ">i2")) == b"\x01\x00\xff\xff"
