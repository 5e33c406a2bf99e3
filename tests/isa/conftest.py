"""The compilers that are given every instruction's C for a core."""

import pytest

# Of every so many trials one. clang has texts of its own for what it keeps registers from, and starts slowly.
EVERY = {"arm-none-eabi-gcc": 1, "zig": 9}


@pytest.fixture(params=EVERY)
def compiler(request, require_tool, require_package):
    """Its name, and of how many trials it gets one."""
    name: str = request.param
    require_tool("qemu-system-arm", *([] if name == "zig" else [name]))
    require_package(*(["ziglang"] if name == "zig" else []))
    return name, EVERY[name]
