"""Ensembles of decision trees: tables of branches, traversed by all trees one level at a time.

A table has a row for each branch, in the narrowest integers; leaves with equal values are merged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.classical import ended, features
from aot.frontend.onnx.importers.elementwise import cast
from aot.frontend.onnx.importers.moving import concatenated
from aot.frontend.onnx.operation import Importer, OnnxOperator
from aot.ir.types import Array

_MOST_DEEP = 64
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_MEMBER = 6
_SUMS = {"AVERAGE": "ReduceSum", "SUM": "ReduceSum", "MIN": "ReduceMin", "MAX": "ReduceMax"}
_Key = tuple[int, int] | int  # of a node in the file


@dataclass(frozen=True)
class _Branch:
    """A branch to `yes` if the feature is between the limits, or missing and `missing` is set."""

    feature: int
    low: float
    high: float
    yes: _Key
    no: _Key
    takes_missing: bool


@dataclass
class _Trees:
    """Branches and leaves by key."""

    node: OnnxOperator
    branches: dict[_Key, _Branch] = field(default_factory=dict)
    leaves: dict[_Key, list[tuple[int, float]]] = field(default_factory=dict)  # target and weight

    @property
    def different_leaves(self) -> dict[tuple[tuple[int, float], ...], int]:
        """Numbers the distinct values of leaves."""
        said = dict.fromkeys(tuple(leaf) for leaf in self.leaves.values())
        return {leaf: number for number, leaf in enumerate(said)}

    def branch(
        self, key: _Key, mode: int, feature: int, split: float, yes: _Key, no: _Key, missing: bool
    ) -> None:
        split = np.float32(split)
        lower, upper = np.nextafter(split, np.float32(-np.inf)), np.nextafter(split, np.float32(np.inf))
        least, most = -np.inf, np.inf
        limits = [(least, split), (least, lower), (split, most), (upper, most), (split, split)]
        if mode == 5:  # not equal
            mode, yes, no, missing = 4, no, yes, not missing
        low, high = limits[mode]
        self.branches[key] = _Branch(feature, float(low), float(high), yes, no, missing)


def _walked(trees: _Trees, roots: Sequence[_Key], targets: int) -> Value:
    """Returns the leaves' values for each row of features: [rows, trees, targets]."""
    return _describe(trees, _reached(trees, roots), targets)


def _reached(trees: _Trees, roots: Sequence[_Key]) -> Value:
    """Returns the number of the leaf's value in each tree: [rows, trees]."""
    node, x = trees.node, features(trees.node)
    if len(node.shape(x)) != 2:
        raise node.fail(f"features of shape {list(node.shape(x))} are not supported, only a matrix of them")
    _depth(trees, roots)  # rejects cycles
    _drop_idle_branches(trees)
    depth = _depth(trees, roots)
    branches = list(trees.branches.values())
    places = _places(trees)
    start = np.tile([places[root] for root in roots], (node.shape(x)[0], 1))
    at, first = node.number(start, TensorProto.INT32), node.number(0, TensorProto.INT32)
    if not branches:
        return node.do("Sub", node.number(-1, TensorProto.INT32), at)
    if any(not 0 <= b.feature < node.shape(x)[1] for b in branches):
        raise node.fail(f"its trees do not fit {node.shape(x)[1]} features")
    column = _table(node, [b.feature for b in branches])
    low, high = (
        node.number(np.array(limits), TensorProto.FLOAT)
        for limits in ([b.low for b in branches], [b.high for b in branches])
    )
    missing = node.number(np.array([b.takes_missing for b in branches]), TensorProto.BOOL)
    yes, no = (
        _table(node, [places[key] for key in way])
        for way in ([b.yes for b in branches], [b.no for b in branches])
    )
    for _ in range(depth):
        row = node.do("Max", at, first)
        seen = node.do("GatherElements", x, _taken(node, column, row), axis=1)
        goes = node.do("LessOrEqual", seen, node.do("Gather", high, row))
        if any(b.low != -np.inf for b in branches):
            goes = node.do("And", goes, node.do("GreaterOrEqual", seen, node.do("Gather", low, row)))
        if any(b.takes_missing for b in branches):
            lost = node.do("And", node.do("IsNaN", seen), node.do("Gather", missing, row))
            goes = node.do("Or", goes, lost)
        after = node.do("Where", goes, _taken(node, yes, row), _taken(node, no, row))
        at = node.do("Where", node.do("Less", at, first), at, after)
    return node.do("Sub", node.number(-1, TensorProto.INT32), at)


def _drop_idle_branches(trees: _Trees) -> None:
    """Replaces a branch with two equal leaves by a leaf: a third of an isolation forest's branches."""
    waiting = list(trees.branches)
    parents = {way: key for key, branch in trees.branches.items() for way in (branch.yes, branch.no)}
    while waiting:
        key = waiting.pop()
        branch = trees.branches.get(key)
        leaf = trees.leaves.get(branch.yes) if branch else None
        if branch and leaf is not None and leaf == trees.leaves.get(branch.no):
            del trees.branches[key]
            trees.leaves[key] = leaf
            waiting += [parents[key]] if key in parents else []


def _places(trees: _Trees) -> Mapping[_Key, int]:
    """Numbers branches from 0 up, and leaf values from -1 down."""
    numbers = trees.different_leaves
    branches = {key: place for place, key in enumerate(trees.branches)}
    return branches | {key: -1 - numbers[tuple(leaf)] for key, leaf in trees.leaves.items()}


def _table(node: OnnxOperator, numbers: Sequence[int]) -> Value:
    """Returns a constant of the narrowest signed integers that hold these numbers."""
    array = np.array(numbers, np.int32)
    fits = (e for e, dtype in _NARROW if np.array_equal(array.astype(dtype), array))
    return node.number(array, next(fits, TensorProto.INT32))


_NARROW = ((TensorProto.INT8, np.int8), (TensorProto.INT16, np.int16))


def _taken(node: OnnxOperator, table: Value, rows: Value) -> Value:
    return cast(node, node.do("Gather", table, rows), TensorProto.INT32)


def _describe(trees: _Trees, leaves: Value, targets: int) -> Value:
    """Returns the weights of leaves: [rows, trees, targets]."""
    weights = np.zeros((len(trees.different_leaves), targets), np.float32)
    for leaf, row in trees.different_leaves.items():
        for target, weight in leaf:
            weights[row, target] += np.float32(weight)
    return trees.node.do("Gather", trees.node.number(weights, TensorProto.FLOAT), leaves, axis=0)


def _only_named(trees: _Trees, leaves: Value, scores: Value) -> Value:
    """Ranks classes that no leaf mentions below all others, like ONNX Runtime."""
    node, count = trees.node, trees.node.shape(scores)[1]
    named = np.array([[n in {t for t, _ in leaf} for n in range(count)] for leaf in trees.different_leaves])
    if named.all():
        return scores
    each = node.do("Gather", node.number(named, TensorProto.INT32), leaves, axis=0)
    is_not = node.do("Equal", node.do("ReduceMax", each, axes=[1], keepdims=0), node.number(0, each.element))
    return node.do("Where", is_not, node.number(-np.inf, scores.element), scores)


def _depth(trees: _Trees, roots: Sequence[_Key]) -> int:
    """Returns the number of steps to the farthest leaf."""
    level, depth = set(roots), 0
    while any(key in trees.branches for key in level):
        branches = [trees.branches[key] for key in level if key in trees.branches]
        level = {key for branch in branches for key in (branch.yes, branch.no)}
        depth += 1
        if depth > _MOST_DEEP:
            raise trees.node.fail(f"trees deeper than {_MOST_DEEP} are not supported")
    reached = {key for b in trees.branches.values() for key in (b.yes, b.no)} | set(roots)
    if not roots or not reached <= trees.branches.keys() | trees.leaves.keys():
        raise trees.node.fail("its trees have no roots, or branches that lead nowhere")
    return depth


def _same_length(node: OnnxOperator, *lists: Sized) -> None:
    """Requires that attributes describing the same nodes have equal lengths."""
    lengths = [len(each) for each in lists]
    if len(set(lengths)) > 1:
        raise node.fail(f"its attributes have {', '.join(map(str, lengths))} entries that belong together")


def _combined(node: OnnxOperator, found: Value, how: str, base: Sequence[float]) -> Value:
    if how not in _SUMS:
        raise node.fail(f"trees combined by {how} are not supported, only {', '.join(_SUMS)}")
    axes = node.number([1], TensorProto.INT64)
    total = node.do(_SUMS[how], found, axes, keepdims=0)
    if how == "AVERAGE":
        total = node.do("Div", total, node.number(node.shape(found)[1], total.element))
    if not any(base):
        return total
    return node.do("Add", total, node.number(np.array(base, np.float32), total.element))


def _ensemble(node: OnnxOperator) -> Value:
    """Reads the current form, in which branches and leaves are numbered separately; leaves from -1 down."""
    trees, modes = _Trees(node), node.constant_from(node.tensor("nodes_modes"))
    splits = node.constant_from(node.tensor("nodes_splits"))
    columns = [node.draft.constants[v.name].reshape(-1) for v in (modes, splits)]
    feature, missing = node.integers("nodes_featureids"), node.integers("nodes_missing_value_tracks_true", ())
    ways = [(node.integers(a), node.integers(b)) for a, b in _WAYS]
    _same_length(node, *columns, feature, *ways[0], *ways[1], missing or feature)
    keys = [
        [-1 - n if leaf else n for n, leaf in zip(numbers, are_leaves, strict=True)]
        for numbers, are_leaves in ways
    ]
    members = _members(node)
    rows = zip(*columns, feature, *keys, missing or (0,) * len(feature), strict=True)
    for number, (mode, split, column, yes, no, lost) in enumerate(rows):
        if mode == _MEMBER:
            _add_members(trees, number, column, members, yes, no, bool(lost))
        elif mode > _MEMBER:
            raise node.fail(f"branches of mode {mode} are not supported")
        else:
            trees.branch(number, int(mode), column, float(split), yes, no, bool(lost))
    weights = node.draft.constants[node.constant_from(node.tensor("leaf_weights")).name].reshape(-1)
    ids = node.integers("leaf_targetids")
    _same_length(node, ids, weights)
    for number, (target, weight) in enumerate(zip(ids, weights, strict=True)):
        trees.leaves[-1 - number] = [(target, float(weight))]
    targets = _targets(trees, node.integer("n_targets"))
    how = ("AVERAGE", "SUM", "MIN", "MAX")[node.integer("aggregate_function", 1) % 4]
    made = _combined(node, _walked(trees, node.integers("tree_roots"), targets), how, ())
    return ended(node, made, _ENDS[node.integer("post_transform", 0) % len(_ENDS)])


_WAYS = (("nodes_truenodeids", "nodes_trueleafs"), ("nodes_falsenodeids", "nodes_falseleafs"))
_ENDS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _members(node: OnnxOperator) -> list[list[float]]:
    """Returns sets of numbers, each terminated by NaN, in the order of the branches that use them."""
    if not node.has_attribute("membership_values"):
        return []
    numbers: Array = node.draft.constants[node.constant_from(node.tensor("membership_values")).name]
    sets: list[list[float]] = [[]]
    for number in numbers.reshape(-1).tolist():
        if np.isnan(number):
            sets.append([])
        else:
            sets[-1].append(number)
    return sets


def _add_members(
    trees: _Trees, number: int, column: int, members: list[list[float]], yes: _Key, no: _Key, lost: bool
) -> None:
    """Adds one branch for each number of the set; keys that are pairs are free here."""
    own = members.pop(0) if members else []
    if not own:
        raise trees.node.fail("a branch tests for the members of an empty set")
    keys: list[_Key] = [number, *((number, place) for place in range(1, len(own)))]
    for key, member, after in zip(keys, own, [*keys[1:], no], strict=True):
        trees.branch(key, 4, column, member, yes, after, lost)


def _targets(trees: _Trees, count: int) -> int:
    ids = [target for leaf in trees.leaves.values() for target, _ in leaf]
    if not 0 < count <= 1 << 16 or not ids or not 0 <= min(ids) <= max(ids) < count:
        raise trees.node.fail(f"leaves for targets {sorted(set(ids))} do not fit {count}")
    return count


def _older(node: OnnxOperator, kind: str) -> tuple[_Trees, list[_Key]]:
    """Reads the form before set 5 of the domain, with tree numbers by node; `kind` is target or class."""
    trees = _Trees(node)
    numbers = node.integers("nodes_treeids"), node.integers("nodes_nodeids")
    _same_length(node, *numbers)
    ids = list(zip(*numbers, strict=True))
    splits, column = node.floats("nodes_values"), node.integers("nodes_featureids")
    missing = node.integers("nodes_missing_value_tracks_true", (0,) * len(ids))
    modes = [m.decode("utf-8", "replace") for m in _texts(node, "nodes_modes")]
    ways = (node.integers("nodes_truenodeids"), node.integers("nodes_falsenodeids"))
    _same_length(node, ids, modes, column, splits, *ways, missing)
    for key, mode, feature, split, yes, no, lost in zip(
        ids, modes, column, splits, *ways, missing, strict=True
    ):
        if mode == "LEAF":
            trees.leaves[key] = []
        elif mode in _MODES:
            after: tuple[_Key, _Key] = ((key[0], yes), (key[0], no))
            trees.branch(key, _MODES.index(mode), feature, split, *after, bool(lost))
        else:
            raise node.fail(f"branches of mode {mode} are not supported")
    leaves = [node.integers(f"{kind}_{name}") for name in ("treeids", "nodeids", "ids")]
    weights = node.floats(f"{kind}_weights")
    _same_length(node, *leaves, weights)
    for tree, number, target, weight in zip(*leaves, weights, strict=True):
        key = (tree, number)
        if key not in trees.leaves:
            raise node.fail(f"a weight is for node {number} of tree {tree}, which is not a leaf")
        trees.leaves[key].append((target, weight))
    first: dict[int, _Key] = {}
    for key in ids:
        first.setdefault(key[0], key)
    return trees, list(first.values())


def _texts(node: OnnxOperator, name: str) -> list[bytes]:
    found = next((a for a in node.proto.attribute if a.name == name), onnx.AttributeProto())
    return list(found.strings)


def _regressor(node: OnnxOperator) -> Value:
    trees, roots = _older(node, "target")
    targets = _targets(trees, node.integer("n_targets", 1))
    how, base = node.text("aggregate_function", "SUM"), node.floats("base_values", ())
    made = _combined(node, _walked(trees, roots, targets), how, base)
    return ended(node, made, node.text("post_transform", "NONE"))


def _classifier(node: OnnxOperator) -> list[Value]:
    """Returns the label of the highest score, and the scores."""
    if not node.has_attribute("classlabels_int64s"):
        raise node.fail("text labels are not supported", "train the model with numbers as labels")
    labels = node.integers("classlabels_int64s")
    trees, roots = _older(node, "class")
    ids = {target for leaf in trees.leaves.values() for target, _ in leaf}
    base, end = node.floats("base_values", ()), node.text("post_transform", "NONE")
    is_one = len(labels) == 2 and len(ids) == 1
    if len(base) not in (0, 1 if is_one else len(labels)):
        raise node.fail(f"{len(base)} base scores do not fit {len(labels)} classes")
    leaves = _reached(trees, roots)
    scores = _combined(node, _describe(trees, leaves, _targets(trees, len(labels))), "SUM", base)
    if is_one:
        return _of_two(node, trees, scores, ids.pop(), labels, end)
    compared = scores if base else _only_named(trees, leaves, scores)
    best = node.do("ArgMax", compared, axis=1, keepdims=0)
    return [_label(node, labels, best), ended(node, scores, end)]


def _label(node: OnnxOperator, labels: Sequence[int], place: Value) -> Value:
    return node.do("Gather", node.number(labels, TensorProto.INT64), place, axis=0)


def _of_two(
    node: OnnxOperator, trees: _Trees, scores: Value, column: int, labels: Sequence[int], end: str
) -> list[Value]:
    """Converts one score to two classes: a probability if no weight is negative, else the distance from 0."""
    one = node.do("Gather", scores, node.number([column], TensorProto.INT64), axis=1)
    is_share = all(weight >= 0 for leaf in trees.leaves.values() for _, weight in leaf)
    middle = node.number(0.5 if is_share else 0.0, one.element)
    other = node.do("Sub", node.number(1, one.element), one) if is_share else node.do("Neg", one)
    is_second = node.do("Greater", node.do("Squeeze", one, node.number([1], TensorProto.INT64)), middle)
    place = node.do("Cast", is_second, to=TensorProto.INT64)
    return [_label(node, labels, place), ended(node, concatenated(node, [other, one], 1), end)]


TREES: Mapping[str, Importer] = {
    "TreeEnsemble": _ensemble,
    "TreeEnsembleClassifier": _classifier,
    "TreeEnsembleRegressor": _regressor,
}
