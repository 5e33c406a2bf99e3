"""RISC-V's vectors as processors without an operating system have them: integers, of 128 bits at least."""

from __future__ import annotations

from codegen.isa.isa import Isa
from codegen.isa.rvv.needs import INCLUDES, NEEDS
from codegen.isa.rvv.schedules import SCHEDULES
from codegen.isa.schedule_table import listed_schedules

ISA = Isa("rvv", NEEDS, listed_schedules("codegen.isa.rvv.schedules", SCHEDULES), headers=INCLUDES)
