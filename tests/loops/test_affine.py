"""Index arithmetic: one normal form, substitution of all variables at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.loops.affine import Affine, to_affine, variable

X, Y = variable("i"), variable("j")
NUMBERS = st.integers(-9, 9)


@pytest.mark.parametrize(
    ("affine", "text"),
    [
        (Affine(), "0"),
        (X, "i"),
        (X * 3 + Y - 2, "i * 3 + j - 2"),
        (Y + X, "i + j"),
        (to_affine(-4), "-4"),
        (X * 2 - X * 2 + 5, "5"),
        (2 * X + 1, "i * 2 + 1"),
    ],
)
def test_an_affine_sum_reads_as_c(affine, text):
    assert str(affine) == text


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_evaluation_agrees_with_arithmetic(a, b, c, i, j):
    assert (X * a + Y * b + c).evaluate({"i": i, "j": j}) == a * i + b * j + c


@given(NUMBERS, NUMBERS)
def test_equal_sums_are_equal_objects(a, b):
    assert X * a + Y * b == Y * b + X * a
    assert (X + Y) * a - Y * a == X * a


def test_substitution_replaces_all_at_once():
    assert (X * 2 + Y).substitute({"i": Y, "j": X}) == Y * 2 + X


def test_a_sum_without_variables_is_constant():
    assert (X - X + 3).is_constant
    assert not (X + 3).is_constant
    assert (X * 0).variables == frozenset()
