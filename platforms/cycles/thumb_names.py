"""Names that readers of Thumb code have to know."""

from __future__ import annotations

LOOP_ENDS = ("le", "letp", "wls", "wlstp")  # jumps of loops that are counted in hardware
USUAL_NAME = {"r13": "sp", "r14": "lr", "r15": "pc"}
