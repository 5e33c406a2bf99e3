"""Rows of which the run decides how many there are: what exporters make of them, or a refusal."""

import numpy as np
import pytest
from chosen_boxes import BY_NUMBER, FLOATS, LISTED, MAKE, WHOLES, Written, file_of
from onnx.reference import ReferenceEvaluator

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph


def sample(batches: int, classes: int, boxes: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, 4, (batches, boxes, 4)).astype(np.float32)
    return {"boxes": corners, "scores": rng.uniform(0, 1, (batches, classes, boxes)).astype(np.float32)}


@pytest.mark.parametrize(
    ("written", "sizes"), [(LISTED, (2, 3, 9)), (LISTED, (1, 1, 1)), (BY_NUMBER, (1, 1, 8))]
)
def test_rows_that_exporters_pick_by_chosen_boxes_are_those_of_the_standard(written, sizes):
    data = file_of(written, *sizes)
    graph = read_onnx(data, "net.onnx", "onnx")
    assert graph.outputs == (*written.outputs, "chosen_count")
    for seed in range(5):
        given = sample(sizes[0], sizes[1], sizes[2], seed)
        made = run_graph(graph, given)
        count = int(made["chosen_count"].item())
        for name, wanted in zip(written.outputs, ReferenceEvaluator(data).run(None, given), strict=True):
            axis = 1 if name == "columns" else 0
            there, filler = np.split(made[name], [count], axis)
            np.testing.assert_array_equal(there, wanted, name)
            assert not filler.any()


REFUSED = {
    "ReduceMax": MAKE("ReduceMax", ["chosen"], ["y"], axes=[0]),
    "TopK": MAKE("TopK", ["chosen", "one"], ["y", "z"], axis=0),
    "Slice": MAKE("Slice", ["chosen", "begin", "end", "begin"], ["y"]),
    "Concat": MAKE("Concat", ["chosen", "chosen"], ["y"], axis=0),
    "Gather": MAKE("Gather", ["chosen", "kind"], ["y"], axis=0),
}


@pytest.mark.parametrize("operator", REFUSED)
def test_a_node_that_mixes_rows_is_refused(operator):
    data = file_of(Written([REFUSED[operator]], {"y": WHOLES}), 1, 2, 6)
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert str(caught.value).splitlines() == [
        f'error: {operator} would use all rows of "chosen" together, including those after its count',
        f'  at {operator} #1 "y" (net.onnx)',
        "  hint: end the model before this node: then the rows and their count are outputs",
    ]


def test_the_number_of_rows_is_not_an_output_and_nothing_is_computed_with_it():
    shape = MAKE("Shape", ["chosen"], ["shape"])
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of(Written([shape], {"shape": WHOLES}), 1, 2, 6), "net.onnx")
    assert str(caught.value).splitlines() == [
        'error: the number of rows of output "shape" depends on the data',
        "  net.onnx",
        "  hint: remove this output: the row count is a separate output",
    ]
    nodes = [
        shape,
        MAKE("Cast", ["shape"], ["real"], to=FLOATS),
        MAKE("Gather", ["real", "no"], ["rows"]),
        MAKE("Mul", ["scores", "rows"], ["y"]),
    ]
    with pytest.raises(ModelError) as caught:
        read_onnx(file_of(Written(nodes, {"y": FLOATS}), 1, 2, 6), "net.onnx")
    assert str(caught.value).splitlines() == [
        "error: it computes with a number of rows that depends on the data",
        '  at Mul #4 "y" (net.onnx)',
        "  hint: end the model before this node: then the rows and their count are outputs",
    ]
