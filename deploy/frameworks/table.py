"""The supported frameworks, in the order in which they are asked to recognize a model."""

from __future__ import annotations

from deploy.frameworks.framework import Framework
from deploy.frameworks.jax import JAX
from deploy.frameworks.keras import KERAS
from deploy.frameworks.pytorch import PYTORCH
from deploy.frameworks.sklearn import SKLEARN

FRAMEWORKS = (PYTORCH, KERAS, SKLEARN, JAX)  # JAX is last, because it accepts any function


def framework_of(model: object) -> Framework | None:
    """Returns the framework of a model, or None for files and other objects. Imports no framework."""
    return next((each for each in FRAMEWORKS if each.is_its(model)), None)
