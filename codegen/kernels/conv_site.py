"""What the strategies of convolutions ask of their site."""

from __future__ import annotations

from aot.ir.types import TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.target import Optimize
from codegen.kernels.kernel import Site
from codegen.kernels.requantised import Requantised, fitted_tail, requantised


def conv_op(site: Site) -> Conv2d:
    """Returns the convolution of a conv2d or conv2d+add site."""
    op = site.node.op.conv if isinstance(site.node.op, Conv2dAdd) else site.node.op
    assert isinstance(op, Conv2d)
    return op


def _made(site: Site) -> TensorType:
    """Returns the type of the convolution's result before the addition."""
    op, out = site.node.op, site.outputs[0]
    return op.made(out) if isinstance(op, Conv2dAdd) else out


def conv_tail(site: Site) -> Requantised:
    op = conv_op(site)
    return requantised(site, op, site.constants[1], _made(site), op.scales_in_single)


def fitted_conv_tail(site: Site, step: int = 1) -> Requantised:
    return fitted_tail(conv_tail(site), site.constants[1], site.input(0).dtype, step)


def has_whole_windows(site: Site) -> bool:
    """Returns True if the values of every window are consecutive in padded rows."""
    op = conv_op(site)
    return op.dilation[1] == 1 and not (site.unpadded and op.padding[1] != (0, 0))


def is_for_speed(site: Site) -> bool:
    return site.allow_widened_rows and site.optimize is Optimize.SPEED
