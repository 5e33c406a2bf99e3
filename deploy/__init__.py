"""Neural networks onto microcontrollers, from Python.

The whole job, with the digits model that comes with Solder:

    >>> from pathlib import Path
    >>> import numpy as np
    >>> import deploy
    >>> digits = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    >>> compiled = deploy.compile(digits, board="host")
    >>> result = deploy.run(compiled, np.zeros((1, 8, 8, 1), np.int8))
    >>> [(array.shape, str(array.dtype)) for array in result.outputs.values()]
    [((1, 10), 'int8')]

`load` gives the model as a graph that the reference can run, `inspect` says what a model needs and whether
it fits, `diff` what differs between two compiled models, `verify` compares a board with the reference in
every bit, `tune` searches faster kernels on a board, `in_process` makes the model a function of this
process, and `deploy.lang` is the language in which kernels are written. What the user must put right is
raised as DeployError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aot.errors import DeployError

if TYPE_CHECKING:
    from deploy.api import Model, Run, compile, diff, in_process, inspect, load, run, tune, verify

__all__ = [
    "DeployError",
    "Model",
    "Run",
    "compile",
    "diff",
    "in_process",
    "inspect",
    "load",
    "run",
    "tune",
    "verify",
]


def __dir__() -> list[str]:
    """Lists what is loaded later, too."""
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # whose imports above say what there is

    def __getattr__(name: str) -> Any:
        """Loads the compiler when it is first asked for: `deploy --help` imports this package too."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from deploy import api

        return getattr(api, name)
