"""Cortex-M DSP extension: the products of one kernel row of 3x3 windows over padded or unpadded planes.

One word holds pixels 0..3; SXTB16 gives the pairs (0, 2) and (1, 3). If a plane has no padding, PKHBT inserts
the zero point into the half of a pair that is outside. This costs one instruction per row of a window past an
edge, and none if the window's last pixel has a separate multiplication.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.loops.affine import Affine
from codegen.loops.ir import Buffer, Choose, Const, Expr, Index, less, load

KERNEL = 3
_LOADS = {1: "ldrsb", 2: "ldrh", 3: "ldr", 4: "ldr", 5: "ldr"}  # by pixels inside the plane
_WORD = 4


@dataclass(frozen=True, slots=True)
class Edges:
    """An unpadded plane: its `width` in pixels, and the 0 or 1 pixels of the first window before it."""

    width: int
    left: int
    zero_point: int

    @property
    def name(self) -> str:
        return f"_plane_{self.width}_left_{self.left}_outside_{self.zero_point}".replace("-", "m")

    @property
    def said(self) -> str:
        """Describes it in a comment."""
        first = "before it" if self.left else "in it"
        return f"of planes of {self.width} without padding, the first window beginning {first}"

    def value(self, x: Buffer, plane: Affine | int, pixel: Affine, row: Affine) -> Expr:
        """Returns the value of a pixel, counted from the first window's start in its plane.

        Pixels outside of the plane have the zero point.
        """
        padding = Const(self.zero_point)
        here = load(x, pixel - self.left + plane, row)
        before, within = (less(Index(pixel), self.left + n) for n in (0, self.width))
        return Choose(before, padding, Choose(within, here, padding))


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """One output or two neighbors, and whether the first and last window extend past an edge."""

    first: int
    together: int
    stride: int
    left: bool = False
    right: bool = False

    @property
    def inside(self) -> int:
        """Returns how many pixels of the windows are inside the plane."""
        return self.stride * (self.together - 1) + KERNEL - self.left - self.right

    @property
    def loaded(self) -> int:
        """Returns the pixels from the first one inside to the last one loaded."""
        return max(self.inside, _WORD) if _LOADS[self.inside] == "ldr" else self.inside


def blocks_of(outputs: int, stride: int, edges: Edges | None) -> tuple[WindowBlock, ...]:
    """Returns all outputs of a row, two at a time."""
    blocks = []
    for first in range(0, outputs, 2):
        together = min(2, outputs - first)
        left, right = False, False
        if edges is not None:
            left = first == 0 < edges.left
            right = (first + together - 1) * stride + KERNEL - edges.left > edges.width
        blocks.append(WindowBlock(first, together, stride, left, right))
    return tuple(blocks)


def read_past(outputs: int, stride: int, edges: Edges) -> int:
    """Returns how many bytes after a plane are loaded and not used."""
    ends = (
        max(block.first * stride - edges.left, 0) + block.loaded
        for block in blocks_of(outputs, stride, edges)
    )
    return max(0, max(ends) - edges.width)


def window_row(block: WindowBlock) -> list[str]:
    """Returns a kernel row's products for the outputs of a block.

    {x} is the operand that points to its pixels. {outer} and {middle} have its taps; the middle one is in the
    half {half}.
    """
    taps, tap, half = "%[{outer}]", "%[{middle}]", "{half}"
    text = [
        *(_pairs_at_the_left(block) if block.left else _pairs(block)),
        *_padding_at_the_right(block),
        f"smlad %[sum0], %[even], {taps}, %[sum0]",
        f"smlab{half} %[sum0], %[odd], {tap}, %[sum0]",
    ]
    if block.together == 1:
        return text
    if block.stride == 1:
        return [
            *text,
            f"smlad %[sum1], %[odd], {taps}, %[sum1]",
            f"smlat{half} %[sum1], %[even], {tap}, %[sum1]",
        ]
    return [
        *text,
        f"smlatb %[sum1], %[even], {taps}, %[sum1]",
        f"smlat{half} %[sum1], %[odd], {tap}, %[sum1]",
        *_last_pixel(block),
    ]


def _pairs(block: WindowBlock) -> list[str]:
    return [
        f"{_LOADS[block.inside]} %[odd], [%[{{x}}]], #{block.stride * block.together}",
        "sxtb16 %[even], %[odd]",
        "sxtb16 %[odd], %[odd], ror #8",
    ]


def _pairs_at_the_left(block: WindowBlock) -> list[str]:
    """Returns the loads at the left edge, where pixel 0 is the window's second and padding precedes it."""
    step = block.stride * block.together - 1
    last = ["smlatt %[sum1], %[even], %[{outer}], %[sum1]"]
    return [
        f"{_LOADS[block.inside]} %[even], [%[{{x}}]]{f', #{step}' if step else ''}",
        "sxtb16 %[odd], %[even]",
        "sxtb16 %[even], %[even], ror #8",
        *(last if _has_last_pixel(block) and not block.right else []),
        "pkhbt %[even], %[zero], %[even], lsl #16",
    ]


def _padding_at_the_right(block: WindowBlock) -> list[str]:
    """Inserts the zero point into the upper half of the last window's last pair."""
    if not block.right or _has_last_pixel(block):
        return []
    pair = "odd" if block.together == 2 else "even"
    return [f"pkhbt %[{pair}], %[{pair}], %[zero], lsl #16"]


def _has_last_pixel(block: WindowBlock) -> bool:
    """Returns True if the last window ends with a pixel that is in no pair."""
    return block.together == 2 == block.stride


def _last_pixel(block: WindowBlock) -> list[str]:
    if block.right:
        return ["smlabt %[sum1], %[zero], %[{outer}], %[sum1]"]
    if block.left:
        return []
    return ["ldrsb %[even], [%[{x}]]", "smlabt %[sum1], %[even], %[{outer}], %[sum1]"]
