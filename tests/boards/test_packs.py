"""CMSIS packs: their index is found offline, and their parts become board files."""

import shutil
from functools import partial
from pathlib import Path

import cmsis_pack_manager
import pytest
from error_facts import refused

from aot.errors import BoardError, DeployError, ToolError
from aot.target import Feature
from boards.board_text import board_file
from boards.pack_index import Chip, chip_of, core_name, find_part, read_parts
from platforms.board_files import load_board
from platforms.pack_cache import part_of_index, read_pack, search_index

PDSC = Path(__file__).with_name("mini.pdsc")
HINT = (
    "  hint: connect this computer to the internet once; the index is then kept\n"
    "        or extract the .pdsc file from the chip's pack: deploy boards add PART --pack FILE.pdsc"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """cmsis-pack-manager's folder, empty and without a network: what it fetches is nothing."""
    own = partial(cmsis_pack_manager.Cache, json_path=str(tmp_path), data_path=str(tmp_path))
    monkeypatch.setattr(cmsis_pack_manager.Cache, "cache_descriptors", lambda _cache: None)
    monkeypatch.setattr(cmsis_pack_manager, "Cache", own)
    return tmp_path


@pytest.fixture
def kept(folder):
    """The folder with one pack's description in it, and the real index of that."""
    shutil.copy(PDSC, folder / "Acme.Mini_DFP.1.2.0.pdsc")
    cmsis_pack_manager.Cache(True, False).add_pack_from_path(str(PDSC))
    return folder


@pytest.mark.usefixtures("kept")
def test_a_kept_index_is_searched_without_a_network():
    found = [(part.name, part.core, part.pack) for part in search_index("ac407vgh")]
    assert found == [("AC407VGHx", "cortex-m4", "Acme.Mini_DFP 1.2.0")]


@pytest.mark.usefixtures("kept")
def test_a_part_of_a_kept_index_has_what_the_index_drops():
    """Helium is in the description of the pack only."""
    assert "mve" in chip_of(part_of_index("AC850")).features


@pytest.mark.usefixtures("kept")
def test_a_device_that_the_index_lists_by_its_variants_is_found():
    assert part_of_index("AC407VG").name == "AC407VG"


@pytest.mark.usefixtures("kept")
def test_a_part_that_no_pack_has_is_reported():
    refused(lambda: part_of_index("AC851"), '"AC851" "AC850"? part pack index deploy AC851', BoardError)


@pytest.mark.parametrize("ask", [search_index, part_of_index])
def test_an_index_that_comes_empty_is_reported_with_two_ways_out(folder, ask):
    refused(
        lambda: ask("AC4"),
        f"CMSIS index packs downloaded {folder}/index.json nothing received {HINT}",
        ToolError,
    )


def test_an_index_whose_fetching_fails_is_reported_with_the_reason(folder, monkeypatch):
    def fail(_cache: object) -> None:
        raise Exception("no route to host")  # as its compiled half does  # noqa: TRY002

    monkeypatch.setattr(cmsis_pack_manager.Cache.func, "cache_descriptors", fail)
    with pytest.raises(ToolError, match="cannot be downloaded") as caught:
        search_index("AC4")
    assert "no route to host" in caught.value.where


def test_a_description_that_the_cache_has_lost_is_reported(kept):
    (kept / "Acme.Mini_DFP.1.2.0.pdsc").unlink()
    with pytest.raises(BoardError, match="pack description cannot be read: No such file"):
        part_of_index("AC850")


def test_a_pack_that_is_not_text_is_reported(tmp_path):
    (tmp_path / "x.pdsc").write_bytes(b"PK\x03\x04\xff\xff")
    with pytest.raises(DeployError, match="cannot be read: it is not text"):
        read_pack(tmp_path / "x.pdsc")


PARTS = read_parts(PDSC.read_text(encoding="utf-8"), "mini.pdsc")
ALL = {Feature.DSP, Feature.FPU, Feature.MVE, Feature.UNALIGNED}


def chip(name: str, processor: str | None = None) -> Chip:
    return chip_of(find_part(PARTS, name, "mini.pdsc"), processor)


def test_devices_and_their_variants_are_parts():
    names = [part.name for part in PARTS]
    assert names == ["AC3", "AC35", "AC4", "AC407VG", "AC407VGHx", "AC407VGTx", "AC850", "AC890"]
    assert {str(part.pack) for part in PARTS} == {"Acme.Mini_DFP 1.2.0"}


@pytest.mark.parametrize(
    ("name", "processor", "core", "features", "clock_hz"),
    [
        ("AC407VG", None, "cortex-m4", ALL - {Feature.MVE}, 168_000_000),  # an M4 has DSP though none says so
        ("AC850", None, "cortex-m55", ALL, 160_000_000),
        (
            "AC890",
            "CM33",
            "cortex-m33",
            {Feature.UNALIGNED},
            100_000_000,
        ),  # NO_FPU and NO_DSP are not FPU, DSP
        ("AC890", "CM0", "cortex-m0plus", set(), 50_000_000),
    ],
)
def test_a_processor_has_what_is_said_of_it_and_around_it(name, processor, core, features, clock_hz):
    found = chip(name, processor)
    assert (found.core.name, found.features, found.clock_hz) == (core, features, clock_hz)


def test_memories_are_inherited_and_aliases_and_peripherals_left_out():
    regions = [(r.name, r.origin, r.bytes, r.role, r.speed) for r in chip("AC407VGTx").regions]
    assert regions == [
        ("IROM1", 0x0800_0000, 0x10_0000, "flash", 0),
        ("IRAM2", 0x1000_0000, 0x1_0000, "ram", 1),
        ("IRAM1", 0x2000_0000, 0x2_0000, "ram", 0),
    ]


def test_a_variants_memory_goes_before_its_familys():
    assert {r.name: r.bytes for r in chip("AC407VGHx").regions}["IRAM1"] == 0x3_0000


def test_a_processor_sees_its_own_memory_and_the_shared():
    assert [r.name for r in chip("AC890", "CM33").regions] == ["ROM", "RAM"]
    assert [r.name for r in chip("AC890", "CM0").regions] == ["ROM", "RAM0"]


def test_the_algorithm_is_the_one_for_the_programs_flash():
    assert chip("AC407VG").algorithm == "Flash/AC4_1024.FLM"
    assert chip("AC850").algorithm == ""


@pytest.mark.parametrize(
    ("dcore", "core"),
    [("Cortex-M0+", "cortex-m0plus"), ("CortexM0Plus", "cortex-m0plus"), ("CortexM33", "cortex-m33")],
)
def test_a_core_is_named_as_boards_name_it(dcore, core):
    assert core_name(dcore) == core


@pytest.mark.parametrize(
    ("name", "processor"),
    [("AC407VG", None), ("AC407VGHx", None), ("AC850", None), ("AC890", "CM33"), ("AC890", "CM0")],
)
def test_a_board_file_made_from_a_part_loads_with_the_same_facts(name, processor, tmp_path):
    made = chip(name, processor)
    file = tmp_path / "made.toml"
    file.write_text(board_file(made), encoding="utf-8")
    board = load_board(str(file))
    assert (board.mcu, board.core, board.features) == (made.part.name, made.core, made.features)
    assert (board.clock_hz, board.regions) == (made.clock_hz, made.regions)
    assert board.flash_algorithm == made.algorithm
    assert board.runners["pyocd"]["target"] == name.lower()


MISTAKES = (
    ("ac407", None, 'error: 3 parts begin with "ac407"\n  mini.pdsc\n'
     "  hint: AC407VG, AC407VGHx, AC407VGTx"),
    ("AC85O", None, 'error: part "AC85O" not found - did you mean "AC850"?\n  mini.pdsc'),
    ("AC890", None, "error: AC890 has 2 processors\n  Acme.Mini_DFP 1.2.0\n"
     "  hint: --processor with one of CM33, CM0"),
    ("AC890", "CM3", 'error: AC890 has no processor "CM3" - did you mean "CM33"?\n  Acme.Mini_DFP 1.2.0\n'
     "  hint: --processor with one of CM33, CM0"),
    ("AC35", None, "error: AC35 has a Cortex-M35P, which Solder does not know\n  Acme.Mini_DFP 1.2.0\n"
     "  hint: known: avr, cortex-m0, cortex-m0plus, cortex-m23, cortex-m3, cortex-m33, cortex-m4, "
     "cortex-m55, cortex-m7, cortex-m85, esp32-c3, hazard3, host, rv32imac, rv32imac-zve32x, "
     "rv32imafc, rv64imafdc, "
        "xtensa-lx6, xtensa-lx7"),
    ("AC3", None, "error: the pack names no ram of AC3\n  Acme.Mini_DFP 1.2.0"),
    ("AC4", None, "error: the pack names no clock of AC4\n  Acme.Mini_DFP 1.2.0"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "processor", "message"), MISTAKES, ids=[f"{m[0]}-{m[1]}" for m in MISTAKES])
def test_a_part_that_makes_no_board_is_reported(name, processor, message):
    with pytest.raises(BoardError) as caught:
        chip(name, processor)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<package", "error: not a pack description: unclosed token: line 1, column 0\n  x.pdsc"),
        (
            "<package/>",
            "error: the pack describes no parts\n  x.pdsc\n  hint: use a device family pack (DFP)",
        ),
    ],
)
def test_a_file_that_is_not_a_pack_description_is_reported(text, message):
    with pytest.raises(BoardError) as caught:
        read_parts(text, "x.pdsc")
    assert str(caught.value) == message
