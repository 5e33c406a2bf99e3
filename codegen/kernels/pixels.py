"""Loops of kernels that process a row pixel by pixel and channel by channel."""

from __future__ import annotations

from codegen.formats import RowFormat
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import For, Stmt


def pixel_element(fmt: RowFormat) -> Affine:
    """Returns the row element at `column`, channel `c`."""
    return (variable("column") + fmt.left) * fmt.x_step + variable("c") * fmt.c_step


def is_dense(fmt: RowFormat) -> bool:
    """Returns True if there are no gaps between the elements of a row."""
    return fmt.c_step == 1 and fmt.x_step == fmt.channels


def dense_element(fmt: RowFormat) -> Affine:
    """Returns the `i`-th element of a dense row."""
    return variable("i") + fmt.left * fmt.x_step


def every_pixel(y: RowFormat, *body: Stmt) -> For:
    return For("column", y.width, (For("c", y.channels, body),))
