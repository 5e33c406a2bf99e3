"""Exports PyTorch's models as ONNX: by torch.export, or else by tracing, whose warnings are errors."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from aot.distribution import pip_install
from aot.errors import MissingToolError

# What torch.export raises, and tracing warns of, where Python asks for the value of a tensor.
_NEEDS_A_VALUE = frozenset(
    (
        "GuardOnDataDependentSymNode",
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "TracerWarning",
    )
)


class DependsOnDataError(Exception):
    """The program takes another way for other values of its input. Its cause has the user's line."""


class KeepsStateError(Exception):
    """The program writes a buffer that its outputs depend on."""

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
    """An ONNX file. Raises DependsOnDataError, KeepsStateError, MissingToolError, or what PyTorch raises."""
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
        except Exception:  # tracing is the second choice: the first one's reason is raised
            pass
        raise


def needs_a_value(error: BaseException | None) -> bool:
    """True for an error, or its cause, about Python code that asks for the value of a tensor."""
    while error is not None:
        if type(error).__name__ in _NEEDS_A_VALUE:
            return True
        error = error.__cause__ or error.__context__
    return False


def program_of(model: TorchModel) -> Any:
    """The model as an ExportedProgram. Raises DependsOnDataError, or what PyTorch raises."""
    if model.is_program:
        return model.model
    try:
        return model.torch.export.export(model.model, model.examples, strict=False)
    except Exception as error:
        if needs_a_value(error):
            raise DependsOnDataError from error
        raise


def _require_no_state(program: Any) -> None:
    """Raises KeepsStateError for a buffer that is written where an output depends on what it was."""
    plain = program.run_decompositions({})  # with writes as outputs of their own
    signature, nodes = plain.graph_signature, {node.name: node for node in plain.graph.nodes}
    placeholders = {buffer: name for name, buffer in signature.inputs_to_buffers.items()}
    used = _ancestors([nodes[name] for name in signature.user_outputs if name in nodes])
    for name, buffer in signature.buffers_to_mutate.items():
        if placeholders[buffer] in used:
            raise KeepsStateError(buffer, str(nodes[name].meta.get("stack_trace") or ""))


def _ancestors(nodes: Sequence[Any]) -> set[str]:
    """The names of all nodes that these are computed from, and of themselves."""
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
    """By the older exporter, which follows the example: what it warns of is an error."""
    torch, out = model.torch, io.BytesIO()
    fast = torch.backends.mha.get_fastpath_enabled()  # one operator for a whole encoder: ONNX lacks it
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
