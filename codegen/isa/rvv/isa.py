"""RISC-V vectors of processors without an operating system: integers, at least 128 bits wide."""

from __future__ import annotations

from codegen.isa.isa import Isa
from codegen.isa.rvv.needs import INCLUDES, NEEDS
from codegen.isa.rvv.schedules import SCHEDULES
from codegen.isa.schedule_table import listed_schedules

ISA = Isa("rvv", NEEDS, listed_schedules("codegen.isa.rvv.schedules", SCHEDULES), headers=INCLUDES)
