"""Caches in the forms that exporters write: updated in place, without a copy and without a second buffer."""

import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_files import onnx_file

import deploy
from aot.errors import InputError

HEADS, ROWS, WIDTH = 2, 48, 32
CACHE = [1, HEADS, ROWS, WIDTH]
node = helper.make_node
TABLES = {
    "all": np.arange(ROWS),
    "row": np.array([1, HEADS, 1, WIDTH]),
    "along": np.array([1, 1, ROWS, 1]),
    "one": np.array([1]),
    "end": np.array([ROWS + 1]),
    "axis": np.array([2]),
    "zero": np.array(0.0, np.float32),
    "never": np.array(-1e9, np.float32),
}
# From the cache "past", the row "k" [1, heads, 1, width] and "pos" [1] to "present".
FORMS: dict[str, Sequence[NodeProto]] = {
    "scatter_nd": (
        node("Transpose", ["past"], ["by_row"], perm=[2, 0, 1, 3]),
        node("Unsqueeze", ["pos", "one"], ["places"]),
        node("Transpose", ["k"], ["k_by_row"], perm=[2, 0, 1, 3]),
        node("ScatterND", ["by_row", "places", "k_by_row"], ["written"]),
        node("Transpose", ["written"], ["present"], perm=[1, 2, 0, 3]),
    ),
    "scatter_elements": (
        node("Expand", ["pos", "row"], ["places"]),
        node("ScatterElements", ["past", "places", "k"], ["present"], axis=2),
    ),
    "where": (
        node("Equal", ["all", "pos"], ["is_here"]),
        node("Reshape", ["is_here", "along"], ["mask"]),
        node("Where", ["mask", "k", "past"], ["present"]),
    ),
    "slice_and_concat": (
        node("Slice", ["past", "one", "end", "axis"], ["later"]),
        node("Concat", ["later", "k"], ["present"], axis=2),
    ),
    "concat_and_slice": (
        node("Concat", ["past", "k"], ["joined"], axis=2),
        node("Slice", ["joined", "one", "end", "axis"], ["present"]),
    ),
}
ATTENTION = (
    node("Transpose", ["present"], ["columns"], perm=[0, 1, 3, 2]),
    node("MatMul", ["k", "columns"], ["scores"]),
    node("LessOrEqual", ["all", "pos"], ["is_past"]),
    node("Where", ["is_past", "zero", "never"], ["bias"]),
    node("Add", ["scores", "bias"], ["seen"]),
    node("Softmax", ["seen"], ["shares"], axis=-1),
    node("MatMul", ["shares", "present"], ["y"]),
)


def attention(form: str) -> bytes:
    given = {"k": [1, HEADS, 1, WIDTH], "pos": np.zeros(1, np.int64), "past": CACHE}
    made = {"y": [1, HEADS, 1, WIDTH], "present": CACHE}
    return onnx_file([*FORMS[form], *ATTENTION], given, made, TABLES)


def wanted(file: bytes, states: dict[str, str], inputs: dict[str, Any], shapes: dict[str, Any]) -> Any:
    """Returns y of each run, with states passed on by hand."""
    reference = ReferenceEvaluator(helper.ModelProto.FromString(file))
    kept, found = {n: np.zeros(shape, np.float32) for n, shape in shapes.items()}, []
    for run in zip(*inputs.values(), strict=True):
        made = reference.run(None, dict(zip(inputs, run, strict=True)) | kept)
        results = dict(zip(reference.output_names, made, strict=True))
        kept = {n: results[becomes] for n, becomes in states.items()}
        found.append(results["y"])
    return np.stack(found)


@pytest.mark.cc
@pytest.mark.parametrize("form", FORMS)
def test_a_cache_is_written_in_place(form, tmp_path):
    file, states = tmp_path / "attention.onnx", {"past": "present"}
    file.write_bytes(attention(form))
    rng, runs = np.random.default_rng(2), ROWS + 4
    positions = np.arange(runs)[:, None] % ROWS
    inputs: dict[str, Any] = {
        "k": rng.standard_normal((runs, 1, HEADS, 1, WIDTH)).astype(np.float32),
        "pos": positions,
    }
    facts = deploy.compile(file, "host", state=states).artifact.facts
    bytes_kept = 4 * HEADS * ROWS * WIDTH
    assert facts.state_bytes == bytes_kept
    assert facts.memory.arena_bytes <= 1.15 * bytes_kept
    assert not any("keep" in layer.name for layer in facts.layers)
    made: Any = deploy.run(file, inputs, "host", state=states).outputs["y"]
    expected = wanted(file.read_bytes(), states, inputs, {"past": CACHE})
    np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.arm
@pytest.mark.qemu
def test_a_benchmark_runs_at_a_position_within_the_cache(tmp_path):
    file = tmp_path / "attention.onnx"
    file.write_bytes(attention("where"))
    facts = deploy.bench(file, "mps2-an386", median_of=1, layers=True, state={"past": "present"}).facts
    assert facts["instructions"] > 0


def convolutions() -> bytes:
    """Two causal convolutions with dilation: a cache of the newest columns before each."""
    rng = np.random.default_rng(5)
    nodes, tables, width = list[NodeProto](), {"axis": np.array([2]), "end": np.array([99])}, 3
    value = "x"
    for number, (dilation, channels) in enumerate(((2, 8), (4, 6))):
        tables[f"w{number}"] = (rng.standard_normal((channels, width, 3)) / 3).astype(np.float32)
        tables[f"from{number}"] = np.array([1])
        nodes += [
            node("Concat", [f"c{number}_in", value], [f"all{number}"], axis=2),
            node("Slice", [f"all{number}", f"from{number}", "end", "axis"], [f"c{number}_out"]),
            node("Conv", [f"all{number}", f"w{number}"], [f"a{number}"], dilations=[dilation]),
            node("Relu", [f"a{number}"], [f"y{number}"]),
        ]
        value, width = f"y{number}", channels
    nodes.append(node("Identity", [value], ["y"]))
    shapes = {"c0": [1, 3, 4], "c1": [1, 8, 8]}
    given = {"x": [1, 3, 1], **{f"{n}_in": s for n, s in shapes.items()}}
    made = {"y": [1, 6, 1], **{f"{n}_out": s for n, s in shapes.items()}}
    return onnx_file(nodes, given, made, tables)


@pytest.mark.cc
def test_caches_of_convolutions_keep_rows_and_are_not_transposed(tmp_path):
    file, states = tmp_path / "convolutions.onnx", {"c0_in": "c0_out", "c1_in": "c1_out"}
    file.write_bytes(convolutions())
    inputs = {"x": np.random.default_rng(6).standard_normal((1000, 1, 3, 1)).astype(np.float32)}
    facts = deploy.compile(file, "host", state=states).artifact.facts
    ops = [layer.op for layer in facts.layers]
    assert "rearrange" not in ops
    assert ops.count("shift_rows") == 2
    assert facts.state_bytes == 4 * (3 * 5 + 8 * 9)
    made: Any = deploy.run(file, inputs, "host", state=states).outputs["y"]
    expected = wanted(file.read_bytes(), states, inputs, {"c0_in": [1, 3, 4], "c1_in": [1, 8, 8]})
    np.testing.assert_allclose(made.reshape(expected.shape), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.cc
def test_a_cache_that_is_read_after_it_was_written_is_copied_first(tmp_path):
    file, states = tmp_path / "both.onnx", {"past": "present"}
    nodes = [*FORMS["scatter_elements"], node("Sub", ["present", "past"], ["y"])]
    given = {"k": [1, HEADS, 1, WIDTH], "pos": np.zeros(1, np.int64), "past": CACHE}
    file.write_bytes(onnx_file(nodes, given, {"y": CACHE, "present": CACHE}, TABLES))
    rows = np.random.default_rng(7).standard_normal((3, 1, HEADS, 1, WIDTH)).astype(np.float32)
    inputs = {"k": rows, "pos": np.array([[4], [4], [47]])}
    made: Any = deploy.run(file, inputs, "host", state=states).outputs["y"]
    expected = wanted(file.read_bytes(), states, inputs, {"past": CACHE})
    np.testing.assert_array_equal(made.reshape(expected.shape), expected)


@pytest.mark.cc
@pytest.mark.parametrize("form", ["scatter_nd", "scatter_elements"])
def test_a_position_beyond_the_cache_is_refused_and_changes_nothing(form, tmp_path):
    file, states = tmp_path / "attention.onnx", {"past": "present"}
    file.write_bytes(attention(form))
    compiled = deploy.compile(file, "host", state=states)
    k = np.ones((1, HEADS, 1, WIDTH), np.float32)
    for position in (ROWS, -ROWS - 1, 2**40):
        with pytest.raises(InputError, match=f"position {position} .* outside of -{ROWS} to {ROWS - 1}"):
            deploy.run(file, {"k": k, "pos": np.array([position])}, "host", state=states)
    (tmp_path / "main.c").write_text(
        """#include "attention.h"
#include <string.h>
static uint8_t arena[ATTENTION_ARENA_BYTES] ATTENTION_ALIGN, before[ATTENTION_ARENA_BYTES];
static float k[ATTENTION_K_ELEMENTS], y[ATTENTION_Y_ELEMENTS];
int main(void)
{
    int64_t pos[1] = {ATTENTION_POS_MOST};
    const struct attention_inputs in = {k, pos};
    const struct attention_outputs out = {y};
    attention_reset(arena);
    if (attention_run(&in, &out, arena) != ATTENTION_OK) {
        return 1;
    }
    memcpy(before, arena, sizeof arena);
    pos[0] = ATTENTION_POS_MOST + 1;
    if (attention_run(&in, &out, arena) != ATTENTION_ERROR_POSITION) {
        return 2;
    }
    pos[0] = ATTENTION_POS_LEAST - 1;
    if (attention_run(&in, &out, arena) != ATTENTION_ERROR_POSITION) {
        return 3;
    }
    return memcmp(before, arena, sizeof arena) == 0 ? 0 : 4;
}
"""
    )
    files = {**compiled.artifact.headers, **compiled.artifact.sources}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    sources = sorted(str(path) for path in tmp_path.glob("*.c") if "describe" not in path.name)
    subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", *sources, "-o", "main", "-lm"],
        cwd=tmp_path,
        check=True,
    )
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == 0
