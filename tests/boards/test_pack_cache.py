"""The index of CMSIS packs on this computer: found offline, with a clear error if there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import cmsis_pack_manager
import pytest
from error_facts import refused

from aot.errors import BoardError, DeployError, ToolError
from boards.pack_index import chip_of
from platforms.pack_cache import part_of_index, read_pack, search_index

PDSC = Path(__file__).with_name("mini.pdsc")
HINT = (
    "  hint: connect this computer to the internet once; the index is then kept\n"
    "        or extract the .pdsc file from the chip's pack: deploy boards add PART --pack FILE.pdsc"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """cmsis-pack-manager's folder, empty and without a network: what it fetches is nothing."""
    own = partial(cmsis_pack_manager.Cache, json_path=str(tmp_path), data_path=str(tmp_path))
    monkeypatch.setattr(cmsis_pack_manager.Cache, "cache_descriptors", lambda _cache: None)
    monkeypatch.setattr(cmsis_pack_manager, "Cache", own)
    return tmp_path


@pytest.fixture
def kept(folder: Path) -> Path:
    """The folder with one pack's description in it, and the real index of that."""
    shutil.copy(PDSC, folder / "Acme.Mini_DFP.1.2.0.pdsc")
    cmsis_pack_manager.Cache(True, False).add_pack_from_path(str(PDSC))
    return folder


@pytest.mark.usefixtures("kept")
def test_a_kept_index_is_searched_without_a_network() -> None:
    found = [(part.name, part.core, part.pack) for part in search_index("ac407vgh")]
    assert found == [("AC407VGHx", "cortex-m4", "Acme.Mini_DFP 1.2.0")]


@pytest.mark.usefixtures("kept")
def test_a_part_of_a_kept_index_has_what_the_index_drops() -> None:
    """Helium is in the description of the pack only."""
    assert "mve" in chip_of(part_of_index("AC850")).features


@pytest.mark.usefixtures("kept")
def test_a_device_that_the_index_lists_by_its_variants_is_found() -> None:
    assert part_of_index("AC407VG").name == "AC407VG"


@pytest.mark.usefixtures("kept")
def test_a_part_that_no_pack_has_is_reported() -> None:
    refused(lambda: part_of_index("AC851"), '"AC851" "AC850"? part pack index deploy AC851', BoardError)


@pytest.mark.parametrize("ask", [search_index, part_of_index])
def test_an_index_that_comes_empty_is_reported_with_two_ways_out(
    folder: Path, ask: Callable[[str], object]
) -> None:
    refused(
        lambda: ask("AC4"),
        f"CMSIS index packs downloaded {folder}/index.json nothing received {HINT}",
        ToolError,
    )


def test_an_index_whose_fetching_fails_is_reported_with_the_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_cache: object) -> None:
        raise Exception("no route to host")  # as its compiled half does  # noqa: TRY002

    monkeypatch.setattr(cmsis_pack_manager.Cache.func, "cache_descriptors", fail)
    with pytest.raises(ToolError, match="cannot be downloaded") as caught:
        search_index("AC4")
    assert "no route to host" in caught.value.where


def test_a_description_that_the_cache_has_lost_is_reported(kept: Path) -> None:
    (kept / "Acme.Mini_DFP.1.2.0.pdsc").unlink()
    with pytest.raises(BoardError, match="pack description cannot be read: No such file"):
        part_of_index("AC850")


def test_a_pack_that_is_not_text_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.pdsc").write_bytes(b"PK\x03\x04\xff\xff")
    with pytest.raises(DeployError, match="cannot be read: it is not text"):
        read_pack(tmp_path / "x.pdsc")
