"""Control files: what a tool must report before its silence about other files means anything."""

from __future__ import annotations

from collections.abc import Collection

from aot.errors import ToolError


def require_reported(tool: str, wanted: Collection[str], found: Collection[str]) -> None:
    """Raises ToolError for a tool that does not report, in its control file, all that is wrong there."""
    if silent := [each for each in wanted if each not in found]:
        raise ToolError(
            f"{tool} does not report {', '.join(silent)} in a control file made to be reported, "
            "so its silence about other files proves nothing",
            hint=f"look at what {tool} is on PATH",
        )
