"""The frameworks whose models are compiled in one call, in the order in which they claim a model."""

from __future__ import annotations

from deploy.frameworks.framework import Framework
from deploy.frameworks.jax import JAX
from deploy.frameworks.keras import KERAS
from deploy.frameworks.pytorch import PYTORCH
from deploy.frameworks.sklearn import SKLEARN

FRAMEWORKS = (PYTORCH, KERAS, SKLEARN, JAX)  # JAX' models are functions of any kind


def framework_of(model: object) -> Framework | None:
    """The framework of a model, which is loaded already if there is one; None for files and the like."""
    return next((each for each in FRAMEWORKS if each.is_its(model)), None)
