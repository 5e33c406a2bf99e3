"""Conditions on layers for vectors of 32-bit sums."""

from __future__ import annotations

from codegen.kernels.conditions import is_rounded_twice
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import Condition

ROUNDED_TWICE = Condition[Site]("results rounded twice", is_rounded_twice)
