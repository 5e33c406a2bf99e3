"""Control files with known defects. A tool must report them before its silence about other files counts."""

from __future__ import annotations

from collections.abc import Collection

from aot.errors import ToolError


def require_reported(tool: str, wanted: Collection[str], found: Collection[str]) -> None:
    """Raises ToolError if a tool does not report all defects of its control file."""
    if silent := [each for each in wanted if each not in found]:
        raise ToolError(
            f"{tool} does not report {', '.join(silent)} in a control file made to be reported, "
            "so its silence about other files proves nothing",
            hint=f"look at what {tool} is on PATH",
        )
