"""PyTorch models: modules, ExportedPrograms and ScriptModules, exported to ONNX."""

from __future__ import annotations

import copy
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from aot.errors import MissingToolError, ModelError, ToolError
from aot.frontend.onnx.read import node_metadata
from aot.ir.types import Array
from deploy.frameworks.framework import Framework, FrameworkModel, Sample, as_array, silent
from deploy.frameworks.torch_export import (
    INSIDE,
    DependsOnDataError,
    TorchModel,
    as_onnx,
    program_of,
)
from deploy.frameworks.user_lines import assigned_at, is_users, last_users_frame, line_text

_OPERATOR = re.compile(r"aten\.\w+")
_USERS_LINE = re.compile(r'File "([^"]+\.py)", line (\d+)')
_TRACE, _SCOPES = "pkg.torch.onnx.stack_trace", "pkg.torch.onnx.name_scopes"
_STATE_HINT = (
    'keep tensors in buffers: self.register_buffer("state", torch.zeros(1, 4)), which forward changes;\n'
    "or take the state as an input and return the new one: def forward(self, x, state): ... return y, state"
)
_DATA_HINT = (
    "compute both ways and choose: torch.where(condition, one, other);\n"
    "counts, sizes and indices of Python must not depend on the values of the input"
)


def _is_model(model: object) -> bool:
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    program = getattr(sys.modules.get("torch.export"), "ExportedProgram", ())
    return isinstance(model, torch.nn.Module | program) if program else isinstance(model, torch.nn.Module)


def _own_examples(model: Any) -> tuple[Any, ...] | None:
    """Returns the inputs with which an ExportedProgram was exported."""
    arguments, by_name = getattr(model, "example_inputs", None) or ((), {})
    return (*arguments, *by_name.values()) or None


class _TorchModel(FrameworkModel):
    """A model that is exported and run in evaluation mode, on the CPU in single precision."""

    how_to_pass_state = _STATE_HINT

    def __init__(self, model: Any, examples: Sequence[Any]) -> None:
        import torch

        self._given = getattr(model, "_orig_mod", model)  # inside the result of torch.compile
        self._examples = tuple(_as_tensor(torch, each) for each in examples)
        self._known = TorchModel(torch, _in_single(torch, self._given), self._examples, self.inputs)
        self._module = self._known.model.module() if self._known.is_program else self._known.model
        self._file = b""  # the exported file

    @property
    def name(self) -> str:
        return type(self._given).__name__

    @property
    def examples(self) -> Sequence[Any]:
        return self._examples

    @property
    def inputs(self) -> list[str]:
        """The names of forward's first parameters."""
        signature = getattr(self._given, "graph_signature", None)
        if signature is not None:
            return [str(name) for name in signature.user_inputs]
        count = len(self._examples)
        try:
            parameters = list(inspect.signature(self._given.forward).parameters)
        except ValueError:  # a traced module has C++ functions
            parameters = []
        names = [name for name in parameters if not name.startswith("args")]
        return names[:count] if len(names) >= count else [f"input_{number}" for number in range(count)]

    def exported(self) -> bytes:
        try:
            with _in_eval(self._module), self._known.torch.no_grad(), silent():
                data = as_onnx(self._known)
        except MissingToolError:
            raise
        except DependsOnDataError as error:
            raise ModelError(
                "the model's control flow depends on its input values, which compiled code does not support",
                self._where(self._place(error.__cause__ or error)),
                _DATA_HINT,
            ) from error
        except Exception as error:  # any exception is about this model
            said = _reason(error)
            place = self._place(error) or self._place_of_operator(said)
            raise ToolError(
                "PyTorch cannot export the module", self._where(place), f"it reports: {said}"
            ) from error
        self._file = data
        return data

    def outputs(self, sample: Sample) -> list[Array]:
        torch = self._known.torch
        with _in_eval(self._module), torch.no_grad():
            outputs = self._module(*(torch.from_numpy(np.array(array)) for array in sample.values()))
        leaves = torch.utils._pytree.tree_leaves(outputs)
        return [as_array(each.detach().clone().numpy()) for each in leaves if isinstance(each, torch.Tensor)]

    def outputs_in_sequence(self, samples: Sequence[Sample]) -> list[list[Array]]:
        with self._known.torch.no_grad(), _restored(self._module):
            return super().outputs_in_sequence(samples)

    def place_of(self, told: str) -> str:
        """Returns the location of the node named in an error about the exported file."""
        for name, facts in node_metadata(self._file).items():
            if f'"{name}"' in told:
                scopes = re.findall(r"'([^']*)'", facts.get(_SCOPES, ""))[:-1]
                scope = scopes[-1].removeprefix(INSIDE).lstrip(".") if scopes else ""
                return self._describe(scope, facts.get(_TRACE, ""))
        return ""

    def kept_values(self) -> Mapping[str, object]:
        """Returns buffers, and attributes that are tensors or numbers, of all parts of the module."""
        tensor = self._known.torch.Tensor
        return {
            f"{name}.{key}".lstrip("."): value.detach().clone() if isinstance(value, tensor) else value
            for name, part in self._module.named_modules()
            for key, value in {**part._buffers, **vars(part)}.items()
            if not key.startswith("_") and isinstance(value, tensor | int | float)
        }

    def place_of_kept(self, name: str) -> str:
        scope, _, attribute = name.rpartition(".")
        part = dict(self._module.named_modules())[scope]
        written = assigned_at(type(part), attribute)
        return self._where(", ".join(filter(None, (self._part(scope), written))))

    def _where(self, place: str) -> str:
        return f"{self.name}, {place}" if place else self.name

    def _place(self, error: BaseException) -> str:
        """Returns the location of the user's line that failed during the export."""
        found = last_users_frame(error)
        names = {id(part): name for name, part in self._module.named_modules()}
        if found is None or id(found[0].f_locals.get("self")) not in names:
            return ""
        frame, line = found
        part = self._part(names[id(frame.f_locals["self"])])
        return ", ".join(filter(None, (part, line_text(frame.f_code.co_filename, line))))

    def _place_of_operator(self, told: str) -> str:
        """Returns the location that calls a PyTorch operator named in a message."""
        named = _OPERATOR.findall(told)
        if not named or self._known.is_script:
            return ""
        with _in_eval(self._module), self._known.torch.no_grad(), silent():
            try:
                program = program_of(self._known)
            except Exception:  # without a program, the location remains unknown
                return ""
        for node in program.graph.nodes:
            if node.op == "call_function" and _is_operator(str(node.target), named):
                scopes = [str(path) for path, _ in (node.meta.get("nn_module_stack") or {}).values()]
                return self._describe(scopes[-1] if scopes else "", str(node.meta.get("stack_trace")))
        return ""

    def _part(self, name: str) -> str:
        parts = dict(self._module.named_modules())
        return f"module {name} ({type(parts[name]).__name__})" if name and name in parts else ""

    def _describe(self, name: str, trace: str) -> str:
        """Describes a part of the module by name and class, with the user's innermost line in a trace."""
        lines = [(file, int(line)) for file, line in _USERS_LINE.findall(trace) if is_users(file)]
        return ", ".join(filter(None, (self._part(name), line_text(*lines[-1]) if lines else "")))


def _as_tensor(torch: Any, value: Any) -> Any:
    """Converts an example for the CPU module in single precision."""
    tensor = value if isinstance(value, torch.Tensor) else torch.from_numpy(np.array(value))
    tensor = tensor.detach().cpu()
    return tensor.float() if tensor.is_floating_point() else tensor


def _in_single(torch: Any, model: Any) -> Any:
    """Returns the module, or a copy if it is on a GPU or not in single precision."""
    if not isinstance(model, torch.nn.Module):
        return model
    tensors = [*model.parameters(), *model.buffers()]
    is_plain = all(
        each.device.type == "cpu" and (each.dtype == torch.float32 or not each.is_floating_point())
        for each in tensors
    )
    return model if is_plain else copy.deepcopy(model).cpu().float()


def _reason(error: BaseException) -> str:
    """Returns the cause of an error: the newer exporter's first lines are only advice."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


def _is_operator(target: str, named: Sequence[str]) -> bool:
    """Returns whether this is one of the named operators, possibly as an internal variant."""
    return any(target.split(".")[:2] == each.replace("._", ".").split(".") for each in named)


@contextmanager
def _in_eval(module: Any) -> Iterator[None]:
    """Sets dropout and normalization to inference mode inside the block."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.eval()
    except NotImplementedError:  # results of torch.export have a fixed mode in their operators
        for part, _ in modes:
            part.training = False
    try:
        yield
    finally:
        for part, was_training in modes:
            part.training = was_training


@contextmanager
def _restored(module: Any) -> Iterator[None]:
    """Gives buffers their present values again after the block."""
    kept = [
        (part, name, tensor, tensor.clone())
        for part in module.modules()
        for name, tensor in part._buffers.items()
        if tensor is not None
    ]
    try:
        yield
    finally:
        for part, name, tensor, value in kept:
            tensor.copy_(value)
            part._buffers[name] = tensor


PYTORCH = Framework(
    "PyTorch", "module", "module.onnx", "torch.zeros(1, 3, 32, 32)", _is_model, _TorchModel, _own_examples
)
