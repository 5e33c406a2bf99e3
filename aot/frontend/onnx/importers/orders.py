"""Chooses the order in which the dimensions of a result are stored, so that few elements move."""

from __future__ import annotations

from collections.abc import Sequence

from aot.frontend.onnx.draft import Order, Value
from aot.frontend.onnx.operation import OnnxOperator

Group = tuple[list[int], list[int]]  # dimensions before and after, with the same number of elements


def cheapest_order(node: OnnxOperator, values: list[Value], rank: int) -> Order:
    """Returns the order of a computed operand that moves the fewest elements."""
    moving = [v for v in values if v.name not in node.draft.constants] or values
    if not moving:
        return tuple(range(rank))

    def moved(order: Order) -> tuple[int, bool]:
        others = [v for v in moving if not node.draft.is_stored(v, order)]
        return sum(node.draft.types[v.name].elements for v in others), order == tuple(range(rank))

    return min(dict.fromkeys(v.order for v in moving), key=moved)


def order_after(old: Sequence[int], order: Order, new: Sequence[int]) -> Order | None:
    """Returns the order of a reshaped tensor; None if groups are not adjacent, or permuted."""
    if order == tuple(range(len(old))):
        return tuple(range(len(new)))
    groups = _groups(old, new)
    if groups is None:
        return None
    stored = [d for d in order if old[d] != 1]
    begins = {before[0]: (before, after) for before, after in groups}
    found = [d for d, size in enumerate(new) if size == 1]
    while stored:
        group = begins.get(stored[0])
        if group is None or stored[: len(group[0])] != group[0]:
            return None
        found += group[1]
        stored = stored[len(group[0]) :]
    return tuple(found)


def _groups(old: Sequence[int], new: Sequence[int]) -> list[Group] | None:
    """Returns the smallest groups; dimensions of 1 are in none."""
    before = [d for d, size in enumerate(old) if size != 1]
    after = [d for d, size in enumerate(new) if size != 1]
    groups: list[Group] = []
    while before and after:
        left, right = [before.pop(0)], [after.pop(0)]
        many, wanted = old[left[0]], new[right[0]]
        while many != wanted:
            if many < wanted and before:
                left.append(before.pop(0))
                many *= old[left[-1]]
            elif many > wanted and after:
                right.append(after.pop(0))
                wanted *= new[right[-1]]
            else:
                return None
        groups.append((left, right))
    return None if before or after else groups
