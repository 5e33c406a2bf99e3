"""One kernel for int8 and another for real numbers, under one op's name."""

from __future__ import annotations

from dataclasses import replace

from codegen.kernels.conditions import REALS
from codegen.kernels.schedule import OpKernel


def by_dtype(integers: OpKernel, reals: OpKernel) -> OpKernel:
    """The schedules for real numbers where the op's data are such, else the others."""
    of_reals = tuple(replace(s, fits=(REALS, *s.fits)) for s in reals.schedules)
    return OpKernel((*of_reals, *integers.schedules), integers.dtypes | reals.dtypes)
