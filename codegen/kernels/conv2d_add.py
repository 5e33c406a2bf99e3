"""conv2d+add: the kernels of conv2d that can add another row to what they store."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.kernels.conv2d import PLAIN
from codegen.kernels.schedule import OpKernel

KERNEL = OpKernel((PLAIN,), frozenset({DType.I8}))
