"""The measured costs of rows, for passes that split values into rows.

Measured on a Cortex-M4, whose convolutions are SMLAD tiles of three pixels. No other core has been measured
yet; with a second one, this should become a table by core.
"""

from __future__ import annotations

from aot.passes.cost_model import CostModel

MEASURED_COSTS = CostModel(
    lost_pixels_by_remainder=(0.27, 0.7, 0.48),
    macs_per_copied_byte=0.3,
    macs_per_call=100,
    min_macs_per_row=1024,  # starting a row costs about ten multiplications
    min_row_bytes=4,
)
