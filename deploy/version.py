"""Which version of Solder this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def tool_version() -> str:
    """As installed; a tree that is run without being installed has none."""
    try:
        return version("solder")
    except PackageNotFoundError:
        return "(not installed)"
