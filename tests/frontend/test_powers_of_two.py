"""Casts to float8e8m0, which has nothing but powers of two, give what ONNX's own reference gives."""

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_files import info, onnx_file

from aot.errors import ModelError
from aot.frontend.onnx.elements import numbers_of
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

(POWERS,) = numbers_of("FLOAT8E8M0") or (0,)
pytestmark = pytest.mark.skipif(not POWERS, reason="this onnx has no float8e8m0")
LEAST, LARGEST = 2.0**-127, 2.0**127
X = np.asarray([LEAST, 2.0**-126, 2.0**-125 * 1.75, 0.124, 0.3, 0.375, 1, 1.1, 1.5, 6, LARGEST], np.float32)


def cast_file(**attributes: object) -> bytes:
    node = helper.make_node("Cast", ["x"], ["y"], to=POWERS, **attributes)
    return onnx_file([node], {"x": ["n"]}, [info("y", "n", element=POWERS)], opset=24)


def casted(x: np.ndarray, **attributes: object) -> np.ndarray:
    graph = read_onnx(cast_file(**attributes), "net.onnx", shapes={"x": x.shape})
    return run_graph(graph, {"x": x})["y"]


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_numbers_are_rounded_as_the_file_says(mode):
    wanted = numpy_helper.to_float8e8m0(X, True, mode).astype(np.float32)
    made = casted(X, round_mode=mode)
    assert made[0] == LEAST  # which the reference rounds up, although it is one
    assert np.array_equal(made[1:], wanted[1:])


def test_the_right_one_of_the_two_least_powers_is_taken():
    x = np.asarray([LEAST * 1.25, LEAST * 1.5, LEAST * 1.75], np.float32)
    wanted = {"up": [2, 2, 2], "down": [1, 1, 1], "nearest": [1, 2, 2]}
    for mode, factors in wanted.items():
        assert casted(x, round_mode=mode).tolist() == [LEAST * factor for factor in factors], mode


def test_numbers_beyond_are_the_nearest_or_none():
    x = np.asarray([0.0, LEAST / 4, 3e38, np.inf, np.nan], np.float32)
    wanted = np.asarray([LEAST, LEAST, LARGEST, LARGEST, np.nan], np.float32)
    assert np.array_equal(casted(x), wanted, equal_nan=True)
    assert np.isnan(casted(x, saturate=0, round_mode="nearest")).all()


def test_a_way_to_round_that_does_not_exist_is_refused():
    with pytest.raises(ModelError, match='rounding "odd" is not one of up, down, nearest'):
        read_onnx(cast_file(round_mode="odd"), "net.onnx", shapes={"x": (3,)})
