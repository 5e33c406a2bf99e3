"""Arenas and constants in the memories of a board: each lies in its region, the bits there are right."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from error_facts import require_facts

import boards
from aot.errors import BoardError, InputError
from aot.plan.model import Pool
from artifact.artifact import artifact_of
from boards.board import Board
from codegen.c.arenas import Arena
from codegen.compile import compile_job
from codegen.compile_kinds import ConstantRule
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.elf import symbols
from platforms.project import App, ProjectSource, project_source, share_firmware

AN547 = load_board("mps3-an547")
DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
SPREAD = ("--pool", "RAM=300", "--pool", "SRAM")


def digits(*pools: Pool) -> ProjectSource:
    return digits_source(AN547, CompileOptions(pools=pools))


def digits_source(board: Board, options: CompileOptions) -> ProjectSource:
    return project_source(artifact_of(compile_job(read_job(DIGITS, board.target, options))))


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=["whole", "streamed"])
def test_a_model_in_two_memories_of_a_board_gives_the_reference_in_every_bit(stream, run_deploy):
    outcome = run_deploy("verify", DIGITS, "--board", "mps3-an547", *SPREAD, *stream)
    assert outcome.status == 0, outcome.err
    assert "outputs equal to the reference in every bit" in outcome.out


@pytest.mark.arm
@pytest.mark.qemu
def test_an_arena_too_large_for_the_fastest_memory_is_spread_without_being_asked(tmp_path, run_deploy):
    small = tmp_path / "small.toml"
    text = (Path(boards.__file__).parent / "mps3-an547.toml").read_text()
    small.write_text(text.replace('bytes = 0x8_0000\nrole = "ram"', 'bytes = 0x3100\nrole = "ram"'))
    assert load_board(str(small)).region("ram").bytes == 0x3100
    outcome = run_deploy("inspect", DIGITS, "--board", small)
    assert "arena in RAM" in outcome.out
    assert "arena in SRAM" in outcome.out
    outcome = run_deploy("verify", DIGITS, "--board", small)
    assert outcome.status == 0, outcome.err
    assert "outputs equal to the reference in every bit" in outcome.out


@pytest.mark.arm
@pytest.mark.parametrize("app", [App.RPC, App.STANDALONE], ids=lambda app: app.value)
def test_each_part_lies_in_its_region(app, tmp_path):
    source, platform = digits(Pool("RAM", 300), Pool("SRAM")), platform_of(AN547)
    platform.generate(source, tmp_path / "p", AN547, app)
    firmware = platform.build(tmp_path / "p", AN547, BuildChoices("arm-none-eabi-gcc"))
    places = {s.name: s.address for s in symbols(firmware.elf) if s.name.startswith("solder_")}
    regions = {region.name: region for region in AN547.regions}
    for name, region in (("solder_arena", regions["RAM"]), ("solder_sram_arena", regions["SRAM"])):
        assert region.origin <= places[name] < region.origin + region.bytes


TWO_FLASHES = """
[[regions]]
name = "QSPI"
origin = 0x0004_0000
bytes = 0x4_0000
role = "flash"
speed = 1
"""


@pytest.mark.arm
@pytest.mark.qemu
def test_constants_lie_in_ram_and_in_a_second_flash(tmp_path, run_deploy):
    file = tmp_path / "two.toml"
    text = (Path(boards.__file__).parent / "mps3-an547.toml").read_text()
    file.write_text(text.replace('0x8_0000\nrole = "flash"', '0x4_0000\nrole = "flash"') + TWO_FLASHES)
    rules = ("--constants", "conv2d=SRAM", "--constants", "dense=QSPI")
    outcome = run_deploy("verify", DIGITS, "--board", file, *rules)
    assert outcome.status == 0, outcome.err
    assert "outputs equal to the reference in every bit" in outcome.out
    board = load_board(str(file))
    places = tuple(ConstantRule(*rule.split("=")) for rule in rules[1::2])
    source = digits_source(board, CompileOptions(constants=places))
    platform = platform_of(board)
    platform.generate(source, tmp_path / "p", board, App.RPC)
    firmware = platform.build(tmp_path / "p", board, BuildChoices("arm-none-eabi-gcc"))
    weights = [s.address for s in symbols(firmware.elf) if re.fullmatch(r"digits_\w+_w", s.name)]
    lie_in = {r.name for r in board.regions for at in weights if r.origin <= at < r.origin + r.bytes}
    assert lie_in == {"FLASH", "SRAM", "QSPI"}, "the depthwise layer stays where the code is"


@pytest.mark.arm
@pytest.mark.qemu
def test_placed_constants_lie_in_ram_and_the_outputs_stay(tmp_path, run_deploy):
    """The emulated board with a flash that waits: the dense layer's constants are named by the user."""
    file = tmp_path / "slow.toml"
    text = (Path(boards.__file__).parent / "mps3-an547.toml").read_text()
    file.write_text(text.replace("most_hz = []", "most_hz = [1_000_000]"))
    words = ("--board", file, "--place", "--constants", "dense=FLASH")
    outcome = run_deploy("verify", DIGITS, *words)
    assert outcome.status == 0, outcome.err
    assert "outputs equal to the reference in every bit" in outcome.out
    board = load_board(str(file))
    options = CompileOptions(place=True, constants=(ConstantRule("dense", "FLASH"),))
    platform = platform_of(board)
    platform.generate(digits_source(board, options), tmp_path / "p", board, App.RPC)
    firmware = platform.build(tmp_path / "p", board, BuildChoices("arm-none-eabi-gcc"))
    weights = [s.address for s in symbols(firmware.elf) if re.fullmatch(r"digits_\w+_w", s.name)]
    lie_in = [r.name for at in weights for r in board.regions if r.origin <= at < r.origin + r.bytes]
    assert sorted(set(lie_in)) == ["FLASH", "RAM"]
    assert lie_in.count("FLASH") == 1, "the dense layer alone"


def test_a_region_named_alone_is_where_the_arena_lies():
    source = digits(Pool("SRAM"))
    script = platform_of(AN547).files(source, AN547, App.RPC)["board.ld"]
    assert script.split("*(.bss.solder_arena)")[1].split("} > ")[1].split()[0] == "SRAM"


def test_a_board_without_the_region_is_reported():
    other = load_board("mps2-an386")
    with pytest.raises(BoardError) as refused:
        platform_of(other).files(digits(Pool("SRAM")), other, App.RPC)
    require_facts(refused.value, "SRAM mps2-an386 arena digits planned RAM deploy MODEL --board")


@pytest.mark.slow
def test_models_share_each_memory(tiny):
    spread = digits(Pool("RAM", 300), Pool("SRAM"))
    large = replace(tiny, c_flags=spread.c_flags, arenas=(Arena("arena", "", 5000),))
    fast, slow = share_firmware(large, [spread]).arenas
    assert (fast.bytes, slow) == (5000, spread.arenas[1])


def test_models_in_different_memories_cannot_share(tiny):
    spread = digits(Pool("RAM", 300), Pool("SRAM"))
    other = replace(tiny, c_flags=spread.c_flags, arenas=(Arena("arena", "SRAM", 8),))
    with pytest.raises(InputError) as refused:
        share_firmware(spread, [other])
    require_facts(refused.value, "SRAM RAM tiny uses another --pool")
