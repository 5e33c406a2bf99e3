"""Which rows of the image a kernel reads: the extent that is computed is that of the rows themselves."""

from __future__ import annotations

from itertools import product

from codegen.kernels.kernel import RowAccess


def extent_of(access: RowAccess, y: int, begin: int, stop: int) -> tuple[int, int] | None:
    inside = [row for row in access.rows(y) if begin <= row < stop]
    return (min(inside), max(inside)) if inside else None


def test_the_extent_is_that_of_the_rows() -> None:
    strides, firsts, counts, steps = (0, 1, 2), (-5, -1, 0, 3), (1, 2, 5), (1, 2, 3)
    accesses = [RowAccess(*numbers) for numbers in product(strides, firsts, counts, steps)]
    for access, y, (begin, stop) in product(accesses, (0, 1, 4), ((0, 1), (0, 6), (2, 5), (9, 9))):
        wanted = extent_of(access, y, begin, stop)
        assert access.extent_inside(y, begin, stop) == wanted, (access, y, begin, stop)


def test_the_extent_of_given_rows_is_theirs() -> None:
    access = RowAccess(0, 0, 2, given=((0, 1), (3, 1), (7, 8)))
    assert [access.extent_inside(y, 1, 8) for y in range(3)] == [(1, 1), (1, 3), (7, 7)]
    assert access.extent_inside(2, 0, 7) is None
