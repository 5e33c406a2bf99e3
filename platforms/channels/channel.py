"""Finds a channel by name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from platforms.channels import CHANNELS
from platforms.channels.package import Package


class Channel(Protocol):
    """The interface of the modules in platforms.channels."""

    SUMMARY: str  # the users or tools that the package is for
    SUFFIX: str  # of the single archive that the tools import, for example .zip

    def files(self, package: Package) -> Mapping[str, str | bytes]:
        """Returns every file of the package by its path. Raises DeployError for unsupported models."""


def load_channel(name: str) -> Channel:
    return cast(Channel, import_module(CHANNELS[name]))
