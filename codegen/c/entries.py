"""The functions of generated C that callers use; each name follows the model's name."""

from __future__ import annotations

RUN = "run"
RESET = "reset"  # for models with states
SAVE, RESTORE = "save_state", "restore_state"  # for models with states
PUSH_ROW = "push_row"  # for models with a streamed input
PUSH_ROWS = "push_rows"  # for models of one hop of a window
ENTRIES = (RUN, RESET, SAVE, RESTORE, PUSH_ROW, PUSH_ROWS)
