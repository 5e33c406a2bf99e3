"""Each chapter answers for the digits model, and fails when what it looks at is doctored."""

import hashlib
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from joins import boxes_of_scales
from model_checks import DSP
from model_checks import compiled as compiled_graph
from op_case import int8
from tflite_builder import ModelBuilder
from tiny_models import random_weights

import deploy
from aot.errors import InputError
from aot.ir.graph import Graph, Node, State
from aot.ir.types import Array
from aot.ops.binary import Add
from artifact.artifact import Artifact, artifact_of
from codegen.compile import CompiledModel
from codegen.options import CompileOptions
from deploy.proving.c_functions import constants_of, functions_of, sha256_of
from deploy.proving.chapter import Chapter, Finding, Standing
from deploy.proving.subject import About, Subject, subject_of
from deploy.proving.sum_range import ProductSums
from deploy.proving.sums import examine_sums
from deploy.proving.traceability import examine_traceability

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


@pytest.fixture(scope="module")
def compiled():
    return deploy.compile(DIGITS, "mps2-an386")


@pytest.fixture(scope="module")
def subject(compiled):
    return subject_of(compiled, About(), CompileOptions())


def with_text(subject: Subject, old: str, new: str) -> Subject:
    """The subject with other C, in all of its files."""
    files = dict(subject.artifact.files)
    assert any(old.encode() in data for data in files.values())
    changed = {name: data.replace(old.encode(), new.encode()) for name, data in files.items()}
    return replace(subject, artifact=Artifact(subject.artifact.facts, changed))


def with_bias(subject: Subject, name: str, bias: int) -> Subject:
    """The subject with another bias in its graph."""
    artifact = Artifact(subject.artifact.facts, subject.artifact.files)
    graph = subject.artifact.graph
    constants = {**graph.constants, name: np.full_like(graph.constants[name], bias)}
    artifact.__dict__["graph"] = replace(graph, constants=constants)
    return replace(subject, artifact=artifact)


def rows_of(finding: Finding) -> dict[str, tuple[object, ...]]:
    (table,) = finding.tables
    return {str(row[1]): tuple(row) for row in table.rows}


def test_weights_that_may_be_replaced_prove_nothing():
    external = deploy.compile(DIGITS, "mps2-an386", weights="external")
    with pytest.raises(InputError, match="evidence is about code with its weights, and those of digits are"):
        subject_of(external, About(), CompileOptions())


def test_the_sums_of_digits_are_proven_but_for_softmax(subject):
    found = examine_sums(subject)
    assert found.verdict is Standing.EXCEPTIONS
    assert found.summary == "the sums of 4 of 5 computing layers stay within 32 bits for every input"
    (exception,) = found.exceptions
    assert exception.startswith('layer 6 (SOFTMAX #6 "digit"): softmax is not a sum of products')


def test_a_range_is_what_numpy_finds_by_trying_all_inputs():
    """Two weights and inputs of four values each: every sum, and every part of it."""
    weights, bias = np.array([[3, -5], [7, 0]]), np.array([11, -13])
    found = ProductSums(weights, bias, (-5, -2), -3, np.array([0, 1]))
    values = np.stack(np.meshgrid(range(-2, 2), range(-2, 2)), -1).reshape(-1, 2)
    sums = values @ weights.T + bias
    assert found.least.tolist() == sums.min(0).tolist()
    assert found.greatest.tolist() == sums.max(0).tolist()
    parts = [b + w * v for row, b in zip(weights, bias, strict=True) for w in row for v in range(-2, 2)]
    assert found.partial >= max(map(abs, [*parts, *sums.ravel()]))
    assert found.shifted == max(abs(sums[:, 0]).max(), 2 * abs(sums[:, 1]).max())
    assert found.reached()


def test_a_bias_near_the_limit_is_no_longer_proven(subject):
    near = with_bias(subject, "dense_5/bias", 2**31 - 1000)
    found = examine_sums(near)
    assert any("32 bits are not proven to suffice" in each for each in found.exceptions)
    assert rows_of(found)["dense"][-1] == Standing.EXCEPTIONS.value
    assert rows_of(found)["conv2d"][-1] == Standing.PROVEN.value


def test_computations_that_disagree_fail_the_chapter(subject, monkeypatch):
    monkeypatch.setattr("deploy.proving.sums.largest_sum", lambda *_: 0)
    found = examine_sums(subject)
    assert found.verdict is Standing.FAILED
    assert 'layer 1 (CONV_2D #0 "conv2d_0"): the computations of the range disagree' in found.summary


def test_a_model_without_sums_of_products_is_not_said_to_be_proven(subject):
    facts = subject.artifact.facts
    softmax = replace(facts, layers=tuple(layer for layer in facts.layers if layer.op == "softmax"))
    found = examine_sums(replace(subject, artifact=Artifact(softmax, subject.artifact.files)))
    assert found.verdict is Standing.NOT_RUN


def test_a_model_whose_only_sums_are_not_proven_is_not_said_to_have_none(subject):
    facts = subject.artifact.facts
    dense = replace(facts, layers=tuple(layer for layer in facts.layers if layer.op == "dense"))
    alone = replace(subject, artifact=Artifact(dense, subject.artifact.files))
    near = with_bias(alone, "dense_5/bias", 2**31 - 1000)
    assert examine_sums(near).verdict is Standing.EXCEPTIONS


def test_every_function_and_constant_belongs_to_a_layer(subject):
    found = examine_traceability(subject)
    assert found.verdict is Standing.PROVEN, found.summary
    names = {table.title: {str(row[0]): row[-1] for row in table.rows} for table in found.tables}
    assert names["Constants of the C"]["digits_conv2d_0_w"] == "layer 1"
    assert names["Functions of the C"]["softmax_10_by_1"] == "layer 6"
    assert names["Functions of the C"]["digits_run"] == "the interface"
    assert names["Operators"]["reshape_4"] == "no code"


def test_a_function_that_nobody_calls_fails_the_chapter(subject):
    doctored = with_text(
        subject, "\nint32_t digits_run(", "\nstatic void left(void)\n{\n}\n\nint32_t digits_run("
    )
    assert "function left belongs to no layer" in examine_traceability(doctored).summary


def test_a_constant_that_nobody_reads_fails_the_chapter(subject):
    old = "CONSTANT const int16_t digits_conv2d_0_w[96]"
    found = examine_traceability(with_text(subject, old, f"CONSTANT const int8_t more[3] = {{0}};\n{old}"))
    assert found.summary.startswith("constant more belongs to no layer; the C has 4,765 bytes of constants")


def test_constants_that_are_not_found_in_the_c_fail_the_chapter(subject):
    found = examine_traceability(
        with_text(subject, "CONSTANT const int16_t digits_conv2d_0_w[96] =", "X[96] =")
    )
    assert "bytes of constants, and 4,762 by the facts of the archive" in found.summary


@pytest.mark.slow
def test_rows_that_are_joined_where_they_are_written_are_traced():
    found = examine_traceability(Subject(artifact_of(model_of(boxes_of_scales()))))
    assert found.verdict is Standing.PROVEN, found.summary
    assert "no code" in [row[-1] for row in found.tables[1].rows if row[1] == "concat"]


def test_the_reset_of_a_state_is_traced():
    nodes = (Node("add", Add(), ("x", "last"), ("y",)),)
    types = dict.fromkeys(("x", "last", "y"), int8(1, 3))
    state = State("last", "y", np.array([[1, -2, 3]], np.int8))
    graph = Graph("sum", ("x",), ("y",), nodes, types, {}, (state,))
    found = examine_traceability(Subject(artifact_of(model_of(graph))))
    assert found.verdict is Standing.PROVEN, found.summary


@pytest.mark.slow
def test_constants_of_an_accelerator_are_traced():
    compiled = deploy.compile(DIGITS, "mps2-an386", accelerator=["gemm-npu"])
    found = examine_traceability(Subject(compiled.artifact))
    assert found.verdict is Standing.PROVEN, found.summary


def model_of(graph: Graph) -> CompiledModel:
    return compiled_graph(graph, DSP, CompileOptions(), "net")


def test_a_layer_without_a_function_fails_the_chapter(subject):
    assert "layer 3 has no function" in examine_traceability(with_text(subject, "conv2d_2(", "x(")).summary


def test_c_is_read_without_its_comments_and_attributes():
    text = (
        "/* int not_me(int a)\n{\n} */\nstatic inline __attribute__((always_inline)) int f(\n    int a)\n"
        "{\n    return g(a) + w[0];\n}\nCONSTANT const int8_t w[4] = {1};\n"
        "extern CONSTANT const int8_t w[4];\n"
        "CONSTANT __attribute__((aligned(16))) const int32_t program[2] = {1, 2};\n"
        "CONSTANT_IN(QSPI) const int16_t far[3] = {1};\n"
    )
    assert functions_of(text).names == {"f": frozenset({"return", "g", "a", "w"})}
    found = {name: (each.bytes, each.sha256) for name, each in constants_of(text).items()}
    expected: dict[str, Array] = {
        "w": np.array([1, 0, 0, 0], np.int8),
        "program": np.array([1, 2], np.int32),
        "far": np.array([1, 0, 0], np.int16),
    }
    assert found == {name: (data.nbytes, sha256_of(data)) for name, data in expected.items()}
    assert hashlib.sha256(b"\x01\0\0\0").hexdigest() == found["w"][1]


def test_numbers_are_read_as_c_reads_them():
    text = (
        "CONSTANT const float f[5] = {\n    1.5f, -2e-05f, NAN, INFINITY, -INFINITY,\n};\n"
        "CONSTANT const int64_t wide[2] = {INT64_MIN, -3LL};\nCONSTANT const uint8_t u[2] = {255, 0};\n"
    )
    expected: dict[str, Array] = {
        "f": np.array([1.5, -2e-05, np.nan, np.inf, -np.inf], np.float32),
        "wide": np.array([-(2**63), -3], np.int64),
        "u": np.array([255, 0], np.uint8),
    }
    hashes = {name: each.sha256 for name, each in constants_of(text).items()}
    assert hashes == {name: sha256_of(data) for name, data in expected.items()}


def test_the_hashes_of_constants_are_those_of_what_the_compiler_packed(compiled):
    texts = compiled.artifact.sources.values()
    found = {name: each.sha256 for text in texts for name, each in constants_of(text).items()}
    assert found == {name: sha256_of(data) for name, data in compiled.model.constants.arrays.items()}


def test_a_constant_leads_to_its_operator_and_file_and_back(subject):
    tables = {table.title: table for table in examine_traceability(subject).tables}
    constants = {row[0]: row[1:] for row in tables["Constants of the C"].rows}
    file, _, digest, origin, layer = constants["digits_conv2d_2_w"]
    assert (file, origin, layer) == ("digits_weights.c", 'CONV_2D #2 "conv2d_2"', "layer 3")
    back = {row[2]: row for row in tables["Constants of the operators"].rows}
    assert back["conv2d_2/weights"][3] == "i8[24,1,1,8]"
    assert "digits_conv2d_2_w" in str(back["conv2d_2/weights"][-1]).split(", ")
    weights = subject.artifact.graph.constants["conv2d_2/weights"]
    assert back["conv2d_2/weights"][5] == hashlib.sha256(weights.tobytes()).hexdigest()
    files = {row[0]: row[2] for row in tables["Files"].rows}
    assert files["digits.tflite"] == hashlib.sha256(DIGITS.read_bytes()).hexdigest()
    source = subject.artifact.sources["digits_weights.c"].encode()
    assert files["digits_weights.c"] == hashlib.sha256(source).hexdigest()
    assert len(str(digest)) == 64


def test_files_of_the_runtime_have_requirements_with_numbers(subject):
    tables = {table.title: table for table in examine_traceability(subject).tables}
    rows = {row[0]: row[1:] for row in tables["Requirements of the runtime"].rows}
    says, code, tests = rows["R1"]
    assert (str(says)[:6], code) == ("Damage", "solder_frame.c")
    assert "tests/rpc/test_frame.py::test_the_device_follows_the_same_vectors" in str(tests)


def test_a_file_of_the_runtime_that_nothing_asks_for_fails(subject):
    files = {**subject.artifact.files, "runtime/solder_new.c": b"int new;\n"}
    found = examine_traceability(replace(subject, artifact=replace(subject.artifact, files=files)))
    assert found.verdict is Standing.FAILED
    assert found.summary == "no requirement asks for solder_new.c of the runtime"


def test_exceptions_are_stated_where_they_are_claimed():
    with pytest.raises(ValueError, match="holds with stated exceptions, with 0 exceptions stated"):
        Finding(Standing.EXCEPTIONS, "nearly")
    assert Chapter("a", "A", "?", examine_sums).name == "a"


def test_sums_made_with_pairs_of_weights_are_proven_by_a_bound_of_their_own(tmp_path):
    """They are 256 times as large: a bias that suits the reference's sums, and 2^31 / 256, is too much."""
    build = ModelBuilder("wide")
    w, b, s = random_weights(4, (16, 128))
    x = build.input("x", (1, 128), scale=0.05, zero_point=3)
    y = build.fully_connected(x, w, b // 8, weight_scales=s[:1], scale=0.5, zero_point=0)
    path = tmp_path / "wide.tflite"
    path.write_bytes(build.finish(y))
    for dialect, is_paired in (("gnu", True), ("strict", False)):
        subject = subject_of(deploy.compile(path, "mps2-an386", dialect=dialect), About(), CompileOptions())
        found = examine_sums(subject)
        assert found.verdict is Standing.PROVEN, dialect
        assert bool(rows_of(found)["dense"][-3]) == is_paired
        (bias,) = (node.inputs[2] for node in subject.artifact.graph.nodes)
        assert bias is not None
        near = examine_sums(with_bias(subject, bias, 2**23))
        assert near.verdict is (Standing.EXCEPTIONS if is_paired else Standing.PROVEN)
        assert all("pairs of weights, 256 times as large, may reach" in each for each in near.exceptions)


def test_sums_made_with_four_weights_at_once_are_not_proven(tmp_path):
    build = ModelBuilder("narrow")
    w, b, s = random_weights(4, (16, 128))
    x = build.input("x", (1, 128), scale=0.05, zero_point=3)
    y = build.fully_connected(x, w // 16, b // 8, weight_scales=s[:1], scale=0.5, zero_point=0)
    path = tmp_path / "narrow.tflite"
    path.write_bytes(build.finish(y))
    found = examine_sums(subject_of(deploy.compile(path, "mps2-an386"), About(), CompileOptions()))
    assert found.exceptions == (
        'layer 0 (FULLY_CONNECTED #0 "dense_0") multiplies by four weights at once: '
        "the range is that of the reference's sums, not of its own",
    )


def test_half_words_that_may_need_more_than_16_bits_are_not_proven(subject, monkeypatch):
    monkeypatch.setattr(ProductSums, "fills_half_words", lambda _: False)
    said = [each for each in examine_sums(subject).exceptions if "into 16 bits" in each]
    assert len(said) == 2
    assert said[0] == (
        'layer 1 (CONV_2D #0 "conv2d_0"): a pair of weights with -128 in it is not proven to fit into 16 bits'
    )


@pytest.mark.parametrize("row", [(-127, 127, 3, -90), (0, 127, 0, -90)])
def test_no_order_of_products_with_pairs_leaves_the_bound(row):
    """Every set of the products of two pairs, at the ends of the inputs, whichever weights are a pair."""
    weights, start = np.array([row]), np.array([-55])
    bound = ProductSums(weights, start, (-128, 127), 0, np.array([0])).in_pairs(start)
    reached = 0
    for a, b, c, d in permutations(row):
        begin = 256 * -55 - 127 * (b + d)
        for x, y, z, u in product((-128, 127), repeat=4):
            terms = (
                (256 * a + b) * x,
                b * (256 * y + 127 - x),
                (256 * c + d) * z,
                d * (256 * u + 127 - z),
            )
            assert begin + sum(terms) == 256 * (a * x + b * y + c * z + d * u - 55)
            parts = [
                begin + sum(t for t, i in zip(terms, taken, strict=True) if i)
                for taken in product((0, 1), repeat=4)
            ]
            reached = max(reached, *map(abs, parts))
    assert 0.99 * bound < reached <= bound
