"""Trees that a file has one by one are one ensemble, as isolation forests come: right, and small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from aot.errors import ModelError
from aot.frontend.onnx.merged_trees import with_merged_trees
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

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


def test_all_trees_and_what_is_made_of_their_leaves_are_one_node() -> None:
    model = forest()
    (node,) = with_merged_trees(model).graph.node
    its = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert (node.op_type, list(node.input), list(node.output)) == ("TreeEnsembleRegressor", ["x"], ["total"])
    assert its["nodes_featureids"][:2] == [0, 1]
    assert its["nodes_featureids"][5:7] == [2, 2]  # the second tree's columns are 1 and 2
    assert its["nodes_treeids"] == [n for n in range(TREES) for _ in range(5)]
    assert its["target_weights"][0] == pytest.approx(2 + 0.5 * np.log(1.5))
    require_right(model)


def test_the_file_itself_stays_as_it_is() -> None:
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
def test_trees_that_are_needed_one_by_one_stay(model: ModelProto, trees: int) -> None:
    kept = [n for n in with_merged_trees(model).graph.node if n.op_type == "TreeEnsembleRegressor"]
    assert len(kept) == trees


def test_lists_that_do_not_fit_are_left_to_the_importer_which_names_them() -> None:
    model = forest()
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "target_ids":
                attribute.ints.append(0)
    with pytest.raises(ModelError, match="3, 3, 4, 3 entries that belong together"):
        read_onnx(model.SerializeToString(), "forest.onnx")


def test_outputs_of_trees_that_stay_are_right() -> None:
    require_right(forest(outputs=("total", "depth1")))
    require_right(forest(outputs=("total", "leaf1")))
