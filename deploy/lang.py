"""The language for kernels: define a computation, schedule it, run it on any board.

    >>> from deploy import lang
    >>> x = lang.placeholder("x", (4, 8), "i8")
    >>> w = lang.placeholder("w", (3, 8), "i8", constant=True)
    >>> k = lang.reduce_axis("k", 8)
    >>> y = lang.compute("y", (4, 3), lambda i, j: lang.sum(x[i, k] * w[j, k], k))
    >>> s = lang.schedule("product", [x, w], y)
    >>> s.unroll("k")
    >>> print(s.show())
    def product(x: input(i8[32]), w: constant(i8[24]), y: output(i32[12])):
        for i in range(4):
            for j in range(3):
                sum: local(i32[1])
                sum[0] = 0
                for k in unrolled(8):
                    sum[0] += x[i * 8 + k] * w[j * 8 + k]
                y[i * 3 + j] = sum[0]
    <BLANKLINE>

`build(s, board)` returns a function that runs on this machine, or on an emulated or physical board.
`search(s, board)` searches for a schedule. `layer_schedule` defines schedules for the compiler's layers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from codegen.lang.instruction import instruction, named_in, parse, print_instruction, print_proc
from codegen.lang.quantized import quantized
from codegen.lang.schedule import Schedule
from codegen.lang.template import TemplateKnobs as Knobs
from codegen.lang.tensor import compute, placeholder, reduce_axis
from codegen.lang.tensor_proc import proc, schedule
from codegen.lang.value import (
    cast,
    clamp,
    equal,
    function,
    maximum,
    minimum,
    where,
)
from codegen.lang.value import least_of as min
from codegen.lang.value import most_of as max
from codegen.lang.value import sum_of as sum

if TYPE_CHECKING:
    from codegen.lang.layer_schedule import layer_schedule
    from deploy.devices.kernel_build import build
    from deploy.tuner.schedule_search import search

__all__ = [
    "Knobs",
    "Schedule",
    "build",
    "cast",
    "clamp",
    "compute",
    "equal",
    "function",
    "instruction",
    "layer_schedule",
    "max",
    "maximum",
    "min",
    "minimum",
    "named_in",
    "parse",
    "placeholder",
    "print_instruction",
    "print_proc",
    "proc",
    "quantized",
    "reduce_axis",
    "schedule",
    "search",
    "sum",
    "where",
]


_LATER = {
    "build": "deploy.devices.kernel_build",
    "layer_schedule": "codegen.lang.layer_schedule",
    "search": "deploy.tuner.schedule_search",
}


def __dir__() -> list[str]:
    """Lists attributes that are loaded on first use, too."""
    return sorted({*globals(), *__all__})


if not TYPE_CHECKING:  # type checkers use the imports above

    def __getattr__(name: str) -> Any:
        """Loads modules that need boards or kernels on first use, so that importing the language is fast."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_LATER[name]), name)
