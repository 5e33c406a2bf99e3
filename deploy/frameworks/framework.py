"""The interface of training frameworks: recognizing, exporting and running their models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.ir.types import Array

Sample = Mapping[str, Array]  # by the input names of the exported file


class FrameworkModel(ABC):
    """A framework's model with examples of its inputs."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in errors: the class or function name."""

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs, which samples may use."""
        return [f"input_{number}" for number in range(len(self.examples))]

    @property
    @abstractmethod
    def examples(self) -> Sequence[Any]:
        """An example of each input."""

    @abstractmethod
    def exported(self) -> bytes:
        """Returns the model as a float file. Raises ToolError."""

    @abstractmethod
    def outputs(self, sample: Sample) -> list[Array]:
        """Returns the outputs computed by the framework."""

    def in_integers(self, samples: Sequence[Sample]) -> bytes | None:
        """Returns the file quantized by the framework's converter, or None to use ONNX Runtime."""
        return None

    def place_of(self, told: str) -> str:
        """Returns the location in the user's program that an error message refers to, or ""."""
        return ""

    how_to_pass_state = "take the state as one more input, and return the new one as one more output"

    def kept_values(self) -> Mapping[str, object]:
        """Returns copies of state that the model may keep between calls, by name."""
        return {}

    def place_of_kept(self, name: str) -> str:
        """Returns the location in the user's program that writes this state."""
        return self.name


@dataclass(frozen=True)
class Framework:
    """A framework. Its models are recognized without importing it."""

    name: str
    thing: str  # what users call a model of it
    file: str  # name of the exported file in errors; its suffix is the format
    example: str  # of an input, in Python
    is_its: Callable[[object], bool]
    open: Callable[[Any, Sequence[Any]], FrameworkModel]
    own_examples: Callable[[Any], tuple[Any, ...] | None] = lambda _: None  # examples stored in the model


def as_array(value: Any) -> Array:
    """Converts a framework's value to an array. Double becomes single precision."""
    array: Array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array
