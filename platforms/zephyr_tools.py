"""Finds west, which builds and flashes Zephyr applications, and the Zephyr tree."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from aot.errors import MissingToolError, ToolError
from platforms.toolchains import Toolchain

BASE_VARIABLE = "ZEPHYR_BASE"
OLDEST = (3, 7)
RENAMED = (4, 0)
HINT = (
    "pip install west; get Zephyr 3.7 or newer and a toolchain: docs.zephyrproject.org, Getting Started\n"
    f"and set its path: export {BASE_VARIABLE}=.../zephyr"
)


def find_west(prefer: str | None = None) -> Toolchain:
    """Finds west and the version of its Zephyr tree. Zephyr selects the compiler."""
    if prefer not in (None, "west"):
        what = f'toolchain "{prefer}" does not build Zephyr applications'
        raise ToolError(what, hint="known for Zephyr: west")
    west, base = shutil.which("west"), os.environ.get(BASE_VARIABLE)
    if west is None or not base:
        lacks = "west was not found" if west is None else f"{BASE_VARIABLE} is not set"
        raise MissingToolError("cannot build for Zephyr", lacks, HINT)
    version = tree_version(Path(base))
    if version < OLDEST:
        shown = ".".join(map(str, version))
        raise MissingToolError(f"Zephyr {shown} is older than 3.7, the oldest supported version", base, HINT)
    variant = os.environ.get("ZEPHYR_TOOLCHAIN_VARIANT", "the Zephyr SDK")
    return Toolchain("west", "zephyr", (west,), f"Zephyr {'.'.join(map(str, version))} at {base}, {variant}")


def has_new_names() -> bool:
    """Returns whether the installed Zephyr version has renamed some boards."""
    base = os.environ.get(BASE_VARIABLE)
    return base is not None and tree_version(Path(base)) >= RENAMED


def tree_version(base: Path) -> tuple[int, ...]:
    """Returns the version of a Zephyr tree as numbers, such as (3, 7, 1), so that 4.10 is newer than 4.9."""
    try:
        text = (base / "VERSION").read_text(encoding="utf-8")
    except OSError as error:
        raise MissingToolError(
            "there is no Zephyr tree", str(base), f"{BASE_VARIABLE} points there"
        ) from error
    found = dict(re.findall(r"^(\w+) *= *(\d+)", text, re.MULTILINE))
    return tuple(int(found.get(part, 0)) for part in ("VERSION_MAJOR", "VERSION_MINOR", "PATCHLEVEL"))
