"""Pad: constants, reflections, edges and wrapping around any dimension; zeros between elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import concatenated
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ops.pad import Pad
from aot.ops.spatial import Padding, Pair, extent, output_size, same_padding


def padded(node: OnnxOperator, name: str, pairs: Sequence[Pair], value: float) -> str:
    """Adds margins of a value around each dimension; negative margins crop."""
    for axis, (before, after) in enumerate(pairs):
        length = node.draft.types[name].shape[axis]
        first, last = max(0, -before), length - max(0, -after)
        if (first, last) != (0, length):
            name = node.sliced(name, axis, range(first, last))
    margins = [(max(0, before), max(0, after)) for before, after in pairs]
    shape = node.draft.types[name].shape
    if len(shape) == 4 and shape[0] == 1 and margins[0] == margins[3] == (0, 0):
        if margins[1] == margins[2] == (0, 0):
            return name
        return node.apply(Pad((margins[1], margins[2]), value), name)
    for axis, pair in enumerate(margins):
        if pair != (0, 0):
            name = _padded_one(node, name, axis, pair, value)
    return name


def _padded_one(node: OnnxOperator, name: str, axis: int, pair: Pair, value: float) -> str:
    """Pads one dimension as the columns of an image."""
    shape = node.draft.types[name].shape
    image = (1, prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))
    made = node.apply(Pad(((0, 0), pair), value), node.reshaped(name, image))
    return node.reshaped(made, (*shape[:axis], shape[axis] + sum(pair), *shape[axis + 1 :]))


def dilated(node: OnnxOperator, name: str, strides: Mapping[int, int]) -> str:
    """Inserts zeros between the elements of some dimensions, up to their strides."""
    for axis, stride in strides.items():
        if stride == 1:
            continue
        shape = node.draft.types[name].shape
        apart = node.reshaped(name, (*shape[: axis + 1], 1, *shape[axis + 1 :]))
        wide = _padded_one(node, apart, axis + 1, (0, stride - 1), 0.0)
        joined = node.reshaped(wide, (*shape[:axis], shape[axis] * stride, *shape[axis + 1 :]))
        name = node.sliced(joined, axis, range((shape[axis] - 1) * stride + 1))
    return name


def _pad(node: OnnxOperator) -> Value:
    x, mode = node.operand(0), node.text("mode", "constant")
    rank = len(x.order)
    pads = node.known_integers(1, "padding") if node.has(1) else node.integers("pads")
    axes = node.known_integers(3, "axes") if node.has(3) else tuple(range(rank))
    if len(pads) != 2 * len(axes):
        raise node.fail(f"padding {list(pads)} does not fit {len(axes)} dimensions")
    pairs = [(0, 0)] * rank
    for number, axis in enumerate(axes):
        pairs[node.axis(axis, rank)] = (pads[number], pads[len(axes) + number])
    if mode == "constant":
        stored = [pairs[dimension] for dimension in x.order]
        return Value(padded(node, x.name, stored, _value(node)), x.order, x.element)
    if mode not in _TURNS:
        raise node.fail(f'mode "{mode}" is not known')
    for axis, pair in enumerate(pairs):
        x = _turned(node, x, axis, pair, mode)
    return x


def _value(node: OnnxOperator) -> float:
    if node.has(2):
        return node.known_scalar(2, "value")
    return node.real("value", 0.0)


def _reflected(size: int, before: int, after: int) -> list[int]:
    period = max(1, 2 * size - 2)
    places = [i % period for i in range(-before, size + after)]
    return [p if p < size else period - p for p in places]


def _edge(size: int, before: int, after: int) -> list[int]:
    return [min(max(i, 0), size - 1) for i in range(-before, size + after)]


def _wrapped(size: int, before: int, after: int) -> list[int]:
    return [i % size for i in range(-before, size + after)]


_TURNS = {"reflect": _reflected, "edge": _edge, "wrap": _wrapped}


def _turned(node: OnnxOperator, x: Value, axis: int, pair: Pair, mode: str) -> Value:
    """Returns the elements of one dimension in another order, run by run."""
    if pair == (0, 0):
        return x
    places = _TURNS[mode](node.shape(x)[axis], *pair)
    stored = x.order.index(axis)
    runs = _runs(places)
    parts = [Value(node.sliced(x.name, stored, run), x.order, x.element) for run in runs]
    return parts[0] if len(parts) == 1 else concatenated(node, parts, axis)


def _runs(places: list[int]) -> list[range]:
    """Splits positions into ranges with a constant step."""
    runs: list[range] = []
    start = 0
    while start < len(places):
        stop = start + 1
        step = (
            places[stop] - places[start]
            if stop < len(places) and abs(places[stop] - places[start]) == 1
            else 1
        )
        while stop < len(places) and places[stop] - places[stop - 1] == step:
            stop += 1
        first, count = places[start], stop - start
        runs.append(range(first, first + count * step, step))
        start = stop
    return runs


PADDING: dict[str, Importer] = {"Pad": _pad}


# Attributes of operators with sliding windows: sizes, strides, dilations, padding.


_AGAIN = "get or export the file again"


@dataclass(frozen=True)
class SpatialWindows:
    """Windows with one entry for each spatial dimension."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[Pair, ...]

    def as_image(self) -> SpatialWindows:
        """Returns a line's windows as those of an image of one row."""
        return SpatialWindows(
            (1, *self.sizes), (1, *self.strides), (1, *self.dilations), ((0, 0), *self.padding)
        )

    def output_sizes(self, lengths: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the sizes of the result for an image that is already padded."""
        rows = zip(lengths, self.sizes, self.strides, self.dilations, strict=True)
        return tuple(output_size(n, k, s, d, (0, 0)) for n, k, s, d in rows)

    @property
    def stride_pair(self) -> Pair:
        return self.strides[0], self.strides[1]

    @property
    def dilation_pair(self) -> Pair:
        return self.dilations[0], self.dilations[1]

    @property
    def padding_pairs(self) -> Padding:
        return self.padding[0], self.padding[1]


def read_windows(
    node: OnnxOperator, lengths: tuple[int, ...], kernel: tuple[int, ...] | None
) -> SpatialWindows:
    """Reads a node's windows over an image of these lengths; `kernel` is the weights' size, if any."""
    count = len(lengths)
    sizes = kernel or node.integers("kernel_shape")
    strides = node.integers("strides", (1,) * count)
    dilations = node.integers("dilations", (1,) * count)
    pads = node.integers("pads", (0,) * 2 * count)
    lists = (sizes, strides, dilations, pads[:count], pads[count:])
    if any(len(each) != count for each in lists) or min(*sizes, *strides, *dilations) < 1 or min(pads) < 0:
        raise node.fail(
            f"windows of {list(sizes)}, strides {list(strides)}, dilations {list(dilations)}, padding "
            f"{list(pads)} do not fit an image of {count} dimensions",
            _AGAIN,
        )
    windows = SpatialWindows(sizes, strides, dilations, tuple(zip(pads[:count], pads[count:], strict=True)))
    windows = replace(windows, padding=_automatic(node, windows, lengths))
    spans = zip(lengths, sizes, dilations, windows.padding, strict=True)
    if any(n + sum(p) < extent(k, d) for n, k, d, p in spans):
        raise node.fail(f"windows of {list(sizes)} do not fit into an image of {list(lengths)}", _AGAIN)
    return windows


def _automatic(node: OnnxOperator, windows: SpatialWindows, lengths: tuple[int, ...]) -> tuple[Pair, ...]:
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("NOTSET", ""):
        return windows.padding
    if mode == "VALID":
        return ((0, 0),) * len(lengths)
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        raise node.fail(f'auto_pad "{mode}" is not known', _AGAIN)
    rows = zip(lengths, windows.sizes, windows.strides, windows.dilations, strict=True)
    pairs = [same_padding(*row) for row in rows]
    return tuple((b, a) if mode == "SAME_LOWER" else (a, b) for a, b in pairs)
