"""The name of Solder on PyPI, where "solder" is another project."""

from __future__ import annotations

DISTRIBUTION = "solder-mcu"


def pip_install(*extras: str) -> str:
    """Returns the pip command that installs these extras, for hints."""
    return f"pip install '{DISTRIBUTION}[{','.join(extras)}]'"
