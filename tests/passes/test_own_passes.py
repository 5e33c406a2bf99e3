"""A pass of an extension that does what no pass may is named, with a way out, not as our bug."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import deploy
from aot.errors import ExtensionError
from aot.extensions import PASSES, register, unregister
from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.passes.outcome import Rewritten
from aot.passes.pipeline import run_meaning

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


def fails(graph: Graph) -> Any:
    raise ValueError("no such node")


def shortened(graph: Graph) -> Any:
    return Rewritten(replace(graph, nodes=graph.nodes[:-1]))


WRONG: dict[str, tuple[Any, str]] = {
    "fails": (fails, "the pass mine failed: ValueError: no such node"),
    "nothing": (lambda graph: None, "the pass mine returned NoneType, it must return Rewritten or Unchanged"),
    "a graph": (lambda graph: graph, "the pass mine returned Graph, it must return Rewritten or Unchanged"),
    "takes nothing": (lambda: None, "the pass mine failed: TypeError: "),
    "the same": (Rewritten, "returned Rewritten with its unchanged input"),
    "breaks a rule": (shortened, 'broke rule "'),
    "no function": (3, 'the pass "mine" of an extension has no function mine'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_pass_of_an_extension_does_wrong_is_reported(name: str) -> None:
    run, said = WRONG[name]
    place = {"TABLE": "MEANING", "BEFORE": "remove-identity", "WHY": "so that it is first"}
    register(PASSES, "mine", SimpleNamespace(mine=run, **place))
    try:
        with pytest.raises(ExtensionError) as caught:
            run_meaning(load_model(DIGITS))
    finally:
        unregister(PASSES, "mine")
    assert said in caught.value.what
