"""The instruction sets, the most capable first, with the reason for the order. Each has a folder here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ISAS: Mapping[str, str] = MappingProxyType(
    {
        "rvv": "anywhere: no core has both these vectors and another's",
        "helium": "before dsp: a core with vectors has the DSP extension, too",
        "dsp": "before fpu: integers are its own",
        "fpu": "after them: none of those computes floats",
        "unaligned": "last: any of the others may read words at any address, too",
    }
)
