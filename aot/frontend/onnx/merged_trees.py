"""Merges trees stored one by one into one ensemble; functions of a leaf are stored in the leaf.

Isolation forests have this form: for each tree the number of its leaf, about twenty operators that compute a
depth from it, and the sum over all trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

from aot.ir.types import Array

LEAST_TREES = 2
_TREES = "TreeEnsembleRegressor"
_OF_ONE_ELEMENT = {
    *("Abs", "Add", "Cast", "Div", "Equal", "Exp", "Greater", "Identity", "LabelEncoder", "Less", "Log"),
    *("Max", "Min", "Mul", "Neg", "Not", "Pow", "Reshape", "Sqrt", "Sub", "Where"),
}
_OF_NODES = (
    *("nodes_nodeids", "nodes_values", "nodes_featureids", "nodes_modes"),
    *("nodes_truenodeids", "nodes_falsenodeids"),
)
_OF_LEAVES = ("target_nodeids", "target_ids", "target_weights")
_NUMBERS = ("nodes_treeids", "target_treeids")
_ABOUT_MISSING = "nodes_missing_value_tracks_true"
_IGNORED = {"nodes_hitrates", "n_targets", "aggregate_function", "post_transform"}
_NEEDED = {*_OF_NODES, *_OF_LEAVES, *_NUMBERS}
_KNOWN = {*_NEEDED, _ABOUT_MISSING, *_IGNORED}


def with_merged_trees(model: ModelProto) -> ModelProto:
    """Returns an equivalent model, without changing the given one; the same object if nothing merges."""
    if sum(_is_plain(node) for node in model.graph.node) < LEAST_TREES:
        return model
    merged = ModelProto()
    merged.CopyFrom(model)
    graph = merged.graph
    _put_into_leaves(merged)
    for node in [node for node in graph.node if node.op_type == "Sum"]:
        _merge_sum(graph, node)
    _drop_unread(graph)
    return merged if len(graph.node) < len(model.graph.node) else model


def _is_plain(node: NodeProto) -> bool:
    """Returns whether it is a sum of trees for one target, whose attribute lists match."""
    if node.op_type != _TREES or len(node.input) != 1 or len(node.output) != 1:
        return False
    its = _attributes(node)
    is_sum = its.get("n_targets", 1) == 1 and its.get("aggregate_function", b"SUM") == b"SUM"
    is_bare = _NEEDED <= its.keys() <= _KNOWN and its.get("post_transform", b"NONE") == b"NONE"
    return is_sum and is_bare and _fit(its) and not any(its["target_ids"])


def _fit(its: Mapping[str, Any]) -> bool:
    """Returns whether the lists match; the importer reports others."""
    nodes = ["nodes_treeids", *_OF_NODES, *([_ABOUT_MISSING] if _ABOUT_MISSING in its else [])]
    groups = nodes, ["target_treeids", *_OF_LEAVES]
    if not all(isinstance(its[name], list) for group in groups for name in group):
        return False
    return all(len({len(its[name]) for name in group}) == 1 for group in groups)


def _attributes(node: NodeProto) -> dict[str, Any]:
    return {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}


def _constants(graph: GraphProto) -> dict[str, TensorProto]:
    given = {each.name for each in graph.input}
    return {each.name: each for each in graph.initializer if each.name not in given}


def _readers(graph: GraphProto) -> dict[str, list[NodeProto]]:
    found: dict[str, list[NodeProto]] = {}
    for node in graph.node:
        for name in node.input:
            found.setdefault(name, []).append(node)
    return found


@dataclass(frozen=True)
class _LeafFunction:
    """Nodes that compute one value from a tree's leaf only."""

    nodes: tuple[NodeProto, ...]
    result: str


def _put_into_leaves(model: ModelProto) -> None:
    graph = model.graph
    constants, readers = _constants(graph), _readers(graph)
    for tree in [node for node in graph.node if _is_plain(node)]:
        its = _attributes(tree)
        if len(set(its["target_treeids"])) > 1 or len(set(its["target_nodeids"])) < len(
            its["target_nodeids"]
        ):
            continue
        found = _leaf_function(graph, tree, constants, readers)
        weights = None if found is None else _computed(model, tree, found, constants, its["target_weights"])
        if found is None or weights is None:
            continue
        _set(tree, "target_weights", weights)
        made = _maker(found.nodes, found.result)
        made.output[0] = f"{found.result}/unread"
        tree.output[0] = found.result


def _maker(nodes: Iterable[NodeProto], value: str) -> NodeProto:
    return next(node for node in nodes if value in node.output)


def _set(node: NodeProto, name: str, value: Sequence[Any]) -> None:
    (old,) = (attribute for attribute in node.attribute if attribute.name == name)
    old.CopyFrom(helper.make_attribute(name, value))


def _leaf_function(
    graph: GraphProto,
    tree: NodeProto,
    constants: Mapping[str, TensorProto],
    readers: Mapping[str, list[NodeProto]],
) -> _LeafFunction | None:
    """Returns all nodes computed from the tree's result only, if they end in one value; else None."""
    known, nodes = {tree.output[0]}, list[NodeProto]()
    waiting = [*readers.get(tree.output[0], ())]
    while waiting:
        node = waiting.pop()
        is_known = all(name in known or name in constants for name in node.input)
        if node in nodes or node.op_type not in _OF_ONE_ELEMENT or len(node.output) != 1 or not is_known:
            continue
        nodes.append(node)
        known.add(node.output[0])
        waiting += readers.get(node.output[0], ())
    outside = {each.name for each in graph.output}
    ends = [
        name
        for name in sorted(known)
        if name in outside or any(reader not in nodes for reader in readers.get(name, ()))
    ]
    is_one = len(ends) == 1 and ends[0] != tree.output[0] and ends[0] not in outside
    return _LeafFunction(tuple(nodes), ends[0]) if is_one else None


def _computed(
    model: ModelProto,
    tree: NodeProto,
    function: _LeafFunction,
    constants: Mapping[str, TensorProto],
    leaves: Sequence[float],
) -> list[float] | None:
    """Returns the function's value for each leaf; None if it is not one number each."""
    value = helper.make_tensor_value_info(tree.output[0], TensorProto.FLOAT, [None, 1])
    result = helper.make_tensor_value_info(function.result, TensorProto.FLOAT, None)
    read = {name for node in function.nodes for name in node.input}
    ordered = _in_order(function.nodes, {tree.output[0], *constants})
    graph = helper.make_graph(
        ordered, "leaf", [value], [result], [constants[n] for n in sorted(read & constants.keys())]
    )
    small = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    inputs = np.array(leaves, np.float32).reshape(-1, 1)
    from onnx.reference import ReferenceEvaluator  # slow to import: half a second

    try:
        runtime = ReferenceEvaluator(small)
        with np.errstate(all="ignore"):
            whole, first = (_run(runtime, tree.output[0], each) for each in (inputs, inputs[:1]))
    except Exception:  # evaluators may raise anything; the importers then handle the operator
        return None
    is_each = whole.shape == inputs.shape and whole.dtype == np.float32 and np.array_equal(whole[:1], first)
    return [float(number) for number in whole[:, 0]] if is_each else None


def _run(runtime: Any, name: str, inputs: Array) -> Array:
    (found,) = runtime.run(None, {name: inputs})
    return np.asarray(found)


def _in_order(nodes: Sequence[NodeProto], known: Iterable[str]) -> list[NodeProto]:
    """Sorts nodes: producers come before their readers."""
    there, left, ordered = set(known), list(nodes), list[NodeProto]()
    while left:
        ready = [node for node in left if there.issuperset(node.input)]
        if not ready:  # a cycle: the reader reports it
            return [*ordered, *left]
        ordered += ready
        there.update(name for node in ready for name in node.output)
        left = [node for node in left if node not in ready]
    return ordered


def _merge_sum(graph: GraphProto, total: NodeProto) -> None:
    """Replaces a sum of trees' results without other readers by one ensemble."""
    makers = {name: node for node in graph.node for name in node.output}
    trees = [makers.get(name) for name in total.input]
    read = Counter(name for node in graph.node for name in node.input)
    read.update(each.name for each in graph.output)
    if len(trees) < LEAST_TREES or any(read[name] != 1 for name in total.input):
        return
    if not all(tree is not None and _is_plain(tree) for tree in trees):
        return
    parts = [_on_features(graph, tree, makers) for tree in trees if tree is not None]
    if len({source for source, _ in parts}) > 1 or len({_ABOUT_MISSING in its for _, its in parts}) > 1:
        return
    joined = _joined([its for _, its in parts])
    whole = helper.make_node(
        _TREES, [parts[0][0]], list(total.output), total.name, domain="ai.onnx.ml", **joined
    )
    total.CopyFrom(whole)


def _on_features(
    graph: GraphProto, tree: NodeProto, makers: Mapping[str, NodeProto]
) -> tuple[str, dict[str, Any]]:
    """Returns the value from which columns are selected, and the attributes with its column numbers."""
    its, source = _attributes(tree), tree.input[0]
    chosen = makers.get(source)
    if chosen is None or chosen.op_type != "Gather" or _attributes(chosen).get("axis", 0) != 1:
        return source, its
    columns = _constants(graph).get(chosen.input[1])
    numbers = None if columns is None else numpy_helper.to_array(columns)
    if numbers is None or numbers.ndim != 1 or (numbers < 0).any():
        return source, its
    if not all(0 <= n < len(numbers) for n in its["nodes_featureids"]):
        return source, its
    return chosen.input[0], its | {"nodes_featureids": [int(numbers[n]) for n in its["nodes_featureids"]]}


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    joined: dict[str, Any] = {"n_targets": 1}
    lists = [*_OF_NODES, *_OF_LEAVES, *([_ABOUT_MISSING] if _ABOUT_MISSING in parts[0] else [])]
    for name in lists:
        joined[name] = [each for its in parts for each in its[name]]
    numbers: dict[tuple[int, int], int] = {}
    for which in _NUMBERS:
        joined[which] = [
            numbers.setdefault((part, tree), len(numbers))
            for part, its in enumerate(parts)
            for tree in its[which]
        ]
    return joined


def _drop_unread(graph: GraphProto) -> None:
    needed, kept = {each.name for each in graph.output}, list[NodeProto]()
    for node in reversed(_in_order(graph.node, _outside(graph))):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
    del graph.node[:]
    graph.node.extend(reversed(kept))


def _outside(graph: GraphProto) -> set[str]:
    """Yields the values that no node computes; an omitted input has no name."""
    made = {name for node in graph.node for name in node.output}
    return {name for node in graph.node for name in node.input} - made
