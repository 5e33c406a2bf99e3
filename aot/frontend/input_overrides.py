"""The user's overrides of a model's inputs: sizes that the file leaves open, and fixed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class InputOverrides:
    """Shapes and values by input name; an input with a value is no longer an input."""

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


NO_OVERRIDES = InputOverrides()
