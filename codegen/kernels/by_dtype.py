"""Combines the integer and float kernels of an op."""

from __future__ import annotations

from dataclasses import replace

from codegen.kernels.conditions import F32_INPUTS
from codegen.kernels.schedule import OpKernel


def by_dtype(integers: OpKernel, f32: OpKernel) -> OpKernel:
    """Returns a kernel with the float schedules for float inputs and the integer schedules for others."""
    of_f32 = tuple(replace(s, fits=(F32_INPUTS, *s.fits)) for s in f32.schedules)
    return OpKernel((*of_f32, *integers.schedules), integers.dtypes | f32.dtypes)
