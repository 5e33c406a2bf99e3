"""The files of a generated project, without any tool."""

import json
from dataclasses import replace

import pytest
from error_facts import require_facts
from every_board import EVERY_BOARD

from aot.errors import BoardError, FitError, OutputError
from aot.ir.types import DType, TensorType
from boards.board import Board
from codegen.c.arenas import Arena
from deploy.devices.buildable_boards import platform_for
from platforms import PLATFORMS
from platforms.base import platform_of
from platforms.board_files import load_board
from platforms.folder import is_project, read_project, write_project
from platforms.project import App, ProjectSource

BOARDS = [board for board in EVERY_BOARD if any(name in PLATFORMS for name in board.platforms)]
AN386 = load_board("mps2-an386")
HOST = load_board("host")


def files_of(source: ProjectSource, board: Board, app: App = App.RPC) -> dict[str, str]:
    return dict(platform_for(board).files(source, board, app))


@pytest.mark.slow
@pytest.mark.parametrize("app", [App.RPC, App.STANDALONE])
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_every_board_gives_a_project(tiny, board, app):
    files = files_of(tiny, board, app)
    assert {"README.md", "project.json", ".gitignore"} <= files.keys()
    assert tiny.sources["tiny.c"] in files.values()
    assert all(text.endswith("\n") for text in files.values() if text)


def test_the_same_input_gives_the_same_files(tiny):
    assert files_of(tiny, AN386) == files_of(tiny, AN386)


def test_the_build_id_follows_the_models_content(tiny):
    other = replace(tiny, sources={**tiny.sources, "tiny.c": tiny.sources["tiny.c"] + "\n"})
    assert files_of(tiny, AN386)["src/models.c"] != files_of(other, AN386)["src/models.c"]


def test_a_standalone_project_holds_no_server(tiny):
    files = files_of(tiny, AN386, App.STANDALONE)
    assert not any("server" in name or "session" in name or "describe" in name for name in files)
    assert "src/models.c" not in files


@pytest.mark.parametrize(
    ("app", "offered", "refused"),
    [
        (App.RPC, "deploy run . --inputs", "deploy monitor"),
        (App.STANDALONE, "deploy monitor .", "deploy run"),
    ],
)
def test_the_readme_offers_what_the_program_can_do(tiny, app, offered, refused):
    text = files_of(tiny, HOST, app)["README.md"]
    assert f"\n    {offered}" in text
    assert refused not in text.replace("`deploy run`", "")


def test_the_linker_script_has_the_boards_regions(tiny):
    script = files_of(tiny, load_board("mps3-an547"))["board.ld"]
    assert "    FLASH (rx) : ORIGIN = 0x00000000, LENGTH = 524288\n" in script
    assert "    SRAM (rwx) : ORIGIN = 0x31000000, LENGTH = 4194304\n" in script


def with_arena(source: ProjectSource, size: int) -> ProjectSource:
    return replace(source, arenas=(Arena("arena", "", size),))


def arena_place(source: ProjectSource, board: Board) -> str:
    script = files_of(source, board)["board.ld"]
    return script.split("*(.bss.solder_arena)")[1].split("} > ")[1].split()[0]


def test_the_arena_lies_in_the_fastest_memory_with_room(tiny):
    board = load_board("mps3-an547")
    assert arena_place(with_arena(tiny, 500_000), board) == "RAM"
    assert arena_place(with_arena(tiny, 523_000), board) == "SRAM"


def test_an_arena_larger_than_every_memory_is_reported(tiny):
    with pytest.raises(FitError) as caught:
        files_of(with_arena(tiny, 5_000_000), AN386)
    require_facts(
        caught.value,
        "5,000,000 mps2-an386 arena tiny needs RAM 4,190,912 4,194,304 1,792 1,536 64 bytes taken "
        "deploy --fits MODEL",
    )


def test_the_stack_is_as_large_as_server_and_model_need(tiny):
    assert ". += 2544;" in files_of(replace(tiny, stack_bytes=1003), AN386)["board.ld"]


def test_memory_below_the_stack_that_is_not_free_is_left_unguarded(tiny):
    flash, ram = AN386.regions
    near = replace(AN386, regions=(replace(flash, origin=0x1FFF_0000, bytes=0x1_0000), ram))
    assert "#define BOARD_GUARD_BYTES 0x10000u" in files_of(tiny, AN386)["src/board/board.h"]
    assert "#define BOARD_GUARD_BYTES 0x0u" in files_of(tiny, near)["src/board/board.h"]


def test_options_stand_in_one_place_for_make_and_deploy(tiny):
    files = files_of(replace(tiny, c_flags=("-O3", "-fno-math-errno")), AN386)
    assert files["flags/model"] == "-O3\n-fno-math-errno\n"
    assert "-mcpu" not in files["Makefile"]


def test_real_outputs_are_printed_in_thousandths(tiny):
    real = replace(tiny, outputs=(replace(tiny.outputs[0], type=TensorType(DType.F32, (1, 4))),))
    main = files_of(real, AN386, App.STANDALONE)["src/main.c"]
    assert "print_number((int32_t)(out.y[i] * 1000.0f));" in main
    assert 'print_text("y / 1000:");' in main


def test_a_board_without_the_platform_is_reported():
    with pytest.raises(BoardError) as caught:
        platform_of(HOST, "baremetal")
    require_facts(caught.value, '"host" "baremetal" board platform platforms')


def test_a_project_says_what_it_is(tiny, tmp_path):
    platform_of(AN386).generate(tiny, tmp_path / "p", AN386, App.STANDALONE)
    info = read_project(tmp_path / "p")
    assert (info.name, info.platform, info.board) == ("tiny", "baremetal", "mps2-an386")
    assert info.app is App.STANDALONE


def test_an_empty_folder_is_filled(tmp_path):
    write_project(tmp_path, {"a/b": "text\n"})
    assert (tmp_path / "a/b").read_text() == "text\n"


def test_a_folder_with_something_in_it_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("dear to me")
    with pytest.raises(OutputError) as caught:
        write_project(tmp_path, {"mine": "gone"})
    require_facts(caught.value, f"deploy folder empty overwrite {tmp_path} choose")
    assert (tmp_path / "mine").read_text() == "dear to me"


def test_a_file_in_place_of_the_folder_is_left_alone(tmp_path):
    (tmp_path / "p").write_text("dear to me")
    with pytest.raises(OutputError, match="a file has the name of the project folder"):
        write_project(tmp_path / "p", {"a": "text\n"})


def test_a_project_that_cannot_be_written_whole_leaves_nothing(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_project(tmp_path / "p", {"a": "text\n", "a/b": "a is a file, so this fails\n"})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_a_project_is_reported(tmp_path):
    assert not is_project(tmp_path)
    with pytest.raises(OutputError, match=r"not a project folder: it has no project\.json"):
        read_project(tmp_path)


PROJECT = {"format": 1, "name": "x", "platform": "host", "board": "host", "app": "rpc", "model_hash": "0"}
DAMAGED = (
    ("{", r"project\.json is damaged: Expecting property name"),
    (json.dumps({"format": 2}), r"a format that this version does not know \(it knows 1\)"),
    (json.dumps({"format": 1, "name": "x"}), r"project\.json is damaged: 'platform'"),
    (json.dumps(PROJECT | {"archive": "a\0.tar"}), r"project\.json is damaged: a path with a zero byte"),
)


@pytest.mark.parametrize(("text", "message"), DAMAGED)
def test_a_damaged_project_file_is_reported(tmp_path, text, message):
    (tmp_path / "project.json").write_text(text)
    with pytest.raises(OutputError, match=message):
        read_project(tmp_path)
