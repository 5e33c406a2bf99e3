"""Attributes of operators with sliding windows: sizes, strides, dilations, padding."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aot.frontend.onnx.operation import OnnxOperator
from aot.ops.spatial import Padding, Pair, extent, output_size, same_padding

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
