"""The functions of generated C that callers use; each name follows the model's name."""

from __future__ import annotations

RUN = "run"
RESET = "reset"  # for models with states
PUSH_ROW = "push_row"  # for models with a streamed input
ENTRIES = (RUN, RESET, PUSH_ROW)
