"""Scans and loops become one op. Its steps give what ONNX Runtime gives, as loop nests and in C."""

from itertools import chain

import numpy as np
import onnx
import pytest
from model_checks import DSP, MVE, PLAIN, VECTORS, compiled
from onnx_oracle import run_onnx
from row_machine import run_lowered

import deploy
from aot.errors import ModelError
from aot.frontend.onnx.importers.control import OPS_IN_LOOPS
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.text import parse_graph, print_graph
from aot.ir.types import Array
from aot.ops.step_loop import StepLoop
from aot.passes.pipeline import run_meaning
from codegen.lower.lower import lower_graph
from codegen.options import CompileOptions
from platforms.shared_library import build

NEAR = 1e-5  # of the largest result
Outputs = dict[str, Array]
RNG = np.random.default_rng(4)
CONSTANTS: Outputs = {
    "decay": RNG.uniform(0.2, 0.9, (3, 4)).astype(np.float32),
    "square": (RNG.normal(size=(4, 4)) / 3).astype(np.float32),
    "kernel": (RNG.normal(size=(3, 3, 1)) / 4).astype(np.float32),
    "wide": (RNG.normal(size=(3, 3, 3)) / 4).astype(np.float32),
    "slopes": RNG.uniform(0.1, 0.5, (3, 1)).astype(np.float32),
    "gains": RNG.uniform(0.5, 1.5, 4).astype(np.float32),
    "zero": np.zeros((3, 4), np.float32),
    "places": np.array([2, 0, 1]),
    "last": np.array([-1]),
    "shape": np.array([4, 3]),
    "row": np.array([1, 3, 4]),
    "back": np.array([3, 4]),
    "image": np.array([1, 3, 2, 2]),
    "lines": np.array([1, 4, 1, 3]),
    "turns": np.array([[1, 2, 3], [4, 5, 6]] * 2, np.float32).reshape(1, 4, 1, 3),
    "six": np.array(6),
    "seven": np.array(7),
    "twenty": np.array(20.0, np.float32),
    "true": np.array(True),
}
# The statements of a scan's body: hn and y of h and x, all 3 x 4.
BODIES = {
    "diagonal": "k = Mul(h, decay) hn = Add(k, x) y = Relu(hn)",
    "matrix": "k = MatMul(h, square) s = Add(k, x) hn = Tanh(s) y = Sigmoid(hn)",
    "product": "t = Transpose<perm=[1,0]>(h) p = MatMul(h, t) q = MatMul(p, x) hn = Tanh(q) y = Softmax(hn)",
    "sums": "s = ReduceSum<keepdims=1>(h, last) m = ReduceMean<keepdims=1>(x, last) d = Sub(x, m) "
    "n = Div(d, decay) a = Add(n, s) l = Clip(a) hn = Mul(l, decay) e = Tanh(hn) y = Exp(e)",
    "moved": "g = Gather<axis=0>(h, places) c = Concat<axis=1>(g, x) a, b = Split<axis=1, num_outputs=2>(c) "
    "r = Reshape(a, shape) t = Transpose<perm=[1,0]>(r) hn = Add(t, b) y = LeakyRelu(hn)",
    "chosen": "c = Less(h, x) f = Cast<to=1>(c) w = Where(c, h, x) m = Max(w, decay) hn = Mul(m, f) "
    "y = LeakyRelu(hn)",
    "convolved": "r = Reshape(h, row) v = Conv(r, kernel) b = Reshape(v, back) s = Add(b, x) "
    "hn = Tanh(s) y = HardSwish(hn)",
    "einsum": 'e = Einsum<equation="ij,kj->ik">(h, x) s = MatMul(e, x) hn = Tanh(s) y = Mul(s, x)',
    "norm": "sq = Mul(h, h) m = ReduceMean<keepdims=1>(sq, last) r = Sqrt(m) o = Add(r, slopes) "
    "d = Div(h, o) hn = Add(d, x) y = Mul(hn, gains)",
    "rows picked": "r = Reshape(h, image) g = Gather<axis=1>(r, places) b = Reshape(g, back) s = Add(b, x) "
    "hn = Tanh(s) y = Relu(hn)",
    "rows in turns": "r = Reshape(h, lines) t = Add(r, turns) b = Reshape(t, back) s = Sub(b, x) "
    "hn = Tanh(s) y = Relu(hn)",
    "states alone": "hn = Add(h, x) y = Identity(h)",
}


def model(text: str) -> bytes:
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 20]>\n{text}')
    made.graph.initializer.extend(onnx.numpy_helper.from_array(a, name) for name, a in CONSTANTS.items())
    data: bytes = made.SerializeToString()
    return data


def scan(body: str, steps: int = 7, ways: str = "", start: str = "h0") -> bytes:
    line = "float[3,4]"
    return model(f"""net ({line} h0, float[{steps},3,4] u) => ({line} end, float[{steps},3,4] all) {{
        end, all = Scan<num_scan_inputs=1, {ways} body = b ({line} h, {line} x) => ({line} hn, {line} y)
        {{ {body} }}>({start}, u) }}""")


def loop(
    body: str,
    trips: str = "seven",
    outputs: str = "float[3,4] end, float[7,3,4] all",
    more: str = ", float[3,4] y",
) -> bytes:
    names = ", ".join(part.rpartition(" ")[2] for part in outputs.split(", "))
    return model(f"""net (float[3,4] h0, float[7,3,4] u) => ({outputs}) {{
        {names} = Loop<body = b (int64 i, bool c, float[3,4] h) => (bool go, float[3,4] hn{more})
        {{ {body} }}>({trips}, true, h0) }}""")


def loops_of(graph: Graph) -> list[StepLoop]:
    return [node.op for node in graph.nodes if isinstance(node.op, StepLoop)]


def samples_of(graph: Graph) -> Outputs:
    rng = np.random.default_rng(3)
    return {name: rng.normal(size=graph.types[name].shape).astype(np.float32) for name in graph.inputs}


def are_near(made: Outputs, wanted: Outputs) -> bool:
    pairs = [(made[name].reshape(-1), array.reshape(-1)) for name, array in wanted.items()]
    return all(
        np.allclose(one, other, rtol=0, atol=NEAR * max(1.0, np.abs(other).max())) for one, other in pairs
    )


def check(data: bytes) -> Graph:
    """Returns the graph, which has one loop and gives what ONNX Runtime gives, also as loop nests."""
    graph = read_onnx(data, "net.onnx")
    assert len(loops_of(graph)) == 1
    inputs = samples_of(graph)
    wanted = dict(zip(graph.outputs, run_onnx(data, inputs), strict=True))
    assert are_near(run_graph(graph, inputs), wanted)
    for target in (PLAIN, DSP, MVE, VECTORS):
        assert are_near(
            run_lowered(lower_graph(run_meaning(graph).graph, target, CompileOptions()), inputs), wanted
        )
    return graph


LOOPS = {
    **{name: scan(body) for name, body in BODIES.items()},
    "backwards": scan(BODIES["diagonal"], ways="scan_input_directions=[1], scan_output_directions=[1],"),
    "from zero": scan(BODIES["diagonal"], start="zero"),
    "from numbers": scan(BODIES["matrix"], start="decay"),
    "a loop": loop("go = Identity(c) x = Gather(u, i) hn = Add(h, x) y = Tanh(hn)"),
    "a loop that the run ends": loop(
        "x = Mul(h, h) hn = Add(h, x) s = ReduceSum<keepdims=0>(hn) go = Less(s, twenty)",
        outputs="float[3,4] end",
        more="",
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_gives_what_onnx_runtime_gives(name):
    check(LOOPS[name])


def test_these_bodies_have_every_op_that_a_loop_may_have():
    graphs = [read_onnx(data, "net.onnx") for data in LOOPS.values()]
    found = {node.op.name for graph in graphs for loop in loops_of(graph) for node in loop.graph.nodes}
    assert found == OPS_IN_LOOPS


@pytest.mark.cc
@pytest.mark.slow
def test_loops_in_c_give_what_the_reference_gives(tmp_path):
    for number, data in enumerate(LOOPS.values()):
        graph = read_onnx(data, "net.onnx")
        host = build(compiled(graph, PLAIN, CompileOptions(), "loop").sources, tmp_path / str(number))
        host.arenas[0][:] = 0xA5
        inputs = samples_of(graph)
        assert are_near(host.run(inputs), run_graph(graph, inputs))


def test_a_state_space_model_of_64_steps_has_few_stages():
    """Its states are kept for one step, and so are the rows before and after it."""
    graph = read_onnx(scan(BODIES["diagonal"], steps=64), "net.onnx")
    made = compiled(graph, DSP, CompileOptions(), "ssm")
    assert len(made.layers) <= 20
    assert len(loops_of(graph)) == 1


OTHER_KERNELS = {
    "an op without a kernel for loops": "k = CumSum(h, last)",
    "padding": "r = Reshape(h, row) v = Conv<pads=[1,1]>(r, wide) k = Reshape(v, back)",
}


@pytest.mark.parametrize("name", OTHER_KERNELS)
def test_bodies_that_need_other_kernels_are_unrolled(name):
    """Nothing of the first attempt remains, so that names are those of unrolled steps."""
    data = scan(f"{OTHER_KERNELS[name]} s = Mul(k, decay) hn = Add(s, x) y = Relu(hn)")
    graph = read_onnx(data, "net.onnx")
    assert not loops_of(graph)
    assert not [name for name in graph.types if "/each" in name]
    inputs = samples_of(graph)
    assert are_near(run_graph(graph, inputs), dict(zip(graph.outputs, run_onnx(data, inputs), strict=True)))


@pytest.mark.parametrize(
    ("ways", "reason"),
    [
        ("scan_input_directions=[1,1,1],", "3, 1, 1] axes and directions are listed for 1 inputs"),
        ("scan_input_axes=[0,0],", "2, 1, 1, 1] axes and directions are listed for 1 inputs"),
    ],
)
def test_a_scan_whose_lists_do_not_fit_is_refused(ways, reason):
    with pytest.raises(ModelError) as caught:
        read_onnx(scan(BODIES["diagonal"], ways=ways), "net.onnx")
    assert reason in caught.value.what


def test_a_scan_whose_body_lacks_a_state_is_refused():
    file = onnx.load_from_string(scan(BODIES["diagonal"]))
    (body,) = (each.g for each in file.graph.node[0].attribute if each.name == "body")
    del body.output[:]
    with pytest.raises(ModelError, match="its body has 0 outputs for 1 states"):
        read_onnx(file.SerializeToString(), "net.onnx")


UNROLLED = {
    "it has 2 steps, and only 3 or more become a loop": scan(BODIES["diagonal"], steps=2),
    'its body needs the operator cumulate ("': scan("k = CumSum(h, last) hn = Add(k, x) y = Relu(hn)"),
    'its body pads the image of conv2d ("': scan(
        "r = Reshape(h, row) v = Conv<pads=[1,1]>(r, wide) k = Reshape(v, back) hn = Add(k, x) y = Relu(hn)"
    ),
    "its states must be float32, one is int64": model("""net (int64[3] h0, int64[7,3] u) => (int64[3] end) {
        end = Scan<num_scan_inputs=1, body = b (int64[3] h, int64[3] x) => (int64[3] hn) {
            hn = Add(h, x) }>(h0, u) }"""),
    "it has no trip count of at most 4,096": loop(
        "go = Less(i, six) x = Gather(u, i) hn = Add(h, x)", trips="", outputs="float[3,4] end", more=""
    ),
}


@pytest.mark.parametrize("reason", UNROLLED)
def test_a_loop_that_is_unrolled_says_why(reason, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(UNROLLED[reason])
    found = deploy.inspect(path)
    (line,) = [line for line in found.page().splitlines() if line.startswith("  unrolled")]
    assert reason in line
    assert found.job is not None
    assert not loops_of(found.job.model.graph)
    (told,) = found.as_json()["unrolled"].items()
    assert line == f"  unrolled   {told[0]}: {told[1]}"


def test_a_loop_that_is_one_layer_needs_no_reason():
    assert not read_onnx(LOOPS["matrix"], "net.onnx").unrolled


def test_a_loop_is_the_same_after_its_text():
    graph = read_onnx(LOOPS["matrix"], "net.onnx")
    text = print_graph(graph)
    again = parse_graph(text)
    assert print_graph(again) == text
    assert loops_of(again) == loops_of(graph)
    assert {node.op.name for node in chain(*(op.graph.nodes for op in loops_of(again)))} >= {"tanh"}
