"""Distinguishes functions of a file that have equal comments but different code, by another comment line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from codegen.c.helper_library import Helpers
from codegen.c.kernel_function import KernelFunction
from codegen.c.tree_walk import helpers_of
from codegen.formats import RowFormat

Users = Sequence[tuple[str, RowFormat]]  # layers that call a function, and the row formats that they write


def disambiguate(
    kernels: Sequence[KernelFunction], users: Sequence[Users], helpers: Helpers
) -> tuple[KernelFunction, ...]:
    """Returns the kernels. Equal comments get a line about how the function stores, its callees or layers."""
    alike: defaultdict[str, list[int]] = defaultdict(list)
    for number, kernel in enumerate(kernels):
        alike[kernel.function.comment].append(number)
    told = list(kernels)
    for comment, numbers in alike.items():
        if len(numbers) > 1 and comment:
            facts = _facts([kernels[n] for n in numbers], [users[n] for n in numbers], helpers)
            for number, fact in zip(numbers, facts, strict=True):
                function = replace(kernels[number].function, comment=f"{comment}\n{fact}")
                told[number] = replace(kernels[number], function=function)
    return tuple(told)


def _facts(alike: Sequence[KernelFunction], users: Sequence[Users], helpers: Helpers) -> Sequence[str]:
    """Returns the first kind of fact that differs between all functions; layers always do."""
    kinds = ([_written(mine) for mine in users], _called(alike, helpers))
    for facts in kinds:
        if len(set(facts)) == len(facts):
            return facts
    return [_layers(mine) for mine in users]


def _written(users: Users) -> str:
    layouts = sorted({_layout(fmt) for _, fmt in users})
    return f"Writes {' or '.join(layouts)}."


def _layout(fmt: RowFormat) -> str:
    padding = f", the first at element {fmt.left * fmt.x_step}" if fmt.left else ""
    return f"{fmt.layout_text}{padding}"


def _called(alike: Sequence[KernelFunction], helpers: Helpers) -> list[str]:
    """Returns the names of callees that not all of the functions have."""
    called = [[helper.name for helper in helpers_of(kernel.function)] for kernel in alike]
    common = set[str].intersection(*map(set, called))
    own = ([helpers.names.get(n, n) for n in names if n not in common] for names in called)
    return [f"By {', '.join(names)}." if names else "" for names in own]


def _layers(users: Users) -> str:
    *most, last = (label for label, _ in users)
    return f"For {', '.join(most)} and {last}." if most else f"For {last}."
