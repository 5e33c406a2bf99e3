"""Ensembles of trees equal ONNX Runtime: every branch, missing features; trees of one forest are one node."""

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_files import onnx_file
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.merged_trees import with_merged_trees
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
SPLITS = [0.5, -1.0, 0.0]


def nodes_of(mode: str, trees: int = 2, missing: int = 0) -> dict[str, Any]:
    """Each tree has a root, two branches and four leaves."""
    return {
        "nodes_treeids": [tree for tree in range(trees) for _ in range(7)],
        "nodes_nodeids": [*range(7)] * trees,
        "nodes_featureids": [0, 1, 2, 0, 0, 0, 0] * trees,
        "nodes_values": [*SPLITS, 0.0, 0.0, 0.0, 0.0] * trees,
        "nodes_modes": [*[mode] * 3, *["LEAF"] * 4] * trees,
        "nodes_truenodeids": [1, 3, 5, 0, 0, 0, 0] * trees,
        "nodes_falsenodeids": [2, 4, 6, 0, 0, 0, 0] * trees,
        "nodes_missing_value_tracks_true": [missing] * 7 * trees,
    }


def weights_of(kind: str, ids: list[int], low: float, trees: int = 2) -> dict[str, Any]:
    count = 4 * trees
    return {
        f"{kind}_treeids": [tree for tree in range(trees) for _ in range(4)],
        f"{kind}_nodeids": [3, 4, 5, 6] * trees,
        f"{kind}_ids": (ids * count)[:count],
        f"{kind}_weights": np.linspace(low, 0.4, count).tolist(),
    }


def regressor(mode: str, missing: int = 0, **more: Any) -> bytes:
    given = {"n_targets": 1, **nodes_of(mode, missing=missing), **more}
    return file_of("TreeEnsembleRegressor", 1, **given)


def classifier(ids: list[int], low: float, **more: Any) -> bytes:
    given = {"classlabels_int64s": [0, 1], **nodes_of("BRANCH_LEQ"), **weights_of("class", ids, low), **more}
    return file_of("TreeEnsembleClassifier", 2, **given)


def file_of(operator: str, outputs: int, **attributes: Any) -> bytes:
    names = [f"y{n}" for n in range(outputs)]
    node = helper.make_node(operator, ["x"], names, domain="ai.onnx.ml", **attributes)
    return onnx_file([node], {"x": (12, 3)}, names)


ONE = weights_of("target", [0], -1.0)
CASES = {
    **{f"branches by {mode}": regressor(mode, **ONE) for mode in MODES},
    "missing features": regressor("BRANCH_LEQ", 1, **ONE),
    "two targets, their mean": regressor(
        "BRANCH_LT", n_targets=2, aggregate_function="AVERAGE", **weights_of("target", [0, 1], -1.0)
    ),
    **{f"the {how}": regressor("BRANCH_LT", aggregate_function=how, **ONE) for how in ("MIN", "MAX")},
    "from a base": regressor("BRANCH_LT", base_values=[2.5], **ONE),
    "three classes": classifier([0, 1, 2], -1.0, classlabels_int64s=[7, 3, 5]),
    "three classes by softmax": classifier(
        [0, 1, 2], -1.0, classlabels_int64s=[7, 3, 5], post_transform="SOFTMAX"
    ),
    "shares of one": classifier([0], 0.1),
    "distances of one": classifier([0], -1.0, base_values=[0.05]),
    "distances of one by logistic": classifier([0], -1.0, post_transform="LOGISTIC"),
}


@pytest.mark.parametrize("name", CASES)
def test_trees_give_what_onnx_runtime_gives(name):
    x = np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32)
    x[:3] = SPLITS  # on the borders
    x[3] = np.nan if name == "missing features" else 0
    made = run_graph(read_onnx(CASES[name], "net.onnx"), {"x": x})
    for mine, wanted in zip(made.values(), run_onnx(CASES[name], {"x": x}), strict=True):
        np.testing.assert_allclose(mine.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (regressor("BRANCH_MOST", **ONE), "branches of mode BRANCH_MOST are not supported"),
        (regressor("BRANCH_LT", **weights_of("target", [4], 0.0)), "leaves for targets [4] do not fit 1"),
        (
            regressor("BRANCH_LT", **{**ONE, "target_ids": [0]}),
            "its attributes have 8, 8, 1, 8 entries that belong together",
        ),
        (classifier([0, 1], 0.0, base_values=[1.0]), "1 base scores do not fit 2 classes"),
    ],
)
def test_trees_that_do_not_fit_are_refused(data, what):
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert caught.value.what == what


def table_bytes(data: bytes) -> list[int]:
    """The bytes of constants that are tables of branches and leaves, not a number for each row and tree."""
    constants = read_onnx(data, "trees.onnx").constants.values()
    tables = [array for array in constants if array.size > 1 and array.shape[:2] != (12, 2)]
    return sorted((array.nbytes for array in tables), reverse=True)


def test_tables_of_branches_have_no_rows_for_leaves_and_are_no_wider_than_their_numbers():
    """3 branches in each of 2 trees: a limit of 4 bytes, the column and both ways in a byte each."""
    limits, leaves = 6 * 4, 8 * 4
    assert table_bytes(regressor("BRANCH_LEQ", **ONE)) == [leaves, limits, 6, 6, 6]


@pytest.mark.parametrize(
    ("leaves", "branches"), [([1, 2, 3, 3], 2), ([1, 1, 3, 3], 1), ([3, 3, 3, 3], 0)], ids=str
)
def test_a_branch_whose_leaves_say_the_same_is_a_leaf(leaves, branches):
    data = regressor("BRANCH_LEQ", **ONE | {"target_weights": [*map(float, leaves)] * 2})
    assert table_bytes(data).count(8 * branches) == (branches > 0)  # of limits, for both trees
    x = np.random.default_rng(0).standard_normal((12, 3)).astype(np.float32)
    (wanted,), graph = run_onnx(data, {"x": x}), read_onnx(data, "trees.onnx")
    assert np.array_equal(next(iter(run_graph(graph, {"x": x}).values())), wanted)


def test_numbers_become_others_by_a_table():
    table = {"keys_floats": [0.0, 0.5, -1.0], "values_floats": [4.0, -2.5, 0.0], "default_float": 9.0}
    data = file_of("LabelEncoder", 1, **table)
    x = np.resize(np.array([0.5, 0.0, 3.0, -1.0], np.float32), (12, 3))
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y0"]
    assert made.tolist() == run_onnx(data, {"x": x})[0].tolist()


ROWS, FEATURES, TREES = 6, 4, 5


def tree(number: int, source: str, **more: Any) -> NodeProto:
    """A root, a branch and three leaves, whose weights are their numbers."""
    return helper.make_node(
        "TreeEnsembleRegressor",
        [source],
        [f"leaf{number}"],
        f"tree{number}",
        domain="ai.onnx.ml",
        nodes_treeids=[0] * 5,
        nodes_nodeids=[*range(5)],
        nodes_featureids=[number % 2, 1, 0, 0, 0],
        nodes_values=[0.1 * number - 0.2, 0.3, 0.0, 0.0, 0.0],
        nodes_modes=["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
        nodes_truenodeids=[1, 2, 0, 0, 0],
        nodes_falsenodeids=[4, 3, 0, 0, 0],
        target_treeids=[0] * 3,
        target_nodeids=[2, 3, 4],
        target_ids=[0] * 3,
        target_weights=[2.0, 3.0, 4.0],
        **{"n_targets": 1, **more},
    )


def forest(outputs: tuple[str, ...] = ("total",), **more: Any) -> ModelProto:
    """Each tree looks at two columns of its own; a depth is made of its leaf, and all depths are added."""
    nodes, constants = list[NodeProto](), {"factor": np.array([0.5], np.float32)}
    for n in range(TREES):
        constants[f"columns{n}"] = np.array([n % FEATURES, (n + 1) % FEATURES], np.int64)
        nodes += [
            helper.make_node("Gather", ["x", f"columns{n}"], [f"part{n}"], axis=1),
            tree(n, f"part{n}", **more),
            helper.make_node("Cast", [f"leaf{n}"], [f"number{n}"], to=TensorProto.INT64),
            helper.make_node(
                "LabelEncoder",
                [f"number{n}"],
                [f"length{n}"],
                domain="ai.onnx.ml",
                keys_int64s=[2, 3, 4],
                values_floats=[1.5 + n, 7.0, 0.25],
            ),
            helper.make_node("Log", [f"length{n}"], [f"log{n}"]),
            helper.make_node("Mul", [f"log{n}", "factor"], [f"scaled{n}"]),
            helper.make_node("Add", [f"scaled{n}", f"leaf{n}"], [f"depth{n}"]),
        ]
    nodes.append(helper.make_node("Sum", [f"depth{n}" for n in range(TREES)], ["total"], "total"))
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [ROWS, FEATURES])
    made = [helper.make_empty_tensor_value_info(name) for name in outputs]
    known = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "forest", [value], made, known)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=sets, ir_version=8)


def require_right(model: ModelProto) -> None:
    x = np.random.default_rng(0).standard_normal((ROWS, FEATURES)).astype(np.float32)
    wanted = ReferenceEvaluator(model).run(None, {"x": x})
    graph = read_onnx(model.SerializeToString(), "forest.onnx")
    for found, right in zip(run_graph(graph, {"x": x}).values(), wanted, strict=True):
        assert np.allclose(found, right, rtol=0, atol=1e-6)


def test_all_trees_and_what_is_made_of_their_leaves_are_one_node():
    model = forest()
    (node,) = with_merged_trees(model).graph.node
    its = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert (node.op_type, list(node.input), list(node.output)) == ("TreeEnsembleRegressor", ["x"], ["total"])
    assert its["nodes_featureids"][:2] == [0, 1]
    assert its["nodes_featureids"][5:7] == [2, 2]  # the second tree's columns are 1 and 2
    assert its["nodes_treeids"] == [n for n in range(TREES) for _ in range(5)]
    assert its["target_weights"][0] == pytest.approx(2 + 0.5 * np.log(1.5))
    require_right(model)


def test_the_file_itself_stays_as_it_is():
    model = forest()
    before = model.SerializeToString()
    with_merged_trees(model)
    assert model.SerializeToString() == before


@pytest.mark.parametrize(
    ("model", "trees"),
    [
        (forest(outputs=("total", "depth1")), TREES),  # a depth that is an output is needed by itself
        (forest(outputs=("total", "leaf1")), TREES),
        (forest(post_transform="LOGISTIC"), TREES),
        (forest(aggregate_function="MAX"), TREES),
    ],
    ids=["a depth is an output", "a leaf is an output", "trees with a function behind", "another sum"],
)
def test_trees_that_are_needed_one_by_one_stay(model, trees):
    kept = [n for n in with_merged_trees(model).graph.node if n.op_type == "TreeEnsembleRegressor"]
    assert len(kept) == trees


def test_lists_that_do_not_fit_are_left_to_the_importer_which_names_them():
    model = forest()
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "target_ids":
                attribute.ints.append(0)
    with pytest.raises(ModelError, match="3, 3, 4, 3 entries that belong together"):
        read_onnx(model.SerializeToString(), "forest.onnx")


def test_outputs_of_trees_that_stay_are_right():
    require_right(forest(outputs=("total", "depth1")))
    require_right(forest(outputs=("total", "leaf1")))
