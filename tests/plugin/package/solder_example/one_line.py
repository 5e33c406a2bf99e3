"""A channel that gives a model's name and version, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.channels.package import Package

SUMMARY = "one line"
SUFFIX = ".zip"


def files(package: Package) -> Mapping[str, str]:
    return {"line.txt": f"{package.name} {package.options.version}\n"}
