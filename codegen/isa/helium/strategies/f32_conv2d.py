"""conv2d of floats on Helium: tiles of neighboring pixels, with a lane per output channel."""

from __future__ import annotations

from functools import partial

from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.strategies.f32_dots import with_dots
from codegen.kernels.f32_sums import requests_padding
from codegen.kernels.f32_tiles import FITS, NEIGHBORING_COLUMNS, tiled_conv2d
from codegen.kernels.strategy import Strategy

STRATEGY = Strategy(
    "helium-f32",
    requests_padding,
    partial(tiled_conv2d, with_dots),
    FLOAT_NEEDS,
    (*FITS, NEIGHBORING_COLUMNS),
)
