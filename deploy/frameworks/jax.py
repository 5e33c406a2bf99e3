"""JAX functions, exported to ONNX by jax2onnx."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from aot.distribution import pip_install
from aot.errors import MissingToolError, ToolError
from aot.ir.types import Array
from deploy.frameworks.framework import Framework, FrameworkModel, Sample, as_array
from deploy.frameworks.user_lines import defined_at, is_users, last_users_frame, line_text


def _is_function(model: object) -> bool:
    """Returns whether this may be a JAX function: any callable, if JAX is loaded."""
    return "jax" in sys.modules and callable(model) and not isinstance(model, type)


class _JaxFunction(FrameworkModel):
    """A function of arrays, including its weights."""

    def __init__(self, function: Any, examples: Sequence[Any]) -> None:
        self._function = getattr(function, "__wrapped__", function)  # without jit's cached export traces
        self._examples = [np.asarray(each) for each in examples]

    @property
    def name(self) -> str:
        return str(getattr(self._function, "__name__", type(self._function).__name__))

    @property
    def examples(self) -> Sequence[Any]:
        return self._examples

    def exported(self) -> bytes:
        try:
            from jax2onnx import to_onnx
        except ImportError as error:
            raise MissingToolError(
                "JAX' functions are exported by jax2onnx, which is not installed",
                self.name,
                pip_install("jax"),
            ) from error
        import jax

        shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in self._examples]
        try:
            made = to_onnx(self._function, inputs=shapes)
            jax.clear_caches()  # remove the exporter's placeholder operations
            return bytes(made.SerializeToString())
        except Exception as error:  # any exception is about this function
            jax.clear_caches()
            says = (str(error) or type(error).__name__).splitlines()[0]
            where = ", ".join(filter(None, (self.name, self._place(error, says))))
            raise ToolError("jax2onnx cannot export the function", where, f"it reports: {says}") from error

    def outputs(self, sample: Sample) -> list[Array]:
        import jax

        outputs = self._function(*sample.values())
        return [as_array(each) for each in jax.tree_util.tree_leaves(outputs)]

    def place_of(self, told: str) -> str:
        """Returns the line of the primitive with this name in a trace of the function."""
        import jax

        words = set(re.findall(r"\w+", told.lower()))
        for equation in _equations(jax.make_jaxpr(self._function)(*self._examples).jaxpr):
            if equation.primitive.name in words:
                return _line_of(equation) or defined_at(self._function)
        return defined_at(self._function)

    def _place(self, error: Exception, says: str) -> str:
        found = last_users_frame(error)
        if found is not None and _is_inside(self._function, found[0].f_code.co_filename, found[1]):
            return line_text(found[0].f_code.co_filename, found[1])
        return self.place_of(says)


def _is_inside(function: Any, file: str, line: int) -> bool:
    """Returns whether the line belongs to the function and not to the caller of the export."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_filename == file and line > code.co_firstlineno


def _equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in equation.params.values():
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield from _equations(inner)


def _line_of(equation: Any) -> str:
    traceback = getattr(equation.source_info, "traceback", None)
    frames = traceback.frames if traceback is not None else ()
    own = [(frame.file_name, frame.line_num) for frame in frames if is_users(frame.file_name)]
    return line_text(*own[0]) if own else ""


JAX = Framework("JAX", "function", "function.onnx", "jnp.zeros((1, 32))", _is_function, _JaxFunction)
