"""The version of Solder."""

from __future__ import annotations

VERSION = "0.2.0"  # also the package's: pyproject.toml reads it
