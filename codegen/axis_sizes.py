"""Sizes of an input's axis: one, or several for one firmware, such as 1..4 or 16/32/64."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

AxisSize: TypeAlias = int | tuple[int, ...]  # several: ascending, two or more
Shapes: TypeAlias = Mapping[str, tuple[AxisSize, ...]]  # by input name
MOST_VARIANTS = 16  # of a model in one firmware; each has separate code


def read_sizes(given: Any) -> tuple[AxisSize, ...]:
    """Parses the sizes of an input's axes, each at least 1: "1,3,32,32", "1..4,3,16/32,32", or a sequence."""
    if given is None:
        raise ValueError
    axes = given.split(",") if isinstance(given, str) else np.atleast_1d(np.asarray(given, dtype=object))
    sizes = tuple(read_axis_size(axis) for axis in axes)
    if not sizes:
        raise ValueError
    return sizes


def sizes_word(sizes: Sequence[AxisSize]) -> str:
    """Returns the sizes as text that `read_sizes` accepts."""
    return ",".join(axis_word(size) for size in sizes)


def read_axis_size(given: Any) -> AxisSize:
    """Parses one or several sizes: 4, "4", "1..4", "16/32/64", or a list of numbers. Raises ValueError."""
    sizes = sorted(set(_numbers(given)))
    if not sizes or sizes[0] < 1:
        raise ValueError
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def _numbers(given: Any) -> Sequence[int]:
    if isinstance(given, str):
        first, is_range, last = given.partition("..")
        return range(int(first), int(last) + 1) if is_range else [int(each) for each in given.split("/")]
    if isinstance(given, Sequence):
        return [operator.index(each) for each in given]
    return [operator.index(given)]


def axis_word(size: AxisSize) -> str:
    """Returns the size as text that `read_axis_size` accepts."""
    if isinstance(size, int):
        return str(size)
    first, last = size[0], size[-1]
    return f"{first}..{last}" if size == tuple(range(first, last + 1)) else "/".join(map(str, size))


def is_open(shapes: Shapes) -> bool:
    """Returns True if an axis has several sizes."""
    return any(not isinstance(size, int) for sizes in shapes.values() for size in sizes)


def largest_shapes(shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Returns the inputs with their largest sizes."""
    return {
        name: tuple(size if isinstance(size, int) else size[-1] for size in sizes)
        for name, sizes in shapes.items()
    }


def each_shapes(shapes: Shapes) -> list[tuple[str, dict[str, tuple[int, ...]]]]:
    """Returns all variants, the largest first, each with its open sizes as text: "4", or "4_32".

    Axes of several inputs with the same sizes, such as a batch, vary together. Axes of one input vary
    separately.
    """
    keys = {
        (name, axis): (size, sizes[:axis].count(size))  # the second one of an input is separate
        for name, sizes in shapes.items()
        for axis, size in enumerate(sizes)
        if not isinstance(size, int)
    }
    distinct = list(dict.fromkeys(keys.values()))
    found = []
    for chosen in product(*(size[::-1] for size, _ in distinct)):
        of_key = dict(zip(distinct, chosen, strict=True))
        fixed = {
            name: tuple(
                size if isinstance(size, int) else of_key[keys[name, axis]] for axis, size in enumerate(sizes)
            )
            for name, sizes in shapes.items()
        }
        found.append(("_".join(map(str, chosen)), fixed))
    return found
