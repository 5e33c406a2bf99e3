"""PyTorch's modules: exported as ONNX, by the older exporter or else the newer."""

from __future__ import annotations

import inspect
import io
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

import numpy as np

from aot.errors import ToolError
from aot.ir.types import Array
from deploy.frameworks.framework import Framework, FrameworkModel, Sample
from deploy.frameworks.user_lines import is_users, last_users_frame, line_text

_OPERATOR = re.compile(r"aten::\w+")
_USERS_LINE = re.compile(r'([^\s"]+\.py)(?:\(|", line )(\d+)')


def _is_module(model: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


class _Module(FrameworkModel):
    """A module, which is exported and asked in evaluation mode."""

    def __init__(self, module: Any, examples: Sequence[Any]) -> None:
        self._module, self._examples = module, tuple(examples)

    @property
    def name(self) -> str:
        return type(self._module).__name__

    @property
    def examples(self) -> Sequence[Any]:
        return self._examples

    @property
    def inputs(self) -> list[str]:
        """The names of forward's first arguments."""
        count, parameters = len(self._examples), inspect.signature(self._module.forward).parameters
        names = [name for name in parameters if not name.startswith("args")]
        return names[:count] if len(names) >= count else [f"input_{number}" for number in range(count)]

    def exported(self) -> bytes:
        """The older exporter takes a second, the newer more; it knows what the older cannot trace."""
        import torch

        reasons = []
        for export in (_traced, _captured):
            try:
                with _in_eval(self._module), _quiet(torch):
                    return export(torch, self._module, self._examples, self.inputs)
            except Exception as error:  # whatever it is, it speaks of this module
                reasons.append(error)
        first = (str(reasons[0]) or type(reasons[0]).__name__).splitlines()[0]
        place = self._place(reasons[0]) or self.place_of(first)
        where = f"{self.name}, {place}" if place else self.name
        raise ToolError("PyTorch cannot export the module", where, f"it says: {first}") from reasons[0]

    def outputs(self, sample: Sample) -> list[Array]:
        import torch

        with _in_eval(self._module), torch.no_grad():
            outputs = self._module(*(torch.from_numpy(np.array(array)) for array in sample.values()))
        each = outputs if isinstance(outputs, tuple | list) else (outputs,)
        return [output.numpy() for output in each]

    def place_of(self, told: str) -> str:
        """The place of the operator that is named, as PyTorch traces the module."""
        import torch

        with _in_eval(self._module), _quiet(torch):
            try:
                graph = torch.jit.trace(self._module, self._examples, check_trace=False).inlined_graph
            except Exception:  # then nothing more is known than the error itself says
                return ""
            for node in graph.nodes():
                if _is_told(node, told):
                    return self._describe(_scope(node), node.sourceRange())
        return ""

    def _place(self, error: BaseException) -> str:
        """The place of the user's line that failed while it was traced."""
        found = last_users_frame(error)
        names = {id(part): name for name, part in self._module.named_modules()}
        if found is None or id(found[0].f_locals.get("self")) not in names:
            return ""
        frame, line = found
        return self._describe(names[id(frame.f_locals["self"])], f"{frame.f_code.co_filename}({line})")

    def _describe(self, name: str, trace: str) -> str:
        """A module by its name and class, and the innermost line of the user's in a trace."""
        parts = dict(self._module.named_modules())
        what = f"module {name} ({type(parts[name]).__name__})" if name and name in parts else ""
        lines = [(file, int(line)) for file, line in _USERS_LINE.findall(trace) if is_users(file)]
        return ", ".join(filter(None, (what, line_text(*lines[0]) if lines else "")))


def _is_told(node: Any, told: str) -> bool:
    """True for a node whose operator is named, or whose module is, as names of ONNX nodes have it."""
    operators = _OPERATOR.findall(told)
    if operators:
        return str(node.kind()) in operators
    scope = _scope(node).replace(".", "/")
    kind = str(node.kind()).removeprefix("aten::").replace("_", "").lower()
    named = re.search(rf"/?{re.escape(scope)}/(\w+?)(?:_\d+)?[\"\s#]", told) if scope else None
    return named is not None and named[1].lower() in (kind, f"{kind}er", kind.removesuffix("er"))


def _scope(node: Any) -> str:
    """The name of the module in which a node was traced, as named_modules() has it."""
    return str(node.scopeName()).removeprefix("__module").strip(".")


@contextmanager
def _in_eval(module: Any) -> Iterator[None]:
    """Dropout and normalisations as they are when a network is used; the modes of all parts come back."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, was_training in modes:
            part.training = was_training


@contextmanager
def _quiet(torch: Any) -> Iterator[None]:
    """No gradients, and none of PyTorch's words of what it is going to leave out one day."""
    with warnings.catch_warnings(), torch.no_grad(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def _traced(torch: Any, module: Any, examples: tuple[Any, ...], names: list[str]) -> bytes:
    out = io.BytesIO()
    fast = torch.backends.mha.get_fastpath_enabled()  # one operator for a whole encoder: ONNX lacks it
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        torch.onnx.export(module, examples, out, input_names=names, dynamo=False)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return out.getvalue()


def _captured(torch: Any, module: Any, examples: tuple[Any, ...], names: list[str]) -> bytes:
    program = torch.onnx.export(module, examples, input_names=names, dynamo=True, verbose=False)
    return bytes(program.model_proto.SerializeToString())


PYTORCH = Framework("PyTorch", "module", "module.onnx", "torch.zeros(1, 3, 32, 32)", _is_module, _Module)
