"""Row formats: how the rows of a value are stored, as its readers request."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from math import prod

from aot.ir.types import DType, TensorType
from aot.wording import counted


@dataclass(frozen=True, slots=True)
class RowFormat:
    """The layout of a value's rows in memory.

    Pixel x, channel c of a row is element (left + x) * x_step + c * c_step of the row. Elements
    that belong to no pixel hold `fill`. The tensor has `top` rows of fill before its first row
    and `bottom` after its last.
    """

    dtype_bytes: int  # 1, 2 or 4; integers are sign-extended when wider than the value's own type
    width: int
    channels: int
    x_step: int
    c_step: int
    left: int
    row_elements: int
    top: int
    bottom: int
    fill: int

    @property
    def row_bytes(self) -> int:
        return self.row_elements * self.dtype_bytes

    @property
    def said(self) -> str:
        """Returns the size, as in comments of generated C."""
        return f"{counted(self.width, 'pixel')} of {counted(self.channels, 'channel')}"

    @property
    def layout_text(self) -> str:
        """Returns the element width and the order, as in comments of generated C."""
        return f"{self.dtype_bytes * 8}-bit {'pixels' if self.c_step == 1 else 'planes'}"


class ElementOrder(Enum):
    PIXELS = "pixels"  # the channels of a pixel are contiguous: NHWC
    PLANES = "planes"  # the pixels of a channel are contiguous


@dataclass(frozen=True, slots=True)
class RowRequest:
    """A kernel's request for the rows of an input. Padding is in pixels, `slack` in elements."""

    order: ElementOrder = ElementOrder.PIXELS
    dtype_bytes: int = 1
    left: int = 0
    right: int = 0
    top: int = 0
    bottom: int = 0
    slack: int = 0  # elements past the row's end that may be read; their values do not matter
    fill: int | None = None  # value of the padding; None: the zero point
    whole: bool = False  # a contiguous tensor: rows without gaps, in their natural width

    @property
    def has_padding(self) -> bool:
        return any((self.left, self.right, self.top, self.bottom))

    def fill_of(self, tensor: TensorType) -> int:
        return self.fill if self.fill is not None else zero_point(tensor)

    def merged(self, other: RowRequest) -> RowRequest | None:
        """Returns a request for rows that satisfy both, or None if orders or widths differ."""
        if (self.order, self.dtype_bytes, self.fill) != (other.order, other.dtype_bytes, other.fill):
            return None
        if self.whole or other.whole:
            return self if self == other else None
        names = ("left", "right", "top", "bottom", "slack")
        larger = {name: max(getattr(self, name), getattr(other, name)) for name in names}
        return RowRequest(self.order, self.dtype_bytes, fill=self.fill, **larger)


def whole(tensor: TensorType) -> RowRequest:
    """Returns the request of a kernel that reads a tensor as flat memory."""
    return RowRequest(dtype_bytes=tensor.dtype.bytes, whole=True)


def merge_requests(requests: Iterable[RowRequest]) -> RowRequest | None:
    """Returns a request for rows that satisfy all, or None."""
    first, *rest = requests
    merged: RowRequest | None = first
    for request in rest:
        merged = merged.merged(request) if merged is not None else None
    return merged


@dataclass(frozen=True, slots=True)
class Geometry:
    """A tensor of any rank as rows of pixels of channels."""

    rows: int
    width: int
    channels: int


def geometry(tensor: TensorType) -> Geometry:
    """Returns the rows of a tensor: NHWC images by height, others by vectors along the last axis."""
    shape = tensor.shape
    if len(shape) == 4 and shape[0] == 1:
        return Geometry(shape[1], shape[2], shape[3])
    return Geometry(prod(shape[:-1]), 1, shape[-1] if shape else 1)


def dense_format(tensor: TensorType) -> RowFormat:
    """Returns rows without gaps: the format of inputs and outputs outside the model."""
    g = geometry(tensor)
    return RowFormat(
        dtype_bytes=tensor.dtype.bytes,
        width=g.width,
        channels=g.channels,
        x_step=g.channels,
        c_step=1,
        left=0,
        row_elements=g.width * g.channels,
        top=0,
        bottom=0,
        fill=0,
    )


def requested_format(tensor: TensorType, request: RowRequest) -> RowFormat:
    """Returns the smallest format that satisfies a request; rows begin at multiples of four bytes."""
    if request.whole:
        return dense_format(tensor)
    g = geometry(tensor)
    planes = request.order is ElementOrder.PLANES
    # The padding after one plane is the padding before the next.
    pitch = g.width + max(request.left, request.right)
    pixels = request.left + g.width + request.right
    elements = request.left + pitch * g.channels if planes else pixels * g.channels
    per_word = max(1, 4 // request.dtype_bytes)
    return RowFormat(
        dtype_bytes=request.dtype_bytes,
        width=g.width,
        channels=g.channels,
        x_step=1 if planes else g.channels,
        c_step=pitch if planes else 1,
        left=request.left,
        row_elements=-(-(elements + request.slack) // per_word) * per_word,
        top=request.top,
        bottom=request.bottom,
        fill=request.fill_of(tensor),
    )


def zero_point(tensor: TensorType) -> int:
    """Returns the stored value that represents 0."""
    return tensor.quant.zero_point if tensor.quant is not None else 0


def satisfies(fmt: RowFormat, request: RowRequest, tensor: TensorType) -> bool:
    """Returns whether a kernel with this request can read rows of the tensor in this format."""
    if request.whole:
        return fmt == dense_format(tensor)
    if request.has_padding and fmt.fill != request.fill_of(tensor):
        return False
    if fmt.dtype_bytes != request.dtype_bytes or fmt.left < request.left:
        return False
    if fmt.top < request.top or fmt.bottom < request.bottom:
        return False
    if request.order is ElementOrder.PLANES and fmt.channels > 1:
        pitch = fmt.width + max(request.left, request.right)
        elements = fmt.left + fmt.c_step * fmt.channels + request.slack
        return fmt.x_step == 1 and fmt.c_step >= pitch and fmt.row_elements >= elements
    pixels = fmt.left + fmt.width + request.right
    return (
        fmt.c_step == 1
        and fmt.x_step == fmt.channels
        and fmt.row_elements >= pixels * fmt.channels + request.slack
    )


def has_padding(fmt: RowFormat) -> bool:
    """Returns whether a row holds more than its pixels, so that padding must be written."""
    return fmt.row_elements > fmt.width * fmt.channels


def storage_dtype(tensor: TensorType, fmt: RowFormat) -> DType:
    """Returns the element type of rows in this format."""
    if fmt.dtype_bytes == tensor.dtype.bytes:
        return tensor.dtype
    return {2: DType.I16, 4: DType.I32}[fmt.dtype_bytes]
