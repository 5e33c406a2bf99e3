"""Helium, Arm's vectors of sixteen bytes on the Cortex-M55 and M85."""

from __future__ import annotations

from codegen.isa.helium.needs import INCLUDES, NEEDS
from codegen.isa.helium.schedules.average_pool2d import ADDED_ROWS
from codegen.isa.helium.schedules.conv2d import CONV2D
from codegen.isa.helium.schedules.dense import DENSE
from codegen.isa.helium.schedules.depthwise_channels import CHANNELS
from codegen.isa.helium.schedules.depthwise_planes import PLANES
from codegen.isa.helium.schedules.sum import SUM
from codegen.isa.isa import Isa

_SAVED_BYTES = 64  # d8 to d15, which a function that uses vectors saves

ISA = Isa(
    "helium",
    NEEDS,
    {
        "add": (SUM,),
        "average_pool2d": (ADDED_ROWS,),
        "conv2d": (CONV2D,),
        "dense": (DENSE,),
        "depthwise_conv2d": (PLANES, CHANNELS),
        "sub": (SUM,),
    },
    headers=INCLUDES,
    saved_bytes=_SAVED_BYTES,
)
