"""One kernel for int8 and another for floats, under one op's name."""

from __future__ import annotations

from dataclasses import replace

from codegen.kernels.conditions import F32_INPUTS
from codegen.kernels.schedule import OpKernel


def by_dtype(integers: OpKernel, f32: OpKernel) -> OpKernel:
    """The schedules for floats where the op's data are such, else the others."""
    of_f32 = tuple(replace(s, fits=(F32_INPUTS, *s.fits)) for s in f32.schedules)
    return OpKernel((*of_f32, *integers.schedules), integers.dtypes | f32.dtypes)
