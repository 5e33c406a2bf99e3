"""The functions of generated C that callers use, as they are named behind the model's name."""

from __future__ import annotations

RUN = "run"
RESET = "reset"  # of a model with states
PUSH_ROW = "push_row"  # of one whose input is streamed
ENTRIES = (RUN, RESET, PUSH_ROW)
