"""Solder's Python API: compiles neural networks for microcontrollers, and runs and measures them there.

A complete example, with the digits model that is included in Solder:

    >>> from pathlib import Path
    >>> import numpy as np
    >>> import deploy
    >>> digits = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    >>> compiled = deploy.compile(digits, board="host")
    >>> result = deploy.run(compiled, np.zeros((1, 8, 8, 1), np.int8))
    >>> [(array.shape, str(array.dtype)) for array in result.outputs.values()]
    [((1, 10), 'int8')]

Models: `load` reads a model file into a graph that the reference can run. `graph` builds one in Python.
`in_process` turns a model into a function of this process.

Measuring: `inspect` reports needs and fit. `diff` compares two compiled models. `verify` compares a board's
outputs with the reference bit for bit. `connect` keeps a connection to a board open. `tune` searches for
faster kernels. `report` writes a page about a model on several boards. `explore` evaluates all combinations
of models, boards and options. `evidence` collects proofs about compiled code.

`bench`, `export`, `quantize`, `new`, `new_accelerator`, `build`, `flash`, `boards`, `ops`, `accelerators`,
`docs`, `doctor`, `cache` and `records` match the commands with these names. Their results contain the facts
of `--json`, and print as the command's page. `deploy.lang` is the language for kernels.

Errors that the user can fix are raised as DeployError.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder

from deploy.moved import answer_old_imports

TYPE_CHECKING = False  # same as typing.TYPE_CHECKING, whose import would double the loading time
if TYPE_CHECKING:
    from typing import Any

    from aot.errors import DeployError
    from deploy.accelerator_package.write import new_accelerator
    from deploy.cli.docs_pages import docs
    from deploy.cli.lists import accelerators, boards, ops, records
    from deploy.compiler.export_package import export
    from deploy.devices.cache_page import cache
    from deploy.devices.connection import connect
    from deploy.devices.projects import build, flash, new
    from deploy.exploring.by_name import explore
    from deploy.host_tools.doctor_page import doctor
    from deploy.proving.make import evidence
    from deploy.python_api.graph_builder import graph
    from deploy.python_api.model import Model, load
    from deploy.python_api.offline import compile, diff, in_process, inspect
    from deploy.python_api.on_board import Run, bench, run, tune, verify
    from deploy.quantization.quantize_file import quantize
    from deploy.reporting.request import report

_HIDEABLE = ("aot", "artifact", "boards", "codegen", "extensions", "platforms", "project_templates")


def _refuse_hidden_packages() -> None:
    """Raises ImportError if another file or folder would be imported instead of a package of Solder.

    Python searches the folder of the running program first.
    """
    ours = os.path.realpath(f"{__file__}/../..")  # pathlib is slow to import
    for name in _HIDEABLE:
        spec = getattr(sys.modules.get(name), "__spec__", None) or PathFinder.find_spec(name)
        if spec is None:  # an installation with another finder
            continue
        place = spec.origin or next(iter(spec.submodule_search_locations or [""]))
        if not os.path.realpath(place).startswith(f"{ours}{os.sep}{name}{os.sep}"):
            what = f"{place} hides Solder's package {name}: rename it, or start Python in another folder"
            if sys.argv[:1] == ["-m"]:  # for python -m deploy, one line is enough
                raise SystemExit(f"error: {what}")
            raise ImportError(what)


_refuse_hidden_packages()
answer_old_imports()
_MODULES = {
    **dict.fromkeys(("compile", "diff", "in_process", "inspect"), "python_api.offline"),
    **dict.fromkeys(("Model", "load"), "python_api.model"),
    **dict.fromkeys(("Run", "bench", "run", "tune", "verify"), "python_api.on_board"),
    **dict.fromkeys(("accelerators", "boards", "ops", "records"), "cli.lists"),
    **dict.fromkeys(("build", "flash", "new"), "devices.projects"),
    "cache": "devices.cache_page",
    "connect": "devices.connection",
    "docs": "cli.docs_pages",
    "doctor": "host_tools.doctor_page",
    "evidence": "proving.make",
    "explore": "exploring.by_name",
    "export": "compiler.export_package",
    "graph": "python_api.graph_builder",
    "new_accelerator": "accelerator_package.write",
    "quantize": "quantization.quantize_file",
    "report": "reporting.request",
}
__all__ = [
    "DeployError",
    "Model",
    "Run",
    "accelerators",
    "bench",
    "boards",
    "build",
    "cache",
    "compile",
    "connect",
    "diff",
    "docs",
    "doctor",
    "evidence",
    "explore",
    "export",
    "flash",
    "graph",
    "in_process",
    "inspect",
    "load",
    "new",
    "new_accelerator",
    "ops",
    "quantize",
    "records",
    "report",
    "run",
    "tune",
    "verify",
]


def __dir__() -> list[str]:
    """Lists attributes that are loaded on first use, too."""
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # type checkers use the imports above

    def __getattr__(name: str) -> Any:
        """Loads attributes on first use, because `deploy --help` imports this package, too."""
        if name == "DeployError":
            return import_module("aot.errors").DeployError
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"deploy.{_MODULES[name]}"), name)
