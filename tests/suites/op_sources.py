"""Which ops the cases of public suites become: by op, the operators of each format and how many cases.

With `--store` it writes what `deploy ops` and docs/ops.md show of it. Cases that are read are right: the runs
of the suites hold that; here nothing is compiled.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from frame_models import frame_models
from further_layers import further_models
from node_cases import imported, node_cases
from one_op_models import models
from recurrent_layers import recurrent_models
from suite_cases import suite_cases

from aot.errors import DeployError
from aot.frontend.load import load_model, parse_model
from aot.ir.graph import Graph
from aot.ops import OPS

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "deploy" / "inspection" / "op_sources.json"
Sources = dict[str, dict[str, object]]  # op -> {"operators": names, "cases": count}


def tflite_sources(shared: Path) -> Sources:
    """Cases are those of the suites; whole models, and drawn ones of one operator, tell of operators, too."""
    drawn = (parse_model(data, f"{name}.tflite", "tflm") for name, data in models(2))
    others = _readable(sorted(shared.glob("models/**/*.tflite")))
    whole = chain(drawn, frame_models(), further_models(), recurrent_models(), others)
    return _sources(_readable(case.path for case in suite_cases(shared)), whole)


def onnx_sources(shared: Path) -> Sources:
    return _sources(_node_graphs(), _readable(sorted(shared.glob("models/**/*.onnx"))))


def _readable(paths: Iterable[Path]) -> Iterator[Graph]:
    for path in paths:
        try:
            yield load_model(path, "tflm")
        except DeployError:
            continue


def _node_graphs() -> Iterator[Graph]:
    for case in node_cases():
        try:
            yield imported(case).graph
        except DeployError:
            continue


def _sources(cases: Iterable[Graph], others: Iterable[Graph]) -> Sources:
    operators: dict[str, set[str]] = {op: set() for op in sorted(OPS)}
    counts = dict.fromkeys(operators, 0)
    for graph in cases:
        _note(graph, operators)
        for op in {node.op.name for node in graph.nodes}:
            counts[op] += 1
    for graph in others:
        _note(graph, operators)
    return {op: {"operators": sorted(names), "cases": counts[op]} for op, names in operators.items()}


def _note(graph: Graph, operators: dict[str, set[str]]) -> None:
    for node in graph.nodes:
        if " #" in node.origin:
            operators[node.op.name].add(node.origin.partition(" #")[0])


def sources_text(shared: Path) -> str:
    """What deploy/inspection/op_sources.json holds."""
    return json.dumps({"tflite": tflite_sources(shared), "onnx": onnx_sources(shared)}, indent=1) + "\n"


if __name__ == "__main__" and sys.argv[1:] == ["--store"]:
    STORED.write_text(sources_text(ROOT.parent / "shared"), encoding="utf-8")
