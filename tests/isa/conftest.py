"""The compilers that are given every instruction's C for a core."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# Of every so many trials one. clang has texts of its own for what it keeps registers from, and starts slowly.
EVERY = {"arm-none-eabi-gcc": 1, "zig": 9}


@pytest.fixture(params=EVERY)
def compiler(
    request: pytest.FixtureRequest,
    require_tool: Callable[..., None],
    require_package: Callable[..., None],
) -> tuple[str, int]:
    """Its name, and of how many trials it gets one."""
    name: str = request.param
    require_tool("qemu-system-arm", *([] if name == "zig" else [name]))
    require_package(*(["ziglang"] if name == "zig" else []))
    return name, EVERY[name]
