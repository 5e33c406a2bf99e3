"""Dense float layers by int8 weights: with `litert-ref` LiteRT's hybrid kernel, in every bit."""

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from c_checks import failures_on_board, failures_on_host
from litert_oracle import litert_interpreter, run_litert, run_litert_once
from model_checks import DSP, PLAIN, compiled, model_check
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning
from codegen.options import CompileOptions

WAYS = list(product((False, True), repeat=3))  # asymmetric, a scale for each row, a bias
SIZES = ((1, 33, 9), (3, 257, 12), (4, 16, 4), (2, 5, 1), (1, 1, 3))  # vectors, elements, outputs
KERNELS = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")


def layer(
    sizes: tuple[int, int, int], asymmetric: bool, per_row: bool, bias: bool, activation: int = 0
) -> bytes:
    rows, depth, outputs = sizes
    rng, build = np.random.default_rng(depth), ModelBuilder()
    x = build.input("x", (rows, depth), dtype="float32")
    scales = rng.uniform(0.005, 0.02, outputs if per_row else 1).tolist()
    w = build.constant("w", rng.integers(-127, 128, (outputs, depth)).astype(np.int8), scales)
    b = build.constant("b", rng.standard_normal(outputs).astype(np.float32)) if bias else None
    return build.finish(
        build.operator(
            "FULLY_CONNECTED", 9, (x, w, b), [FileTensor("y", (rows, outputs), "float32")],
            "FullyConnectedOptions", AsymmetricQuantizeInputs=asymmetric, FusedActivationFunction=activation,
        )
    )  # fmt: skip


def vectors(rows: int, depth: int) -> Iterator[Array]:
    """Zeros, a vector of zeros among others, one sign only, both, large and small."""
    rng = np.random.default_rng(rows)
    yield np.zeros((rows, depth), np.float32)
    for middle, reach in product((-3, 0, 0.2, 5), (0.01, 1, 30)):
        x = (rng.standard_normal((rows, depth)) * reach + middle).astype(np.float32)
        yield x
        yield np.concatenate([np.zeros((1, depth), np.float32), x[1:]])


def hybrid(data: bytes) -> Graph:
    return read_tflite(data, "hybrid.tflite", "litert-ref")


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize(("asymmetric", "per_row", "bias"), WAYS)
def test_a_layer_has_the_bits_of_litert(kernels, asymmetric, per_row, bias):
    for number, sizes in enumerate(SIZES):
        data = layer(sizes, asymmetric, per_row, bias, activation=number % 2)
        graph = hybrid(data)
        for x, wanted in zip(
            vectors(*sizes[:2]), run_litert(data, list(vectors(*sizes[:2])), kernels), strict=True
        ):
            np.testing.assert_array_equal(run_graph(graph, {"x": x})["y"], wanted)


def test_the_layers_of_a_published_model_have_the_bits_of_litert(shared_dir):
    """Each on what LiteRT's layer gets: functions of floats between them differ in last digits."""
    data = (shared_dir / "models" / "dtln_1_hybrid" / "model.tflite").read_bytes()
    graph, rng, interpreter = hybrid(data), np.random.default_rng(1), litert_interpreter(data, keeps_all=True)
    for x in interpreter.get_input_details():
        interpreter.set_tensor(x["index"], np.abs(rng.standard_normal(x["shape"])).astype(np.float32))
    interpreter.invoke()
    operators = [each for each in interpreter._get_ops_details() if each["op_name"] == "FULLY_CONNECTED"]
    layers = [node for node in graph.nodes if node.op.name == "hybrid_dense"]
    assert len(layers) == 5
    for operator, node in zip(operators, layers, strict=True):
        x, wanted = (interpreter.get_tensor(operator[key][0]) for key in ("inputs", "outputs"))
        constants = [None if name is None else graph.constants[name] for name in node.inputs[1:]]
        types = graph.input_types(node), graph.output_types(node)
        (made,) = node.op.reference([x.reshape(graph.types[node.reads[0]].shape), *constants], *types)
        np.testing.assert_array_equal(made.reshape(-1), wanted.reshape(-1))


def between_two_steps() -> Array:
    """Vectors of which 0, or a number, lies between two steps, as near as single precision comes to it."""
    rng, rows = np.random.default_rng(5), []
    for _ in range(2000):
        step, below = np.float32(rng.uniform(0.001, 1)), rng.integers(0, 255) + 0.5
        least, most = -np.float32(below * step), np.float32((255 - below) * step)
        rows.append((np.nextafter(least, np.float32(rng.choice((-9, 9, least)))), most))
        reach, steps = np.float32(rng.uniform(0.1, 100)), rng.integers(0, 127) + 0.5
        rows.append((reach, np.float32(steps * float(reach) / 127)))
    return np.array(rows, np.float32)


@pytest.mark.parametrize("asymmetric", [False, True])
def test_numbers_between_two_steps_go_where_litert_puts_them(asymmetric):
    x, build = between_two_steps(), ModelBuilder()
    w = build.constant("w", np.eye(2, dtype=np.int8), [1.0])
    made = [FileTensor("y", x.shape, "float32")]
    build.operator(
        "FULLY_CONNECTED", 9, (build.input("x", x.shape, dtype="float32"), w, None), made,
        "FullyConnectedOptions", AsymmetricQuantizeInputs=asymmetric,
    )  # fmt: skip
    data = build.finish("y")
    wanted = run_litert_once(data, x)
    np.testing.assert_array_equal(run_graph(hybrid(data), {"x": x})["y"], wanted)


def test_other_roundings_keep_the_input_as_it_is():
    data = layer((1, 33, 9), False, True, True)
    names = [read_tflite(data, "hybrid.tflite", mode).nodes[0].op.name for mode in ("tflm", "litert-ref")]
    assert names == ["dense", "hybrid_dense"]


def test_each_vector_has_a_range_of_its_own():
    """A vector beside a thousand times larger ones keeps its digits."""
    graph = hybrid(layer((3, 257, 12), True, True, True))
    x = np.random.default_rng(1).standard_normal((3, 257)).astype(np.float32)
    beside = x * np.array([[1], [1000], [1000]], np.float32)
    assert np.array_equal(*(run_graph(graph, {"x": each})["y"][0] for each in (x, beside)))


def test_cores_with_smlad_sum_two_products_at_a_time():
    graph = hybrid(layer((1, 33, 9), True, True, True))
    found = [
        layer.kernel for core in (PLAIN, DSP) for layer in compiled(graph, core, CompileOptions(), "m").layers
    ]
    assert found == ["plain", "smlad"]


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_c_has_the_bits_of_litert_on_host_and_board(require_tool, tmp_path):
    require_tool("gcc")
    for target, failures in ((PLAIN, failures_on_host), (DSP, failures_on_board)):
        checks = []
        for number, (sizes, way) in enumerate(product(SIZES, WAYS[3::4])):
            data, samples = layer(sizes, *way), [{"x": x} for x in vectors(*sizes[:2])][:6]
            wanted = run_litert(data, [sample["x"] for sample in samples])
            graph = hybrid(data)
            assert all(
                np.array_equal(run_graph(graph, sample)["y"], each)
                for sample, each in zip(samples, wanted, strict=True)
            )
            options = CompileOptions()
            checks.append(
                model_check(
                    f"hybrid_{number}", f"k{number}", run_meaning(graph).graph, target, options, samples
                )
            )
        assert failures(checks, tmp_path / target.core) == {}
