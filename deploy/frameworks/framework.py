"""A framework that networks are trained with: how its models are known, exported and asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.ir.types import Array

Sample = Mapping[str, Array]  # by the names of the exported file's inputs


class FrameworkModel(ABC):
    """A model of a framework with examples of its inputs."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in errors: its class, or its function's name."""

    @property
    def inputs(self) -> list[str]:
        """The names of its inputs, as samples may have them."""
        return [f"input_{number}" for number in range(len(self.examples))]

    @property
    @abstractmethod
    def examples(self) -> Sequence[Any]:
        """An example of each input."""

    @abstractmethod
    def exported(self) -> bytes:
        """The model as a file that computes in floats. Raises ToolError."""

    @abstractmethod
    def outputs(self, sample: Sample) -> list[Array]:
        """The outputs that the framework computes."""

    def in_integers(self, samples: Sequence[Sample]) -> bytes | None:
        """The file as the framework's own converter quantizes it; None where ONNX Runtime does it."""
        return None

    def place_of(self, told: str) -> str:
        """The place in the user's program of what an error speaks of; "" where it is not known."""
        return ""

    how_to_pass_state = "take the state as one more input, and return the new one as one more output"

    def kept_values(self) -> Mapping[str, object]:
        """Copies of what the model may keep from one call to the next, by name."""
        return {}

    def place_of_kept(self, name: str) -> str:
        """The place in the user's program where a kept value is written."""
        return self.name


@dataclass(frozen=True)
class Framework:
    """One framework. Models are known without loading it."""

    name: str
    thing: str  # what users call a model of it
    file: str  # as errors call what was exported; the end says the format
    example: str  # of an input, in Python
    is_its: Callable[[object], bool]
    open: Callable[[Any, Sequence[Any]], FrameworkModel]
    own_examples: Callable[[Any], tuple[Any, ...] | None] = lambda _: None  # those that a model holds itself


def as_array(value: Any) -> Array:
    """An array of what frameworks return; floats become single precision."""
    array: Array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array
