"""The instruction sets, the most capable first, with the reason for the order. Each has a folder here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

ISAS: Mapping[str, str] = MappingProxyType(
    {
        "rvv": "anywhere: no core has these vectors and others",
        "helium": "before dsp: a core with Helium also has the DSP extension",
        "dsp": "before fpu: it computes integers only",
        "fpu": "after them: none of them computes floats",
        "unaligned": "last: the others may read unaligned words, too",
    }
)
