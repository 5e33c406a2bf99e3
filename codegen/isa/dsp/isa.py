"""Arm's DSP extension: two products of 16 bits in an instruction, and rounding high products."""

from __future__ import annotations

from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.scalar_math import with_dsp
from codegen.isa.dsp.schedules.conv2d import CONV2D
from codegen.isa.dsp.schedules.dense import DENSE
from codegen.isa.dsp.schedules.depthwise_channels import CHANNELS_TILES
from codegen.isa.dsp.schedules.depthwise_planes import PLANES
from codegen.isa.dsp.schedules.winograd import WINOGRAD
from codegen.isa.isa import Isa

ISA = Isa(
    "dsp",
    NEEDS,
    {"conv2d": (WINOGRAD, CONV2D), "dense": (DENSE,), "depthwise_conv2d": (PLANES, CHANNELS_TILES)},
    math=with_dsp,
)
