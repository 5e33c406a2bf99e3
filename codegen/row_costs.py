"""The measured costs of rows, which the passes that split values into rows are handed.

It was measured on a Cortex-M4, whose convolutions are tiles of three pixels by SMLAD. No other core has been
measured: where one is, a table by core belongs here.
"""

from __future__ import annotations

from aot.passes.cost_model import CostModel

MEASURED_COSTS = CostModel(
    lost_pixels_by_remainder=(0.27, 0.7, 0.48),
    macs_per_copied_byte=0.3,
    macs_per_call=100,
    min_macs_per_row=1024,  # beginning a row takes about as long as ten multiplications
    min_row_bytes=4,
)
