"""Tensor expressions become loops that compute what NumPy computes; mistakes are reported with their line."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aot.errors import InputError
from aot.ir.types import Array
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Proc, Role
from codegen.loops.parse import parse_proc
from codegen.loops.text import named_in, print_proc
from deploy import lang

SIZES = st.integers(1, 5)


def ran(proc: Proc, **given: Array) -> Array:
    """The result, of parameters by name."""
    buffers = {
        p.name: given[p.name].reshape(-1).copy() if p.name in given else np.zeros(p.elements, p.dtype.numpy)
        for p in proc.params
    }
    run_proc(proc, {name: [array] for name, array in buffers.items()})
    (result,) = (p.name for p in proc.params if p.role is Role.OUTPUT)
    return buffers[result]


def numbers(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).integers(-128, 128, shape, np.int8)


@settings(max_examples=25, deadline=None)
@given(rows=SIZES, columns=SIZES, length=SIZES)
def test_a_product_is_numpys(rows, columns, length):
    a, b = numbers(1, rows, length), numbers(2, length, columns)
    x = lang.placeholder("x", a.shape, "i8")
    w = lang.placeholder("w", b.shape, "i8", constant=True)
    k = lang.reduce_axis("k", length)
    c = lang.compute("c", (rows, columns), lambda i, j: lang.sum(x[i, k] * w[k, j], k))
    wanted = a.astype(np.int32) @ b.astype(np.int32)
    assert np.array_equal(ran(lang.proc("product", [x, w], c), x=a, w=b), wanted.ravel())


def test_a_convolution_is_an_expression_of_moved_indices():
    a, b = numbers(3, 6, 7), numbers(4, 3, 3)
    x, w = lang.placeholder("x", a.shape, "i8"), lang.placeholder("w", b.shape, "i8")
    r, t = lang.reduce_axis("r", 3), lang.reduce_axis("t", 3)
    y = lang.compute("y", (2, 3), lambda i, j: lang.sum(x[i * 2 + r, j * 2 + t] * w[r, t], r, t, start=7))
    wanted = [
        7 + int((a[i : i + 3, j : j + 3].astype(int) * b).sum())
        for i in range(0, 4, 2)
        for j in range(0, 6, 2)
    ]
    assert ran(lang.proc("conv", [x, w], y), x=a, w=b).tolist() == wanted


def test_greatest_and_least_of_a_row():
    a = numbers(5, 3, 9)
    x, k = lang.placeholder("x", a.shape, "i8"), lang.reduce_axis("k", 9)
    y = lang.compute("y", (3,), lambda i: lang.max(x[i, k], k) - lang.min(x[i, k], k))
    assert np.array_equal(ran(lang.proc("span", [x], y), x=a), np.ptp(a.astype(int), axis=1))


def test_floats_and_choices():
    a = numbers(6, 8).astype(np.float32)
    x = lang.placeholder("x", a.shape, "f32")
    y = lang.compute("y", (8,), lambda i: lang.where(x[i] < 0, x[i] * 0.5, lang.minimum(x[i], 6.0)))
    assert np.array_equal(ran(lang.proc("leaky", [x], y), x=a), np.where(a < 0, a * 0.5, np.minimum(a, 6)))


def test_operators_on_tensors_repeat_sizes_of_one_as_numpy_does():
    a, b = numbers(7, 3, 4), numbers(8, 4)
    x, z = lang.placeholder("x", a.shape, "i8"), lang.placeholder("z", b.shape, "i8")
    made = lang.proc("mixed", [x, z], (x - z) * 3 + z)
    assert np.array_equal(ran(made, x=a, z=b), ((a.astype(int) - b) * 3 + b).ravel())
    assert len(made.body) == 1  # what lies between is computed where it is read


def test_what_is_reduced_and_read_again_is_a_nest_of_its_own():
    a = numbers(9, 4, 5)
    x, k = lang.placeholder("x", a.shape, "i8"), lang.reduce_axis("k", 5)
    total = lang.compute("total", (4,), lambda i: lang.sum(x[i, k], k))
    y = lang.compute("y", (4, 5), lambda i, j: lang.clamp(x[i, j] * 5 - total[i], -100, 100), dtype="i8")
    made = lang.proc("centred", [x], y)
    assert [p.role for p in made.params] == [Role.INPUT, Role.SCRATCH, Role.OUTPUT]
    assert [stmt.var for stmt in made.body] == ["i", "i2"]  # type: ignore[union-attr]
    wanted = np.clip(a.astype(int) * 5 - a.astype(int).sum(axis=1, keepdims=True), -100, 100)
    assert np.array_equal(ran(made, x=a), wanted.ravel())


def test_a_table_is_read_at_a_computed_index():
    table, a = numbers(10, 16), numbers(11, 6)
    x, t = lang.placeholder("x", (6,), "i8"), lang.placeholder("t", (16,), "i8", constant=True)
    y = lang.compute("y", (6,), lambda i: t[x[i] & 15])
    assert np.array_equal(ran(lang.proc("look", [x, t], y), x=a, t=table), table[np.bitwise_and(a, 15)])


def test_a_function_of_ones_own():
    halved = lang.function(
        "halved", "i32", "static int32_t halved(int32_t v) { return v >> 1; }\n", lambda v: v >> 1
    )
    a = numbers(12, 5)
    x = lang.placeholder("x", (5,), "i8")
    made = lang.proc("half", [x], lang.compute("y", (5,), lambda i: halved(x[i]) + lang.cast("i8", 1)))
    assert np.array_equal(ran(made, x=a), (a.astype(int) >> 1) + 1)
    assert parse_proc(print_proc(made), named_in(made)) == made


def test_an_index_is_a_number_as_well():
    y = lang.compute("y", (2, 3), lambda i, j: i * 10 + j + lang.equal(i, j))
    assert ran(lang.proc("places", [], y)).tolist() == [1, 1, 2, 10, 12, 12]


def test_numbers_stand_on_either_side_and_are_compared_as_in_numpy():
    a = numbers(13, 4, 8)
    wide = a.astype(int)
    x = lang.placeholder("x", (4, 8), "i8")
    for made, wanted in (
        (3 - x, 3 - wide),
        (np.int8(3) * x + np.int16(2), 3 * wide + 2),
        (-x, -wide),
        (lang.compute("y", (4, 8), lambda i, j: x[i, j] <= 3), wide <= 3),
        (lang.compute("y", (4, 8), lambda i, j: x[i, j] >= x[i, 0]), wide >= wide[:, :1]),
        (lang.compute("y", (4, 8), lambda i, j: lang.where(x[i, j] != 3, 1, 2)), np.where(wide != 3, 1, 2)),
        (lang.compute("y", (4, 8), lambda i, j: lang.where(i == 2, x[i, j], 0)), wide * [[0], [0], [1], [0]]),
        (lang.compute("y", (4, 8), lambda i, j: lang.where(j < 3, x[i, j], 0)), wide * (np.arange(8) < 3)),
    ):
        assert np.array_equal(ran(lang.proc("p", [x], made), x=a), wanted.reshape(-1))


def test_more_than_32_bits_are_computed_in_64_where_they_are_asked_for():
    a = numbers(14, 4)
    x = lang.placeholder("x", (4,), "i8")
    made = lang.compute("y", (4,), lambda i: lang.clamp(lang.cast("i64", x[i]) * 10**12, -5, 5))
    assert np.array_equal(ran(lang.proc("p", [x], made), x=a), np.clip(a.astype(int), -1, 1) * 5)
    assert lang.compute("y", (4,), lambda i: lang.clamp(x[i] * 10**6, -9, 9) * 10**6).dtype.value == "i32"


def test_a_number_has_the_type_that_holds_it():
    values = [lang.compute("y", (1,), lambda i, n=n: lang.maximum(i, n)) for n in (2**31 - 1, 2**31, 2**63)]
    assert [value.dtype.value for value in values] == ["i32", "i64", "u64"]


X = lang.placeholder("x", (4, 8), "i8")
K = lang.reduce_axis("k", 8)
# What is written, and what is said of it.
WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "outside": (lambda: X[4, 0], "axis 0 of x has 4 elements, but is read from 4 to 4"),
    "outside_by_an_axis": (lambda: X[0, K + 1], "axis 1 of x has 8 elements, but is read from 1 to 8"),
    "below": (lambda: X[0, K - 1], "axis 1 of x has 8 elements, but is read from -1 to 6"),
    "axes": (lambda: X[0], "x has 2 axes, but 1 indices were given"),
    "no_index": (lambda: X[0, "a"], "'a' is not an index"),  # type: ignore[index]
    "not_affine": (lambda: X[0, K * K], "a position can be multiplied by a number, not by Axis"),  # type: ignore[operator]
    "computed": (lambda: X[X[0, 0], 0], "axis 0 of x has a computed index"),
    "shape": (
        lambda: lang.placeholder("x", (4, 0), "i8"),
        "x has the shape [4, 0]: each size must be at least 1",
    ),
    "name": (lambda: lang.placeholder("x y", (4,), "i8"), '"x y" is not a valid name for a tensor'),
    "type": (lambda: lang.placeholder("x", (4,), "int8"), '"int8" is not a type'),
    "extent": (
        lambda: lang.reduce_axis("k", 0),
        "the extent of axis k must be 1 to 2,147,483,647, not 0",
    ),
    "axis_name": (lambda: lang.reduce_axis("1", 3), '"1" is not a valid axis name'),
    "body": (lambda: lang.compute("y", (4,), lambda i, j: i), "y has 1 axes, but its body accepts 2"),
    "free_axis": (
        lambda: lang.compute("y", (4,), lambda i: X[i, K]),
        "y reads along k, which is not an axis there",
    ),
    "hidden_axis": (
        lambda: lang.compute("y", (8,), lambda k: lang.sum(X[0, k], K)),
        "y already has an axis k",
    ),
    "no_axis": (lambda: lang.sum(X[0, 0]), "a reduction needs axes"),
    "nested": (
        lambda: lang.sum(lang.sum(X[0, K], K), lang.reduce_axis("m", 2)),
        "a reduction cannot contain another one",
    ),
    "truth": (lambda: 1 if X[0, 0] < 3 else 2, "a value is not known while the expression is built"),
    "no_value": (lambda: X[0, 0] + "a", "'a' is not a value"),  # type: ignore[operator]
    "shapes": (lambda: X + lang.placeholder("z", (3,), "i8"), "x [4, 8] and z [3] cannot be combined"),
    "given": (lambda: lang.proc("p", [], X), "x is an input, so there is nothing to compute"),
    "missing": (lambda: lang.proc("p", [], X + 1), "x_plus needs x, not among the inputs of p"),
    "twice": (
        lambda: lang.proc("p", [X], lang.compute("x", (4,), lambda i: X[i, 0])),
        "two tensors are named x",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_misuse_is_reported_with_the_line_of_the_program(name):
    make, what = WRONG[name]
    with pytest.raises(InputError) as caught:
        make()
    assert caught.value.what == what
    assert caught.value.where.startswith(f"{__file__}:")
