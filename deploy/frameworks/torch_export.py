"""Exports PyTorch models to ONNX with torch.export, or else by tracing, with warnings as errors."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from aot.distribution import pip_install
from aot.errors import MissingToolError
from aot.frontend.onnx.declared_states import with_declared_states

# Exceptions of torch.export and warnings of tracing when Python code needs a tensor's value.
_NEEDS_A_VALUE = frozenset(
    (
        "GuardOnDataDependentSymNode",
        "DataDependentOutputException",
        "DynamicOutputShapeException",
        "TracerWarning",
    )
)

INSIDE = "solder_stateful"  # the name of a module with states inside the module that is exported


class DependsOnDataError(Exception):
    """Raised if control flow depends on the input's values. Its cause contains the user's line."""


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
    """Returns an ONNX file, in which buffers that the model writes are declared as states.

    Raises DependsOnDataError, MissingToolError, or PyTorch's error.
    """
    if model.is_script:
        return _traced(model)
    if find_spec("onnxscript") is None:
        raise MissingToolError(
            "PyTorch writes ONNX with onnxscript, which is not installed",
            type(model.model).__name__,
            pip_install("torch"),
        )
    written: Sequence[str] = ()
    try:
        with _assigned_buffers(model) as assigned:
            program = program_of(model)
        written = _written_buffers(program, assigned)
        states = written and _states(model, program, written)
        return _with_states(model, program, states) if states else _converted(model, program)
    except DependsOnDataError:
        raise
    except Exception:
        if model.is_program or written:  # a trace would take the state as a constant
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


@contextmanager
def _assigned_buffers(model: TorchModel) -> Iterator[set[str]]:
    """Yields a set, to which buffers are added that forward replaces by other tensors inside the block.

    torch.export's own list lacks these if they belong to a part of the module.
    """
    parts = {id(part): name for name, part in model.model.named_modules()} if not model.is_program else {}
    found: set[str] = set()

    def note(part: Any, name: str, _value: Any) -> None:
        if id(part) in parts:
            found.add(f"{parts[id(part)]}.{name}".lstrip("."))

    hook = model.torch.nn.modules.module.register_module_buffer_registration_hook(note)
    try:
        yield found
    finally:
        hook.remove()


def _written_buffers(program: Any, assigned: set[str]) -> list[str]:
    """Returns the buffers that the program changes in place, and those that forward replaces."""
    signature = program.run_decompositions({}).graph_signature  # writes become additional outputs
    written = assigned.union(signature.buffers_to_mutate.values())
    return [name for name in signature.inputs_to_buffers.values() if name in written]


def _states(model: TorchModel, program: Any, written: Sequence[str]) -> list[str]:
    """Returns those of the written buffers whose old values affect later outputs."""
    plain = program_of(_stateless(model, program, written)).run_decompositions({})
    nodes = {node.name: node for node in plain.graph.nodes}
    signature, count = plain.graph_signature, len(written)
    outputs, old = signature.user_outputs, dict(zip(written, signature.user_inputs[-count:], strict=True))
    new = dict(zip(written, outputs[-count:], strict=True))
    states: set[str] = set()
    while True:  # the new value of a state may depend on more buffers
        needed = [*outputs[:-count], *(new[name] for name in states)]
        used = _ancestors([nodes[name] for name in needed if name in nodes])
        more = {name for name in written if old[name] in used}
        if more <= states:
            return [name for name in written if name in states]
        states |= more


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


def _with_states(model: TorchModel, program: Any, states: Sequence[str]) -> bytes:
    """Exports the model with these buffers declared as states."""
    stateless, count = _stateless(model, program, states), len(states)
    data = _converted(stateless, program_of(stateless))
    names, values = stateless.names[-count:], stateless.examples[-count:]
    return with_declared_states(data, {n: value.numpy() for n, value in zip(names, values, strict=True)})


def _stateless(model: TorchModel, program: Any, buffers: Sequence[str]) -> TorchModel:
    """Returns a model with the buffers' values as more inputs and their next values as more outputs."""
    module = program.module() if model.is_program else model.model
    held = dict(module.named_buffers())

    class Stateless(model.torch.nn.Module):  # type: ignore[misc,name-defined]  # PyTorch may not be installed
        def __init__(self) -> None:
            super().__init__()
            self.add_module(INSIDE, module)

        def forward(self, *given: Any) -> Any:
            count = len(given) - len(buffers)
            kept = {name: value.clone() for name, value in zip(buffers, given[count:], strict=True)}
            outputs = model.torch.func.functional_call(getattr(self, INSIDE), kept, given[:count])
            return outputs, [kept[name].clone() for name in buffers]  # an output may be a state, too

    values = [held[name].detach().clone() for name in buffers]
    names = [_free(name, model.names) for name in buffers]
    return TorchModel(model.torch, Stateless(), (*model.examples, *values), [*model.names, *names])


def _free(name: str, taken: Sequence[str]) -> str:
    """Returns the buffer's name, or a similar one that no input has."""
    return name if name not in taken else _free(f"{name}_state", taken)


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
