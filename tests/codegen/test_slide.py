"""The C of a hop gives what the original model gives for the whole window, and streams stay apart."""

import ctypes
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_checks import Check, failures_on_board, failures_on_host
from model_checks import DSP, MVE, OPTIONS, PLAIN, VECTORS, compiled, state_check
from sliding_nets import NETS, drawn_rows, hop_model, hops_of, rows_axis, whole_windows

import deploy
from aot.backs.attach import with_back
from aot.errors import InputError, ModelError
from aot.frontend.load import load_model
from aot.interpret import run_series
from aot.ir.graph import Graph
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions, read_options
from deploy.python_api.model import read_artifact
from platforms.shared_library import build

HOST = Target("host", pointer_bytes=8)
SOME = ("strided", "branches", "sixteen_bits")
OK, NULL, MORE_ROWS = 0, 1, 3  # NET_OK, NET_ERROR_NULL, NET_MORE_ROWS


def hops_check(name: str, number: int, graph: Graph, hop: int, target: Target, further: int) -> Check:
    """Before the window is full, the reference of a hop tells the results; then that of the whole window."""
    step = hop_model(graph, hop)
    assert step.window is not None
    axis = rows_axis(graph, step)
    rows = drawn_rows(step, axis, (step.window.hops + further) * hop)
    samples = hops_of(step, rows, axis)
    filling = list(run_series(step, samples))[: step.window.hops - 1]
    full = [
        {n: array.reshape(step.types[n].shape) for n, array in each.items()}
        for each in whole_windows(graph, step, rows, axis)
    ]
    model = compiled(step, target, OPTIONS["speed"], f"k{number}")
    return state_check(f"{name}.{hop}", model, samples, [*filling, *full])


def net_checks(names: Iterable[str], target: Target, further: int) -> list[Check]:
    return [
        hops_check(name, number, NETS[name].graph(), NETS[name].hops[0], target, further)
        for number, name in enumerate(names)
    ]


def keyword_check(shared_dir: Path, target: Target, further: int) -> Check:
    graph = load_model(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite")
    return hops_check("keywords", 99, graph, 2, target, further)


@pytest.mark.cc
def test_this_computer_gives_whole_windows_in_every_bit(tmp_path):
    checks = net_checks([name for name in NETS if name != "floats"], PLAIN, further=12)
    assert failures_on_host(checks, tmp_path / "checks") == {}


@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize(
    ("board", "target", "tools"),
    [
        ("mps2-an386", DSP, ("arm-none-eabi-gcc", "qemu-system-arm")),
        ("mps3-an547", MVE, ("arm-none-eabi-gcc", "qemu-system-arm")),
        ("qemu-riscv32-vectors", VECTORS, ("qemu-system-riscv32",)),
    ],
    ids=["cortex-m4", "cortex-m55", "riscv"],
)
def test_emulated_cores_give_whole_windows_in_every_bit(
    board, target, tools, shared_dir, require_tool, require_package, tmp_path
):
    require_tool(*tools)
    if target is VECTORS:
        require_package("ziglang")
    checks = [
        keyword_check(shared_dir, target, further=3),
        *net_checks(SOME, target, further=3),
    ]
    assert failures_on_board(checks, tmp_path / "checks", board) == {}


class Streams:
    """The functions of a compiled model, called as a C program calls them."""

    def __init__(self, step: Graph, directory: Path, stream: bool = False) -> None:
        made = compiled(step, HOST, CompileOptions(stream=stream, caller_owns_io=True), "net")
        build(made.sources, directory)
        (library,) = directory.glob("*.so")
        self._library = ctypes.CDLL(str(library))
        self.step, self.arena_bytes = step, made.plan.arena_bytes
        self.outputs = [step.types[name] for name in step.outputs]

    def arena(self) -> Any:
        """Memory full of garbage: nothing but a reset makes its states right."""
        return np.full(self.arena_bytes // 8 + 1, 0xA5A5_A5A5_A5A5_A5A5, np.uint64)

    def push(
        self, window: object, rows: Any, arena: Any, function: str = "push_rows"
    ) -> tuple[int, list[Any]]:
        """Returns the status and the outputs."""
        made = [np.zeros(kind.shape, kind.dtype.numpy) for kind in self.outputs]
        given = None if rows is None else np.ascontiguousarray(rows).ctypes.data
        inputs = ctypes.byref(ctypes.c_void_p(given)) if function == "push_rows" else ctypes.c_void_p(given)
        outputs = (ctypes.c_void_p * len(made))(*(each.ctypes.data for each in made))
        call = getattr(self._library, f"net_{function}")
        status = call(window, inputs, ctypes.byref(outputs), ctypes.c_void_p(arena.ctypes.data))
        return status, made


@pytest.mark.cc
@pytest.mark.parametrize(("name", "hop"), [("same", 3), ("floats", 2)])
def test_streams_with_an_arena_each_give_their_own_windows(name, hop, tmp_path):
    """Two streams take turns; the second is a hop behind, and begins anew in the middle."""
    graph = NETS[name].graph()
    step = hop_model(graph, hop)
    assert step.window is not None
    model, hops, axis = Streams(step, tmp_path), step.window.hops, rows_axis(graph, step)
    rows = [drawn_rows(step, axis, (hops + 20) * hop, seed) for seed in range(3)]
    windows = [list(whole_windows(graph, step, each, axis)) for each in rows]
    arenas, counters = [model.arena(), model.arena()], [ctypes.c_uint32(0), ctypes.c_uint32(0)]
    taken, series = [0, 0], [0, 1]
    for turn in range(2 * hops + 12):
        for stream in (0, 1) if turn else (0,):
            if (turn, stream) == (hops + 5, 1):
                counters[1].value, taken[1], series[1] = 0, 0, 2
            number, source = taken[stream], rows[series[stream]]
            if (number + 1) * hop > source.shape[axis]:
                continue
            new = np.take(source, range(number * hop, (number + 1) * hop), axis)
            status, (made,) = model.push(ctypes.byref(counters[stream]), new, arenas[stream])
            taken[stream] += 1
            assert status == (OK if number + 1 >= hops else MORE_ROWS)
            if status == OK:
                (wanted,) = windows[series[stream]][number + 1 - hops].values()
                is_exact = wanted.dtype.kind != "f"
                assert np.allclose(made, wanted, rtol=0 if is_exact else 1e-4, atol=0 if is_exact else 1e-5)
    assert min(taken) > hops


@pytest.mark.cc
def test_a_null_pointer_is_an_error_and_takes_no_rows(tmp_path):
    step = hop_model(NETS["same"].graph(), 3)
    model = Streams(step, tmp_path)
    counter, arena = ctypes.c_uint32(0), model.arena()
    rows = drawn_rows(step, 1, 3)
    assert model.push(None, rows, arena)[0] == NULL
    assert model.push(ctypes.byref(counter), None, arena)[0] == NULL
    assert counter.value == 0
    assert model.push(ctypes.byref(counter), rows, arena)[0] == MORE_ROWS
    assert counter.value == 1


@pytest.mark.cc
def test_rows_may_be_pushed_one_by_one(tmp_path):
    graph = NETS["same"].graph()
    step = hop_model(graph, 3)
    assert step.window is not None
    model = Streams(step, tmp_path, stream=True)
    arena, position = model.arena(), ctypes.create_string_buffer(1024)  # the struct, all zero
    rows = drawn_rows(step, 1, (step.window.hops + 4) * 3)
    windows = whole_windows(graph, step, rows, 1)
    for number in range(rows.shape[1]):
        status, (made,) = model.push(position, rows[0, number], arena, "push_row")
        is_due = (number + 1) % 3 == 0 and (number + 1) // 3 >= step.window.hops
        assert status == (OK if is_due else MORE_ROWS)
        if is_due:
            assert np.array_equal(made, next(windows)["dense_4"])


@pytest.mark.cc
def test_averages_of_decisions_begin_with_the_first_full_window(tmp_path):
    """A back end averages the scores of full windows only: those before it come from no window at all."""
    graph = NETS["valid"].graph()
    step = with_back(hop_model(graph, 8), "classes:average=2")
    assert step.window is not None
    model, hops = Streams(step, tmp_path), step.window.hops
    counter, arena = ctypes.c_uint32(0), model.arena()
    rows = drawn_rows(step, 1, (hops + 3) * 8)
    ends = range(hops * 8, rows.shape[1] + 1, 8)
    windows = [{"rows": rows[:, end - step.window.rows : end]} for end in ends]
    wanted = list(run_series(with_back(graph, "classes:average=2"), windows))
    for number, new in enumerate(np.split(rows, hops + 3, 1)):
        status, made = model.push(ctypes.byref(counter), new, arena)
        assert status == (OK if number + 1 >= hops else MORE_ROWS)
        if status == OK:
            due = wanted[number + 1 - hops].values()
            assert [each.tolist() for each in made] == [each.tolist() for each in due]


def test_the_header_has_the_window():
    header = compiled(hop_model(NETS["same"].graph(), 3), HOST, CompileOptions(), "net").sources["net.h"]
    for line in ("NET_WINDOW_ROWS 21u", "NET_HOP_ROWS 3u", "NET_WINDOW_HOPS 7u", "int32_t net_push_rows("):
        assert line in header


@pytest.mark.parametrize("given", [0, -1, 2.5, "two", "0", True])
def test_a_hop_is_a_number_of_rows(given):
    with pytest.raises(InputError, match="number of rows from 1 on"):
        read_options({"slide": given})


def test_the_option_changes_the_model_that_is_compiled(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(NETS["strided"].make())
    job = read_job(path, HOST, read_options({"slide": "4"}))
    assert job.model.graph.window is not None
    assert compile_job(job).inputs[0].type.shape == (1, 4, 7, 1)
    with pytest.raises(ModelError, match="nearest: --slide 4 or --slide 8"):
        read_job(path, HOST, read_options({"slide": 6}))


def test_an_archive_keeps_the_window(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(NETS["strided"].make())
    saved = tmp_path / "net.tar"
    deploy.compile(path, board="host", slide=4).save(saved)
    read = read_artifact(saved)
    window = read_job(path, HOST, read_options({"slide": 4})).model.graph.window
    assert window is not None
    assert read.facts.window == read.imported.window == window
    assert read.facts.state_bytes == sum(state.initial.nbytes for state in read.imported.states)
