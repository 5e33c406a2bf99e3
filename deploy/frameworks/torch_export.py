"""Exports PyTorch models to ONNX with torch.export, or else by tracing, with warnings as errors."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from aot.distribution import pip_install
from aot.errors import MissingToolError

# Exceptions of torch.export and warnings of tracing when Python code needs a tensor's value.
_NEEDS_A_VALUE = frozenset(
    (
        "GuardOnDataDependentSymNode",
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "TracerWarning",
    )
)


class DependsOnDataError(Exception):
    """Raised if control flow depends on the input's values. Its cause contains the user's line."""


class KeepsStateError(Exception):
    """Raised if the program writes a buffer that its outputs depend on."""

    def __init__(self, buffer: str, trace: str) -> None:
        super().__init__(buffer)
        self.buffer, self.trace = buffer, trace


@dataclass(frozen=True)
class TorchModel:
    """A module, an ExportedProgram or a ScriptModule, with examples of its inputs."""

    torch: Any
    model: Any
    examples: tuple[Any, ...]
    names: Sequence[str]  # of the inputs

    @property
    def is_program(self) -> bool:
        return isinstance(self.model, self.torch.export.ExportedProgram)

    @property
    def is_script(self) -> bool:
        return isinstance(self.model, self.torch.jit.ScriptModule)


def as_onnx(model: TorchModel) -> bytes:
    """Returns an ONNX file.

    Raises DependsOnDataError, KeepsStateError, MissingToolError, or PyTorch's error.
    """
    if model.is_script:
        return _traced(model)
    if find_spec("onnxscript") is None:
        raise MissingToolError(
            "PyTorch writes ONNX with onnxscript, which is not installed",
            type(model.model).__name__,
            pip_install("torch"),
        )
    try:
        program = program_of(model)
        _require_no_state(program)
        return _converted(model, program)
    except (DependsOnDataError, KeepsStateError):
        raise
    except Exception:
        if model.is_program:
            raise
        try:
            return _traced(model)
        except DependsOnDataError:
            raise
        except Exception:  # if tracing fails as well, the first error is raised
            pass
        raise


def needs_a_value(error: BaseException | None) -> bool:
    """Returns whether an error or its cause is about Python code that needs a tensor's value."""
    while error is not None:
        if type(error).__name__ in _NEEDS_A_VALUE:
            return True
        error = error.__cause__ or error.__context__
    return False


def program_of(model: TorchModel) -> Any:
    """Returns the model as an ExportedProgram. Raises DependsOnDataError or PyTorch's error."""
    if model.is_program:
        return model.model
    try:
        return model.torch.export.export(model.model, model.examples, strict=False)
    except Exception as error:
        if needs_a_value(error):
            raise DependsOnDataError from error
        raise


def _require_no_state(program: Any) -> None:
    """Raises KeepsStateError if a buffer is written and an output depends on its old value."""
    plain = program.run_decompositions({})  # writes become additional outputs
    signature, nodes = plain.graph_signature, {node.name: node for node in plain.graph.nodes}
    placeholders = {buffer: name for name, buffer in signature.inputs_to_buffers.items()}
    used = _ancestors([nodes[name] for name in signature.user_outputs if name in nodes])
    for name, buffer in signature.buffers_to_mutate.items():
        if placeholders[buffer] in used:
            raise KeepsStateError(buffer, str(nodes[name].meta.get("stack_trace") or ""))


def _ancestors(nodes: Sequence[Any]) -> set[str]:
    """Returns the names of these nodes and of all nodes they depend on."""
    found: dict[str, Any] = {}
    left = list(nodes)
    while left:
        node = left.pop()
        if node.name not in found:
            found[node.name] = node
            left += node.all_input_nodes
    return set(found)


def _converted(model: TorchModel, program: Any) -> bytes:
    made = model.torch.onnx.export(
        program, model.examples, input_names=list(model.names), dynamo=True, verbose=False
    )
    return bytes(made.model_proto.SerializeToString())


def _traced(model: TorchModel) -> bytes:
    """Exports with the older exporter, which traces the example. Its warnings are errors."""
    torch, out = model.torch, io.BytesIO()
    fast = torch.backends.mha.get_fastpath_enabled()  # a fused encoder operator that ONNX lacks
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", torch.jit.TracerWarning)
            names = list(model.names)
            torch.onnx.export(
                model.model, model.examples, out, input_names=names, dynamo=False, verbose=False
            )
    except Exception as error:
        if needs_a_value(error):
            raise DependsOnDataError from error
        raise
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return out.getvalue()
