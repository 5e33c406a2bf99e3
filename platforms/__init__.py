"""The platforms by name. Each module has a PLATFORM, and a SECTION with its keys of a board file."""

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
