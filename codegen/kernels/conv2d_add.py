"""conv2d+add: the conv2d kernels that can add another row to the results they store."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.kernels.conv2d import PLAIN
from codegen.kernels.strategy import OpKernel

KERNEL = OpKernel((PLAIN,), frozenset({DType.I8}))
