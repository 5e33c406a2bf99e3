"""Firmware of several models, with layers that are calls, and from archives."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from calls import Larger, maxima, random_inputs, used_for
from tiny_models import TINY

from aot.errors import InputError
from aot.frontend.load import load_model
from aot.interpret import run_graph
from artifact.archive import read_archive, write_archive
from artifact.artifact import artifact_of
from boards.board import Board
from codegen.c.arenas import Arena
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job, read_job
from codegen.kernels.kernel import MemoryDemand
from codegen.options import CompileOptions
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.elf import symbols
from platforms.line_deadlines import deadlines_for
from platforms.project import App, ProjectSource, project_source, share_firmware
from platforms.rpc.messages import Expected, RemoteModel
from platforms.rpc.session import Session

TOOLS = {"host": ("gcc",), "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm")}


def source(board: Board, name: str) -> ProjectSource:
    model = ImportedModel(maxima(), f"{name}.tflite", "00" * 32, name)
    return project_source(artifact_of(compile_job(Job(model, board.target, CompileOptions()))))


def called_behind_another(board: Board) -> ProjectSource:
    """Two models: the first is computed by loops, the second by calls that demand whole cache lines."""
    plain = source(board, "plain")
    with used_for("combine", Larger(MemoryDemand(align=64)).strategy):
        return share_firmware(plain, [source(board, "calling")])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("host", marks=pytest.mark.cc),
        pytest.param("mps2-an386", marks=(pytest.mark.arm, pytest.mark.qemu)),
    ],
)
def test_models_of_loops_and_of_calls_give_the_reference_s_bits(name, require_tool, tmp_path):
    require_tool(*TOOLS[name])
    board = load_board(name)
    platform = platform_of(board)
    platform.generate(called_behind_another(board), tmp_path / "p", board, App.RPC)
    firmware = platform.build(tmp_path / "p", board, BuildChoices(TOOLS[name][0]))
    inputs = random_inputs()
    wanted = run_graph(maxima(), inputs)["y"].tobytes()
    line = platform.open_line(firmware, board)
    session = Session(line, deadlines_for(line, board))
    try:
        session.hello()
        for model in session.describe():
            for number, key in enumerate(inputs):
                session.write_input(model, number, inputs[key].tobytes())
            session.run(model)
            assert session.read_output(model, 0) == wanted, model.name
    finally:
        session.close()


def test_the_arena_of_several_models_begins_where_each_of_them_demands():
    board = load_board("mps2-an386")
    files = platform_of(board).files(called_behind_another(board), board, App.RPC)
    (line,) = (
        text for text in files["src/models.c"].splitlines() if text.startswith("uint8_t solder_arena[")
    )
    assert "] PLAIN_ALIGN CALLING_ALIGN;" in line


DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
BOARDS = {"host": ("gcc",), "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm")}


def digits_source(board: str) -> ProjectSource:
    job = read_job(DIGITS, load_board(board).target, CompileOptions())
    return project_source(artifact_of(compile_job(job)))


def output_of(session: Session, model: RemoteModel, data: bytes) -> bytes:
    session.write_input(model, 0, data)
    session.run(model)
    return session.read_output(model, 0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("host", marks=pytest.mark.cc),
        pytest.param("mps2-an386", marks=(pytest.mark.arm, pytest.mark.qemu)),
    ],
)
def test_two_models_take_turns_in_one_arena(name, tiny, require_tool, tmp_path):
    require_tool(*BOARDS[name])
    digits, board = digits_source(name), load_board(name)
    both = share_firmware(digits, [replace(tiny, c_flags=digits.c_flags)])
    assert both.arena_bytes == digits.arena_bytes > tiny.arena_bytes
    platform = platform_of(board)
    platform.generate(both, tmp_path / "p", board, App.RPC)
    firmware = platform.build(tmp_path / "p", board, BuildChoices(BOARDS[name][0]))
    graph = load_model(DIGITS, "tflm")
    images = np.load(DIGITS.with_name("digits_test.npz"))["image"][:3]
    line = platform.open_line(firmware, board)
    session = Session(line, deadlines_for(line, board))
    try:
        session.hello()
        first, second = session.describe()
        assert (first.name, second.name) == ("digits", "tiny")
        for turn, image in enumerate(images):
            (wanted,) = run_graph(graph, {graph.inputs[0]: image.reshape(1, 8, 8, 1)}).values()
            assert output_of(session, first, image.tobytes()) == wanted.tobytes()
            assert output_of(session, second, bytes([turn, 1, 2, 3])) == bytes([turn + 1, 2, 3, 4])
    finally:
        session.close()


def test_the_shared_arena_of_a_standalone_program_is_the_largest(tiny):
    other = replace(tiny, name="other", arenas=(Arena("arena", "", 96),), sources={}, headers={})
    board = load_board("mps2-an386")
    files = platform_of(board).files(share_firmware(tiny, [other]), board, App.STANDALONE)
    assert "uint8_t solder_arena[96] TINY_ALIGN;" in files["src/main.c"]


def test_two_models_of_one_name_are_refused(tiny):
    with pytest.raises(InputError, match='two of the models are named "tiny"'):
        share_firmware(tiny, [tiny])


def test_models_that_want_other_compiler_options_are_refused(tiny):
    other = replace(tiny, name="other", c_flags=("-Os",))
    with pytest.raises(InputError, match="tiny must be compiled with -O2, other with -Os"):
        share_firmware(tiny, [other])


def test_the_server_tells_counters_where_any_of_the_models_counts(tiny):
    other, board = (
        replace(tiny, name="other", sources={}, headers={}, observes=True),
        load_board("mps2-an386"),
    )
    told = {
        "neither": share_firmware(tiny, [replace(other, observes=False)]),
        "the second": share_firmware(tiny, [other]),
        "the first": share_firmware(other, [tiny]),
    }
    flags = {
        which: "-DSOLDER_OBSERVED" in platform_of(board).files(source, board, App.RPC)["flags/compile"]
        for which, source in told.items()
    }
    assert flags == {"neither": False, "the second": True, "the first": True}


AN386 = load_board("mps2-an386")


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "classifier.tflite").write_bytes(TINY["classifier"]())
    compiled = compile_job(read_job(folder / "classifier.tflite", AN386.target, CompileOptions()))
    write_archive(artifact_of(compiled), folder / "classifier.tar")
    return read_archive(folder / "classifier.tar")


def test_a_project_holds_what_its_archive_says(archive):
    source = project_source(archive)
    assert {"classifier.c", "classifier_weights.c", "classifier_describe.c"} <= source.sources.keys()
    assert "classifier.h" in source.headers
    facts = archive.facts
    assert (source.inputs, source.outputs, source.callers) == (facts.inputs, facts.outputs, ())
    assert (source.arena_bytes, source.model_hash) == (facts.arena_bytes, facts.model_hash)


@pytest.mark.arm
@pytest.mark.qemu
def test_firmware_of_an_archive_computes_what_the_reference_computes(archive, tmp_path):
    platform = platform_of(AN386)
    platform.generate(project_source(archive), tmp_path / "p", AN386, App.RPC)
    firmware = platform.build(tmp_path / "p", AN386, BuildChoices("arm-none-eabi-gcc"))
    given = archive.facts.inputs[0]
    data = np.random.default_rng(7).integers(-128, 128, given.type.shape, dtype=np.int8)
    expected = run_graph(archive.graph, {given.name: data})[archive.facts.outputs[0].name]
    device = Session(platform.open_line(firmware, AN386, "qemu"))
    try:
        device.hello()
        model = device.find_model(Expected(archive.name, bytes.fromhex(archive.facts.model_hash)))
        device.write_input(model, 0, data.tobytes())
        device.run(model)
        assert device.read_output(model, 0) == expected.tobytes()
    finally:
        device.close()


@pytest.mark.arm
def test_firmware_has_as_many_bytes_of_constants_as_its_artifact_says(tmp_path):
    """So what is left of read-only memory is code."""
    (tmp_path / "classifier.tflite").write_bytes(TINY["classifier"]())
    model = compile_job(read_job(tmp_path / "classifier.tflite", AN386.target, CompileOptions()))
    artifact, platform = artifact_of(model), platform_of(AN386)
    platform.generate(project_source(artifact), tmp_path / "p", AN386, App.STANDALONE)
    elf = platform.build(tmp_path / "p", AN386, BuildChoices("arm-none-eabi-gcc")).elf
    held = {symbol.name: symbol.bytes for symbol in symbols(elf) if symbol.name in model.constants.arrays}
    assert sum(held.values()) == artifact.facts.constants_bytes
    assert held.keys() == model.constants.arrays.keys()
