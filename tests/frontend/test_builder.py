"""What both readers build graphs with: names given once, and numbers that two kinds of names may share."""

from collections.abc import Mapping
from importlib import import_module

import numpy as np
import pytest

from aot.frontend.builder import GraphBuilder, Names
from aot.frontend.onnx.importers import FILES as ONNX
from aot.frontend.tflite.importers import FILES as TFLITE
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add
from aot.ops.unary import Clamp

REAL = TensorType(DType.F32, (2,))


def builder() -> GraphBuilder:
    return GraphBuilder(
        rounding="tflm",
        types={"x": REAL, "one": REAL, "y": REAL},
        constants={"one": np.ones(2, np.float32)},
    )


def test_a_name_is_given_once_and_wishes_are_numbered():
    names = Names()
    assert [names.unique(wish) for wish in ("a", "a", "b", "a", "a#2")] == ["a", "a#2", "b", "a#3", "a#2#2"]


def test_numbers_are_of_their_own_unless_they_are_shared():
    shared: dict[str, int] = {}
    values, nodes = Names(shared), Names(shared)
    assert [values.unique("a"), nodes.unique("a"), values.unique("a"), nodes.unique("a")] == [
        *("a", "a", "a#2", "a#3")
    ]


def test_a_name_that_is_freed_can_be_given_again():
    names = Names()
    names.take("a")
    assert names.unique("a") == "a#2"
    names.free("a")
    assert names.unique("a") == "a"


def test_operands_are_known_where_all_that_are_there_are_constants():
    build = builder()
    assert build.are_known(("one", None))
    assert not build.are_known(("one", "x"))
    (made,) = build.computed(Add(), ("one", "one"), (REAL,))
    assert made.tolist() == [2, 2]


def test_a_rule_that_is_broken_is_reported():
    build = builder()
    assert build.violation(Add(), ("x", "one"), REAL) is None
    assert build.violation(Add(), ("x",), REAL) == "there must be 2 inputs and one output: it has 1"


def test_nodes_of_one_label_have_names_of_their_own():
    build = builder()
    for _ in range(2):
        build.append("relu", Clamp(Activation.RELU), ("x",), "y", 'RELU #0 "y"')
    assert [(node.name, node.origin) for node in build.nodes] == [
        ("relu", 'RELU #0 "y"'),
        ("relu#2", 'RELU #0 "y"'),
    ]


_PACKAGES: Mapping[str, Mapping[str, str]] = {
    "aot.frontend.tflite.importers": TFLITE,
    **{f"aot.frontend.onnx.importers:{domain}": files for domain, files in ONNX.items()},
}


@pytest.mark.parametrize("package", _PACKAGES)
def test_a_file_has_the_importers_that_are_listed_for_it(package):
    seen: list[str] = []
    for file, listed in _PACKAGES[package].items():
        stem, _, table = file.partition(".")
        module = import_module(f"{package.partition(':')[0]}.{stem}")
        assert sorted(getattr(module, table or stem.upper())) == sorted(listed.split(", ")), file
        seen += listed.split(", ")
    assert len(seen) == len({*seen}), "an operator has one importer"
