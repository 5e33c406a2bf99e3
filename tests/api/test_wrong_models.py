"""What is no model's file is refused in words, whatever function gets it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from error_facts import refused

import deploy


class SomeModule:
    """A module of a PyTorch that is not there."""


FUNCTIONS: dict[str, Callable[[Any, Path], object]] = {
    "load": lambda model, _: deploy.load(model),
    "inspect": lambda model, _: deploy.inspect(model),
    "report": lambda model, _: deploy.report(model, "mps2-an386"),
    "explore": lambda model, _: deploy.explore(model, "mps2-an386"),
    "explore several": lambda model, _: deploy.explore([model], "mps2-an386"),
    "diff": lambda model, _: deploy.diff(model, model),
    "run": lambda model, _: deploy.run(model, board="host"),
    "export": lambda model, path: deploy.export(model, "cmake", path, board="host"),
    "evidence": lambda model, _: deploy.evidence(model, board="host"),
    "quantize": lambda model, path: deploy.quantize(model, {}, path / "int8.onnx"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_module_is_refused_with_what_to_do(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(nn=SimpleNamespace(Module=SomeModule)))
    refused(
        lambda: FUNCTIONS[name](SomeModule(), tmp_path),
        "PyTorch module model file = deploy.compile(module board= example=torch.zeros(1 3 32 "
        "compiled.save(path archive writes",
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_number_is_refused_by_its_type(name: str, tmp_path: Path) -> None:
    with pytest.raises(deploy.DeployError, match=r"a model must be a path .* not a int"):
        FUNCTIONS[name](3, tmp_path)
