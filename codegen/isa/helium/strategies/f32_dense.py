"""Dense layers of floats on Helium: a lane per output."""

from __future__ import annotations

from functools import partial

from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.strategies.f32_dots import with_dots
from codegen.kernels.f32_sums import requests_vector
from codegen.kernels.f32_tiles import FITS, NOT_IN_FOUR_BITS, tiled_dense
from codegen.kernels.strategy import Strategy

STRATEGY = Strategy(
    "helium-f32",
    requests_vector,
    partial(tiled_dense, with_dots),
    FLOAT_NEEDS,
    (*FITS, NOT_IN_FOUR_BITS),
    reads_image_rows=lambda site: True,
)
