"""The name by which pip knows Solder: on PyPI "solder" is another project."""

from __future__ import annotations

DISTRIBUTION = "solder-mcu"


def pip_install(*extras: str) -> str:
    """The command that adds extras, as hints give it."""
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"
