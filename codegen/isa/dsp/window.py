"""Cortex-M DSP extension: the products of one kernel row of 3x3 windows over planes, padding there or not.

One word holds pixels 0..3; SXTB16 gives the pairs (0, 2) and (1, 3). Where a plane has no padding, PKHBT puts
the zero point into the half of a pair that would lie outside: one instruction for each row of a window that
hangs over an edge, and none where the window's last pixel has a multiplication to itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.loops.affine import Affine
from codegen.loops.ir import Binary, Buffer, Choose, Const, Expr, Index, load

KERNEL = 3
_LOADS = {1: "ldrsb", 2: "ldrh", 3: "ldr", 4: "ldr", 5: "ldr"}  # by pixels inside the plane
_WORD = 4


@dataclass(frozen=True, slots=True)
class Edges:
    """A plane without padding: `width` pixels, and 0 or 1 that the first window takes in before them."""

    width: int
    left: int
    zero_point: int

    @property
    def name(self) -> str:
        return f"_plane_{self.width}_left_{self.left}_outside_{self.zero_point}".replace("-", "m")

    @property
    def said(self) -> str:
        """Says it in a comment."""
        first = "before it" if self.left else "in it"
        return f"of planes of {self.width} without padding, the first window beginning {first}"

    def value(self, x: Buffer, plane: Affine | int, pixel: Affine, row: Affine) -> Expr:
        """The value of a pixel, which may lie outside, counted from the first window's in its plane."""
        padding = Const(self.zero_point)
        here = load(x, pixel - self.left + plane, row)
        before, within = (Binary("<", Index(pixel), Const(self.left + n)) for n in (0, self.width))
        return Choose(before, padding, Choose(within, here, padding))


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """One output or two neighbors; whether the first window and the last hang over an edge."""

    first: int
    together: int
    stride: int
    left: bool = False
    right: bool = False

    @property
    def inside(self) -> int:
        """Pixels of the windows that the plane has."""
        return self.stride * (self.together - 1) + KERNEL - self.left - self.right

    @property
    def loaded(self) -> int:
        """Pixels from the first one inside to the last one loaded."""
        return max(self.inside, _WORD) if _LOADS[self.inside] == "ldr" else self.inside


def blocks_of(outputs: int, stride: int, edges: Edges | None) -> tuple[WindowBlock, ...]:
    """All outputs of a row, two at a time."""
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
    """Bytes behind a plane that are loaded and not used."""
    ends = (
        max(block.first * stride - edges.left, 0) + block.loaded
        for block in blocks_of(outputs, stride, edges)
    )
    return max(0, max(ends) - edges.width)


def window_row(block: WindowBlock) -> list[str]:
    """A kernel row's products for the outputs of a block.

    {x} is the operand that points to its pixels, {outer} and {middle} have its taps: the middle one in that
    {half}.
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
    """Pixel 0 is the window's second: what is loaded as even is odd, and padding comes before the rest."""
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
    """Puts the zero point into the upper half of the pair that the last window ends with."""
    if not block.right or _has_last_pixel(block):
        return []
    pair = "odd" if block.together == 2 else "even"
    return [f"pkhbt %[{pair}], %[{pair}], %[zero], lsl #16"]


def _has_last_pixel(block: WindowBlock) -> bool:
    """True where the last window ends with a pixel that is in none of the pairs."""
    return block.together == 2 == block.stride


def _last_pixel(block: WindowBlock) -> list[str]:
    if block.right:
        return ["smlabt %[sum1], %[zero], %[{outer}], %[sum1]"]
    if block.left:
        return []
    return ["ldrsb %[even], [%[{x}]]", "smlabt %[sum1], %[even], %[{outer}], %[sum1]"]
