"""Finds a channel by its name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from platforms.channels import CHANNELS
from platforms.channels.package import Package


class Channel(Protocol):
    """The interface of a module in platforms.channels."""

    SAYS: str  # who takes what the channel makes
    SUFFIX: str  # of the one file that its tools take: a zip

    def files(self, package: Package) -> Mapping[str, str]:
        """Every file of the package: path -> text. Raises DeployError where the channel cannot take it."""


def load_channel(name: str) -> Channel:
    return cast(Channel, import_module(CHANNELS[name]))
