"""RISC-V vectors of processors without an operating system: integers, at least 128 bits wide."""

from __future__ import annotations

from codegen.isa.isa import Isa, listed_strategies
from codegen.isa.rvv import INCLUDES, NEEDS
from codegen.isa.rvv.strategies import STRATEGIES

ISA = Isa("rvv", NEEDS, listed_strategies("codegen.isa.rvv.strategies", STRATEGIES), headers=INCLUDES)
