"""The loop interpreter notices what C would not: places outside a buffer, values that do not fit, garbage."""

import numpy as np
import pytest
from nests import K, R, proc_of

from aot.ir.types import DType
from codegen.loops.affine import variable
from codegen.loops.interpret import run_proc
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    Cast,
    Const,
    Declare,
    Expr,
    For,
    Index,
    Role,
    Store,
    at,
    load,
)

X = Buffer("x", DType.I8, 4, Role.ROWS, 2)
Y = Buffer("y", DType.I8, 4, Role.OUTPUT)
LOCAL = Buffer("a", DType.I32, 2, Role.LOCAL)


def stored(value: Expr, dtype: DType = DType.I32) -> int:
    y = Buffer("y", dtype, 1, Role.OUTPUT)
    out = np.zeros(1, dtype.numpy)
    run_proc(proc_of(Store(at(y), value), params=(y,)), {"y": [out]})
    return int(out[0])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Const(-7), -7),
        (Binary("+", Const(3), Const(4)), 7),
        (Binary("-", Const(3), Const(4)), -1),
        (Binary("*", Const(-3), Const(4)), -12),
        (Binary("min", Const(3), Const(-4)), -4),
        (Binary("max", Const(3), Const(-4)), 3),
        (Cast(DType.I16, Const(-300)), -300),
        (Index(variable("k") * 0 + 9), 9),
    ],
)
def test_expressions_mean_what_c_means(value, expected):
    assert stored(value) == expected


def test_loops_run_in_order_and_their_variable_is_a_number():
    y = np.zeros(4, np.int8)
    body = For("k", 4, (Store(at(Y, K), Index(K * 2 + 1)),))
    run_proc(proc_of(body, params=(Y,)), {"y": [y]})
    assert y.tolist() == [1, 3, 5, 7]


def test_rows_are_chosen_by_their_index():
    y = np.zeros(4, np.int8)
    rows = [np.array([1, 2, 3, 4], np.int8), np.array([10, 20, 30, 40], np.int8)]
    body = For("r", 2, (For("k", 4, (Accumulate(at(Y, K), load(X, K, R)),)),))
    run_proc(proc_of(body, params=(X, Y)), {"x": rows, "y": [y]})
    assert y.tolist() == [11, 22, 33, 44]


@pytest.mark.parametrize(
    ("index", "row", "says"),
    [
        (4, 0, "x[4] is outside its 4 elements"),
        (-1, 0, "x[-1] is outside its 4 elements"),
        (0, 2, "x has no row 2, only 2"),
        (0, -1, "x has no row -1, only 2"),
    ],
)
def test_a_place_outside_a_buffer_is_an_error(index, row, says):
    rows = [np.zeros(4, np.int8), np.zeros(4, np.int8)]
    nest = proc_of(Store(at(Y), load(X, index, row)), params=(X, Y))
    with pytest.raises(IndexError) as outside:
        run_proc(nest, {"x": rows, "y": [np.zeros(4, np.int8)]})
    assert str(outside.value) == says


@pytest.mark.parametrize("value", [128, -129])
def test_a_value_that_does_not_fit_is_an_error(value):
    with pytest.raises(OverflowError) as large:
        stored(Const(value), DType.I8)
    assert str(large.value) == f"{value} does not fit y, i8"


def test_a_sum_that_does_not_fit_is_an_error():
    nest = proc_of(For("k", 2, (Accumulate(at(Y), Const(100)),)), params=(Y,))
    with pytest.raises(OverflowError, match=r"^200 does not fit y, i8$"):
        run_proc(nest, {"y": [np.zeros(4, np.int8)]})


def test_a_local_holds_garbage_until_it_is_stored_to():
    y = np.zeros(1, np.int8)
    nest = proc_of(Declare(LOCAL), Store(at(Y), load(LOCAL, 1)), params=(Y,))
    run_proc(nest, {"y": [y]})
    assert y[0] != 0
