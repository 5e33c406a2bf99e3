"""GridSample: pixels around computed positions, gathered and weighted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod

from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.moving import sliced
from aot.frontend.onnx.importers.real import Real
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import dense_strides
from aot.ops.gather import Gather

_MODES = {"bilinear": "linear", "bicubic": "cubic"}  # names before set 20
_CUBIC = -0.75


@dataclass(frozen=True)
class _SampledTap:
    """A pixel along one dimension: its position and its weight, 0 outside the image."""

    place: Real
    share: Real


def _grid_sample(node: OnnxOperator) -> Value:
    x, grid = node.operand(0), node.operand(1)
    shape, places = node.shape(x), node.shape(grid)
    count = len(shape) - 2
    mode = node.text("mode", "linear")
    taps_of = _TAPS.get(_MODES.get(mode, mode))
    if taps_of is None or len(places) != count + 2 or places[-1] != count or places[0] != shape[0]:
        raise node.fail(f'mode "{mode}" over places {list(places)} of shape {list(shape)} is not supported')
    along = [
        taps_of(_Axis(node, size), _coordinate(node, grid, count - 1 - d, size))
        for d, size in enumerate(shape[2:])
    ]
    order = (0, *range(2, len(shape)), 1)
    pixels = node.reshaped(node.draft.stored(node.place, x, order), (shape[0], prod(shape[2:]), shape[1]))
    total = reduce(Real.__add__, (_weighted(node, pixels, taps, shape) for taps in product(*along)))
    return Value(node.plain(total.value), order, x.element)


def _coordinate(node: OnnxOperator, grid: Value, column: int, size: int) -> Real:
    """Converts a coordinate from -1..1 to pixels."""
    last = len(node.shape(grid)) - 1
    part = sliced(node, grid, {last: range(column, column + 1)})
    g = Real(node, node.do("Squeeze", part, node.number([last], TensorProto.INT64)))
    if node.integer("align_corners", 0):
        return (g + 1.0) * ((size - 1) / 2)
    return (g + 1.0) * (size / 2) - 0.5


@dataclass(frozen=True)
class _Axis:
    """One dimension, and its handling of positions outside."""

    node: OnnxOperator
    size: int

    @property
    def beyond(self) -> str:
        return self.node.text("padding_mode", "zeros")

    def inside(self, place: Real) -> Real:
        """Moves positions inside the image; zero padding leaves them outside."""
        if self.beyond == "border":
            return place.at_least(0.0).at_most(self.size - 1)
        return self.reflected(place) if self.beyond == "reflection" else place

    def reflected(self, place: Real) -> Real:
        half = 0.0 if self.node.integer("align_corners", 0) else 0.5
        length = self.size - 1 + 2 * half
        if length == 0:
            return place * 0.0
        turned = (place + half).one("Abs").in_turns(2 * length)
        return ((turned - length).one("Abs") * -1.0 + length) - half

    def tap(self, place: Real, share: Real | None) -> _SampledTap:
        """Returns the tap at an integer position."""
        inner = self.inside(place).at_least(0.0).at_most(self.size - 1)
        if self.beyond == "zeros":
            seen = place.within(0.0, self.size - 1)
            return _SampledTap(inner, seen if share is None else seen * share)
        return _SampledTap(inner, place * 0.0 + 1.0 if share is None else share)


def _nearest(axis: _Axis, place: Real) -> list[_SampledTap]:
    return [axis.tap(axis.inside(place).one("Round"), None)]


def _linear(axis: _Axis, place: Real) -> list[_SampledTap]:
    place = axis.inside(place)
    first = place.one("Floor")
    rest = place - first
    return [axis.tap(first, rest * -1.0 + 1.0), axis.tap(first + 1.0, rest)]


def _cubic(axis: _Axis, place: Real) -> list[_SampledTap]:
    place = axis.inside(place)
    first = place.one("Floor")
    rest = place - first
    shares = [
        _far(rest + 1.0),
        _near(rest),
        _near(rest * -1.0 + 1.0),
        _far(rest * -1.0 + 2.0),
    ]
    return [axis.tap(first + float(n - 1), share) for n, share in enumerate(shares)]


def _near(d: Real) -> Real:
    """Returns the cubic weight of a pixel up to one pixel away."""
    return ((d * (_CUBIC + 2)) - (_CUBIC + 3)) * d * d + 1.0


def _far(d: Real) -> Real:
    """Returns the cubic weight of a pixel one to two pixels away."""
    return (((d * _CUBIC) - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC


_TAPS = {"cubic": _cubic, "linear": _linear, "nearest": _nearest}


def _weighted(node: OnnxOperator, pixels: str, taps: tuple[_SampledTap, ...], shape: tuple[int, ...]) -> Real:
    """Returns the sampled pixels as [N, places, C]."""
    steps = dense_strides(shape[2:])
    place = reduce(Real.__add__, (t.place * float(s) for t, s in zip(taps, steps, strict=True)))
    share = reduce(Real.__mul__, (t.share for t in taps))
    indices = cast(node, place.value, TensorProto.INT32)
    found = node.value(node.apply(Gather(1, 1), pixels, node.plain(indices)), share.value.element)
    column = node.number([len(node.shape(share.value))], TensorProto.INT64)
    return Real(node, found) * Real(node, node.do("Unsqueeze", share.value, column))


SAMPLING: Mapping[str, Importer] = {"GridSample": _grid_sample}
