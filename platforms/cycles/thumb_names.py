"""Mnemonics and register names of Thumb code."""

from __future__ import annotations

LOOP_ENDS = ("le", "letp", "wls", "wlstp")  # end or start hardware loops
USUAL_NAME = {"r13": "sp", "r14": "lr", "r15": "pc"}
