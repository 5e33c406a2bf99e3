"""Which kernel file serves which op: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from codegen.kernels import (
    add,
    average_pool2d,
    conv2d,
    dense,
    depthwise_conv2d,
    max_pool2d,
    softmax,
)
from codegen.kernels.kernel import OpKernel

KERNELS: Mapping[str, OpKernel] = MappingProxyType(
    {
        "add": add.KERNEL,
        "average_pool2d": average_pool2d.KERNEL,
        "conv2d": conv2d.KERNEL,
        "dense": dense.KERNEL,
        "depthwise_conv2d": depthwise_conv2d.KERNEL,
        "max_pool2d": max_pool2d.KERNEL,
        "softmax": softmax.KERNEL,
    }
)
