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

`load` gives the model as a graph that the reference can run, `graph` begins one without a file, `inspect`
says what a model needs and whether it fits, `diff` what differs between two compiled models, `verify`
compares a board with the reference in every bit, `tune` searches faster kernels on a board, `in_process`
makes the model a function of this process, and `deploy.lang` is the language in which kernels are written.
`report` makes a page of all that about several boards, `explore` looks at every combination of models, boards
and options, `evidence` proves what can be proven of compiled code, and `connect` keeps the line to a board
open.
`bench`, `export`, `quantize`, `new`, `new_accelerator`, `build`, `flash`, `boards`, `ops`, `accelerators`,
`docs`, `doctor`, `cache` and `records` do what the commands of these names do; what they answer has the facts
of `--json`, and prints as the command's page. What the user must put right is raised as DeployError.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder

from deploy.moved import answer_old_imports

TYPE_CHECKING = False  # as typing has it, which would take as long to load as all else here
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
    from deploy.proving.by_name import evidence
    from deploy.python_api.graph_builder import graph
    from deploy.python_api.model import Model, load
    from deploy.python_api.offline import compile, diff, in_process, inspect
    from deploy.python_api.on_board import Run, bench, run, tune, verify
    from deploy.quantization.quantize_file import quantize
    from deploy.reporting.by_name import report

_HIDEABLE = ("aot", "artifact", "boards", "codegen", "extensions", "platforms", "project_templates")


def _refuse_hidden_packages() -> None:
    """Raises ImportError if another file or folder would be imported in place of one of Solder's packages.

    Python looks first in the folder of the program that it runs.
    """
    ours = os.path.realpath(f"{__file__}/../..")  # pathlib takes its time
    for name in _HIDEABLE:
        spec = getattr(sys.modules.get(name), "__spec__", None) or PathFinder.find_spec(name)
        if spec is None:  # of an installation that finds its packages in another way
            continue
        place = spec.origin or next(iter(spec.submodule_search_locations or [""]))
        if not os.path.realpath(place).startswith(f"{ours}{os.sep}{name}{os.sep}"):
            what = f"{place} hides Solder's package {name}: rename it, or start Python in another folder"
            if sys.argv[:1] == ["-m"]:  # python -m deploy: a line is enough
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
    "evidence": "proving.by_name",
    "explore": "exploring.by_name",
    "export": "compiler.export_package",
    "graph": "python_api.graph_builder",
    "new_accelerator": "accelerator_package.write",
    "quantize": "quantization.quantize_file",
    "report": "reporting.by_name",
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
    """Lists what is loaded later, too."""
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # whose imports above say what there is

    def __getattr__(name: str) -> Any:
        """Loads the compiler when it is first asked for: `deploy --help` imports this package too."""
        if name == "DeployError":
            return import_module("aot.errors").DeployError
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"deploy.{_MODULES[name]}"), name)
