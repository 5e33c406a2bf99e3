"""The platforms by name: each module has a PLATFORM, and in SECTION its keys of a board's file."""

from __future__ import annotations

from collections.abc import Mapping

from aot.extensions import PLATFORMS as GROUP
from aot.extensions import OpenTable, module_of

PLATFORMS: Mapping[str, str] = OpenTable(
    {
        "host": "platforms.host",
        "baremetal": "platforms.baremetal",
        "arduino": "platforms.arduino",
        "zephyr": "platforms.zephyr",
    },
    GROUP,
    module_of,
)
