"""The version of Solder."""

from __future__ import annotations

VERSION = "0.2.0"  # the package's, too: pyproject.toml reads it here
