"""ONNX Runtime's own operators of language models: grouped heads with caches, and rotations."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_files import onnx_file
from onnx_oracle import run_onnx

import deploy
from aot.errors import ModelError
from aot.frontend.onnx.byte_caches import with_byte_caches
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ir.types import Array

Values = dict[str, Array]
NEAR = 2e-6


def file_of(
    operator: str,
    operands: list[str],
    values: Values,
    constants: Values,
    results: list[str],
    **attributes: Any,
) -> bytes:
    node = helper.make_node(operator, operands, results, domain="com.microsoft", **attributes)
    return onnx_file([node], values, dict.fromkeys(results), constants)


def attention(
    positions: int,
    end: int,
    past: int | None = 16,
    heads: int = 4,
    shared: int = 2,
    head: int = 16,
    turned: int = 0,
    is_packed: bool = False,
    has_bias: bool = False,
    has_places: bool = False,
    grows: bool = False,
    **attributes: Any,
) -> tuple[bytes, Values]:
    """Attention of so many positions, after which `end` are known; with its inputs."""
    rng = np.random.default_rng(positions + end)

    def real(*shape: int) -> Array:
        return rng.normal(size=shape).astype(np.float32)

    values: Values = {"q": real(1, positions, (heads + 2 * shared * is_packed) * head)}
    if not is_packed:
        values |= {name: real(1, positions, shared * head) for name in "kv"}
    if past is not None:
        values |= {name: real(1, shared, past, head) for name in ("pk", "pv")}
        for name in ("pk", "pv"):
            values[name][:, :, end - positions :] = 0  # not written yet
    constants: Values = {}
    values["last"] = np.array([end - 1], np.int32)
    (constants if grows else values)["total"] = np.array(end, np.int32)
    if turned:
        angles = rng.normal(size=(32, turned // 2))
        constants |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
        attributes["do_rotary"] = 1
    if has_places:
        values["places"] = np.arange(3, 3 + positions).reshape(1, -1)
    if has_bias:
        values["bias"] = real(1, heads, positions, end)
    known = {**values, **constants}
    names = ["q", "k", "v", "pk", "pv", "last", "total", "cos", "sin", "places", "bias"]
    operands = [name if name in known else "" for name in names]
    attributes |= {"num_heads": heads, "kv_num_heads": shared}
    results = ["y", "nk", "nv"]
    return file_of("GroupQueryAttention", operands, values, constants, results, **attributes), values


def rotation(shape: tuple[int, ...], places: Array, **attributes: Any) -> tuple[bytes, Values]:
    rng = np.random.default_rng(len(shape))
    angles = rng.normal(size=(16, 4))
    constants: Values = {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    values = {"x": rng.normal(size=shape).astype(np.float32), "places": places}
    data = file_of("RotaryEmbedding", ["x", "places", "cos", "sin"], values, constants, ["y"], **attributes)
    return data, values


FILES: dict[str, tuple[bytes, Values]] = {
    "a step": attention(1, 6),
    "a step, turned": attention(1, 6, turned=16),
    "a part of each head turned, neighbors, one operand": attention(
        1, 6, head=32, turned=16, rotary_interleaved=1, is_packed=True
    ),
    "positions given": attention(2, 6, turned=16, has_places=True),
    "a step with a full cache": attention(1, 16),
    "a prompt without a cache": attention(4, 4, past=None, turned=16, grows=True),
    "a prompt into a cache": attention(4, 4, turned=16),
    "several positions later": attention(3, 9),
    "all heads share one": attention(1, 10, shared=1, scale=0.3),
    "no heads share": attention(2, 5, shared=4),
    "a window": attention(1, 10, local_window_size=3),
    "a prompt with a window": attention(6, 6, local_window_size=2),
    "capped scores": attention(2, 9, softcap=5.0),
    "a cache that grows": attention(1, 9, past=8, grows=True),
    "added scores": attention(2, 10, past=8, grows=True, has_bias=True),
    "rotation": rotation((1, 3, 16), np.array([[4, 1, 9]])),
    "rotation from a position": rotation((1, 3, 16), np.array([5])),
    "rotation of heads": rotation((1, 2, 3, 8), np.array([[4, 1, 9]]), interleaved=1),
    "rotation of parts": rotation((1, 2, 3, 12), np.array([5]), rotary_embedding_dim=8, num_heads=2),
}


@pytest.mark.parametrize("name", FILES)
def test_an_operator_gives_what_onnx_runtime_gives(name, require_package):
    require_package("onnxruntime")
    data, values = FILES[name]
    graph = read_onnx(data, "net.onnx")
    made = run_graph(graph, values)
    for output, wanted in zip(graph.outputs, run_onnx(data, values), strict=True):
        assert made[output].shape == wanted.shape
        assert np.allclose(made[output], wanted, rtol=0, atol=NEAR)
    if "a step" in name:
        assert "cached_attention" in [node.op.name for node in graph.nodes]


REFUSED: dict[str, Callable[[], tuple[bytes, Values]]] = {
    "smooth_softmax is not supported": lambda: attention(1, 6, smooth_softmax=1),
    "3 heads of queries do not fit keys": lambda: attention(1, 6, heads=3),
    "8 past and 1 new positions are not 12 in total": lambda: attention(1, 12, past=8, grows=True),
    "packed batches and scaled rotations": lambda: rotation((1, 3, 16), np.array([5]), scale=2.0),
    "batches of 2 are not supported": lambda: rotation((2, 2, 3, 8), np.array([5])),
    "is not one sequence of 2 heads": lambda: rotation((2, 3, 16), np.array([5])),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_read_is_refused_by_its_reason(reason):
    with pytest.raises(ModelError) as caught:
        read_onnx(REFUSED[reason]()[0], "net.onnx")
    assert reason in caught.value.what


@pytest.mark.cc
def test_caches_are_states_that_steps_write_in_place(require_package, tmp_path):
    """A sequence until the cache is full gives what ONNX Runtime gives; the next position is refused."""
    require_package("onnxruntime")
    data, first = attention(1, 1, past=12, turned=16)
    path = tmp_path / "step.onnx"
    path.write_bytes(data)
    states = ("pk=nk", "pv=nv")
    host = deploy.in_process(path, state=states)
    caches = {name: first[name] for name in ("pk", "pv")}
    for position in range(12):
        _, given = attention(1, position + 1, past=12, turned=16)
        wanted, *made = run_onnx(data, {**given, **caches})
        caches = dict(zip(caches, made, strict=True))
        found = host.run({name: given[name] for name in (each.name for each in host.inputs)})
        assert np.allclose(found["y"], wanted, rtol=0, atol=NEAR)
    _, given = attention(1, 13, past=12, turned=16)
    with pytest.raises(RuntimeError, match="failed with error 4"):
        host.run({name: given[name] for name in (each.name for each in host.inputs)})
    cache_bytes = 2 * first["pk"].nbytes
    assert cache_bytes < deploy.inspect(path, state=states).report.facts.arena_bytes < 1.3 * cache_bytes


def with_bytes(data: bytes, values: Values) -> tuple[bytes, tuple[str, ...]]:
    """The model with caches of bytes. Its outputs state the caches' shape first, as exporters do."""
    model = onnx.load_model_from_string(data)
    for output, name in zip(model.graph.output[1:], ("pk", "pv"), strict=True):
        output.CopyFrom(helper.make_tensor_value_info(output.name, TensorProto.FLOAT, values[name].shape))
    return with_byte_caches(model.SerializeToString())


WITH_SCALES = {"pk": "nk", "pv": "nv", "pk.scale": "nk.scale", "pv.scale": "nv.scale"}
NARROWED: dict[str, dict[str, Any]] = {
    "a step": {},
    "turned": {"turned": 16},
    "a part of each head turned, neighbors, one operand": {
        "head": 32,
        "turned": 16,
        "rotary_interleaved": 1,
        "is_packed": True,
    },
    "positions given": {"turned": 16, "has_places": True},
    "all heads share one": {"shared": 1, "scale": 0.3},
}


@pytest.mark.cc
@pytest.mark.parametrize("name", NARROWED)
def test_caches_of_bytes_are_the_same_in_c_reference_and_onnx_runtime(name, tmp_path, require_package):
    """Bytes and scales are equal if no sum comes before them; results are near those of floats."""
    require_package("onnxruntime")
    options = NARROWED[name]
    is_turned = "turned" in options
    whole, first = attention(1, 1, past=12, **options)
    data, narrowed = with_bytes(whole, first)
    assert narrowed == ("pk", "pv")
    path, graph = tmp_path / "step.onnx", read_onnx(data, "step.onnx")
    path.write_bytes(data)
    apart, kept = (deploy.in_process(path, state=state) for state in ("none", WITH_SCALES))
    shapes = {each.name: (each.type.shape, each.type.dtype.numpy) for each in apart.inputs}
    caches = {each: np.zeros(*shapes[each]) for each in WITH_SCALES}
    exact = {each: first[each] for each in ("pk", "pv")}
    for position in range(12):
        _, given = attention(1, position + 1, past=12, **options)
        given = {each: given[each] for each in given if each not in WITH_SCALES}
        known = {each: given[each] for each in given if each in shapes}
        wanted = dict(zip(graph.outputs, run_onnx(data, {**known, **caches}), strict=True))
        by_c, by_reference = apart.run({**known, **caches}), run_graph(graph, {**known, **caches})
        for made in (by_c, by_reference):
            assert np.allclose(made["y"], wanted["y"], rtol=0, atol=NEAR)
            for output in WITH_SCALES.values():
                steps = np.abs(np.subtract(made[output], wanted[output], dtype=np.float64))
                assert steps.max() <= (0 if not is_turned else 1e-8 if "scale" in output else 1)
        assert np.allclose(kept.run(known)["y"], by_c["y"], rtol=0, atol=NEAR if is_turned else 0)
        caches = {past: wanted[present] for past, present in WITH_SCALES.items()}
        y, *floats = run_onnx(whole, {**given, **exact})
        exact = dict(zip(exact, floats, strict=True))
        assert np.allclose(wanted["y"], y, rtol=0, atol=0.02 * np.abs(y).max())
    with pytest.raises(RuntimeError, match="failed with error 4"):
        kept.run({**known, "last": np.array([12], np.int32)})


@pytest.mark.parametrize(
    "options",
    [{"local_window_size": 3}, {"softcap": 5.0}, {"grows": True, "past": 8}, {"has_bias": True, "past": 9}],
)
def test_attention_that_plain_operators_do_not_have_keeps_its_caches(options):
    data, first = attention(1, 9, **options)
    assert with_bytes(data, first)[1] == ()


def in_a_batch(model: onnx.ModelProto, values: Values) -> Values:
    for each in model.graph.input:
        if each.name in values and values[each.name].ndim > 1:
            each.type.tensor_type.shape.dim[0].dim_value = 2
    return {name: np.repeat(array, 2, axis=0) for name, array in values.items() if array.ndim > 1}


def growing_by_a_node(attribute: str) -> Callable[[onnx.ModelProto, Values], Values]:
    def change(model: onnx.ModelProto, values: Values) -> Values:
        total = next(each for each in model.graph.initializer if each.name == "total")
        value = total if attribute == "value" else int(numpy_helper.to_array(total))
        model.graph.initializer.remove(total)
        model.graph.node.insert(0, helper.make_node("Constant", [], ["total"], **{attribute: value}))
        return values

    return change


def without_tables(model: onnx.ModelProto, values: Values) -> Values:
    model.graph.node[0].attribute.append(helper.make_attribute("do_rotary", 1))
    del model.graph.node[0].input[7:]
    return values


def without_a_position(model: onnx.ModelProto, values: Values) -> Values:
    model.graph.node[0].input[5] = ""
    return values


@pytest.mark.parametrize(
    ("change", "options"),
    [
        (in_a_batch, {}),
        (growing_by_a_node("value"), {"grows": True, "past": 8}),
        (growing_by_a_node("value_int"), {"grows": True, "past": 8}),
        (without_tables, {}),
        (without_a_position, {}),
    ],
)
def test_what_the_reader_refuses_or_appends_keeps_its_caches(change, options):
    data, first = attention(1, 9, **options)
    model = onnx.load_model_from_string(data)
    values = change(model, first)
    assert with_bytes(model.SerializeToString(), values)[1] == ()


def test_metadata_and_other_nodes_stay():
    data, first = attention(1, 6, turned=16)
    model = onnx.load_model_from_string(data)
    model.metadata_props.add(key="solder.state.pk", value="nk")
    made = onnx.load_model_from_string(with_bytes(model.SerializeToString(), first)[0])
    assert [(each.key, each.value) for each in made.metadata_props] == [("solder.state.pk", "nk")]
    assert {each.op_type for each in made.graph.node} >= {"TensorScatter", "Attention", "RotaryEmbedding"}


def stepping(count: int) -> tuple[bytes, Values]:
    """Attention of one position between two products of matrices, before operator set 24."""
    data, first = attention(count, 1 if count == 1 else 4, past=12, turned=16, is_packed=True)
    model, random = onnx.load_model_from_string(data), np.random.default_rng(3)
    weights = {"into": random.normal(0, 0.2, (32, 128)), "out": random.normal(0, 0.2, (64, 8))}
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    model.graph.node.insert(0, helper.make_node("MatMul", ["x", "into"], ["q"]))
    model.graph.node.append(helper.make_node("MatMul", ["y", "out"], ["z"]))
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, count, 32)))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", TensorProto.FLOAT, (1, count, 8)))
    for output, name in zip(model.graph.output[1:], ("pk", "pv"), strict=True):
        output.CopyFrom(helper.make_tensor_value_info(output.name, TensorProto.FLOAT, first[name].shape))
    written: bytes = model.SerializeToString()
    return written, first


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_a_quantized_step_verifies_and_its_caches_take_a_third(
    board, tmp_path, require_tool, require_package
):
    require_package("onnxruntime")
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    path, small = tmp_path / "step.onnx", tmp_path / "small.onnx"
    path.write_bytes(stepping(1)[0])
    answer = deploy.quantize(path, None, small, activation_type="dynamic", io_type="int8")
    assert answer["caches"] == ["pk", "pv"]
    random = np.random.default_rng(4)
    inputs = {
        "x": random.normal(size=(12, 1, 32)).astype(np.float32),
        "last": np.arange(12, dtype=np.int32).reshape(12, 1),
        "total": np.full(12, 12, np.int32),
    }
    verdict = deploy.verify(small, board, inputs=inputs, oracle="ort", state=WITH_SCALES)
    assert verdict.equal
    floats, narrowed = (
        deploy.compile(each, board=board, state=state).report.facts.arena_bytes
        for each, state in ((path, ("pk=nk", "pv=nv")), (small, WITH_SCALES))
    )
    rows, working = 2 * 2 * 12, 512  # vectors of bytes, and rows before they are written
    assert floats - narrowed >= rows * (4 * 16 - (16 + 4)) - working


def test_bytes_for_several_positions_are_refused_before_a_file_is_written(tmp_path):
    path, small = tmp_path / "step.onnx", tmp_path / "small.onnx"
    path.write_bytes(stepping(3)[0])
    with pytest.raises(ModelError, match="takes 3 positions in a run, but caches in bytes need one"):
        deploy.quantize(path, None, small, activation_type="dynamic", io_type="int8")
    assert not small.exists()
    deploy.quantize(path, None, small, activation_type="dynamic")
    assert deploy.compile(small, board="host", state=("pk=nk", "pv=nv")).arena_bytes


def test_an_operator_set_that_cannot_be_converted_is_reported():
    data, first = attention(1, 6)
    model = onnx.load_model_from_string(data)
    model.opset_import[0].version = 5
    model.graph.node.insert(0, helper.make_node("Upsample", ["pk"], ["unused"], scales=[1.0, 1.0, 2.0, 2.0]))
    with pytest.raises(ModelError, match="caches in bytes need operator set 24") as caught:
        with_bytes(model.SerializeToString(), first)
    assert "from 5" in caught.value.what
