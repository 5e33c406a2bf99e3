"""Graphs that join tensors row behind row: boxes of several scales, images, flattened heads."""

from collections.abc import Callable, Mapping

import numpy as np
from graphs import Draft
from op_case import int8

from aot.ir.graph import Graph
from aot.ops.concat import Concat
from aot.ops.mean import Mean
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange


def joined(d: Draft, name: str, axis: int, *parts: str) -> str:
    return d.node(name, Concat(axis), *parts, quant=d.types[parts[0]])


def boxes_of_scales() -> Graph:
    """As detectors have them: of each scale a head, its boxes in a list, all lists joined."""
    d = Draft()
    x = d.conv("stem", d.input("x", 1, 24, 20, 3), 8, stride=(2, 2))
    lists = []
    for scale in range(3):
        head = d.conv(f"head{scale}", x, 12, seed=scale + 2)
        boxes = d.types[head].elements // 4
        lists.append(d.reshape(f"boxes{scale}", head, 1, boxes, 4))
        x = d.conv(f"down{scale}", x, 8, stride=(2, 2), seed=scale + 5)
    return d.graph(d.softmax("y", joined(d, "all", 1, *lists)))


def boxes_as_flattened() -> Graph:
    """The same as exporters write it: vectors joined, then looked at as a list of boxes."""
    d = Draft()
    x = d.conv("stem", d.input("x", 1, 24, 20, 3), 8, stride=(2, 2))
    parts = []
    for scale in range(2):
        head = d.conv(f"head{scale}", x, 12, seed=scale + 2)
        parts.append(d.reshape(f"flat{scale}", head, 1, d.types[head].elements))
        x = d.conv(f"down{scale}", x, 8, stride=(2, 2), seed=scale + 5)
    whole = joined(d, "all", 1, *parts)
    return d.graph(d.reshape("boxes", whole, 1, d.types[whole].elements // 4, 4))


def heads_before_dense() -> Graph:
    """Flattened images of odd sizes, joined and read as one vector."""
    d = Draft()
    x = d.conv("stem", d.input("x", 1, 10, 9, 2), 3)
    small = d.conv("small", x, 5, stride=(2, 2))
    flat = [d.reshape(f"flat{n}", v, 1, d.types[v].elements) for n, v in enumerate((x, small))]
    return d.graph(d.dense("y", joined(d, "all", 1, *flat), 7))


def images_below_each_other() -> Graph:
    """Rows with padding: of a convolution, of an input, of a constant; one is read by another layer, too."""
    d = Draft()
    x, lower = d.input("x", 1, 7, 6, 3), d.input("lower", 1, 2, 6, 3)
    upper, kept = d.conv("upper", x, 3, seed=3), d.conv("kept", x, 3, seed=4)
    d.types["fixed"] = int8(1, 2, 6, 3)
    d.constants["fixed"] = np.random.default_rng(8).integers(-128, 128, (1, 2, 6, 3)).astype(np.int8)
    both = joined(d, "all", 1, upper, "fixed", lower, kept)
    return d.graph(d.conv("y", both, 4, seed=5), d.conv("z", kept, 2, size=1, seed=6))


def joined_twice() -> Graph:
    """One value at two places, and a join of joins."""
    d = Draft()
    once = d.conv("once", d.input("x", 1, 4, 5, 3), 3)
    other = d.conv("other", once, 3, stride=(2, 1), seed=2)
    inner = joined(d, "inner", 1, other, d.conv("third", once, 3, seed=3))
    return d.graph(d.conv("y", joined(d, "all", 1, once, inner, once), 2, seed=4))


def sums_and_pieces() -> Graph:
    """Parts made at once: a mean, and an image turned over in one piece; some begin between words."""
    d = Draft()
    x = d.conv("stem", d.input("x", 1, 6, 5, 2), 5)
    rows = d.conv("rows", x, 5, size=1, stride=(2, 5), seed=2)
    mean = d.node("mean", Mean((1, 2)), x, quant=int8(scale=0.04, zero_point=-9))
    turn: Op = Rearrange((1, 30, 1, 5), (1, 6, 5, 5), (0, 5, 30, 1))
    turned = d.node("turned", turn, x, quant=d.types[x])
    both = joined(
        d, "all", 1, rows, d.reshape("one", mean, 1, 1, 1, 5), turned, d.conv("last", rows, 5, size=1)
    )
    return d.graph(both)


JOINS: Mapping[str, Callable[[], Graph]] = {
    maker.__name__: maker
    for maker in (
        boxes_of_scales,
        boxes_as_flattened,
        heads_before_dense,
        images_below_each_other,
        joined_twice,
        sums_and_pieces,
    )
}
