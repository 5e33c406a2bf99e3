"""The collected files: each is sound and of a board, the page shows them, and they alone give the status."""

import pytest

from benchmarks.silicon import silicon_files, silicon_page
from boards.board import BoardStatus
from deploy.silicon.check_kit import check_kit
from deploy.silicon.kit_file import KitFile, write_kit
from platforms.board_files import all_boards


def test_the_page_shows_the_collected_files(repo_root, generated):
    generated(repo_root / "benchmarks" / "silicon.md", silicon_page(silicon_files()))


def test_boards_are_hardware_tested_by_a_file_only():
    measured = {check_kit(path).figures["measurement"]["board"]["name"] for path in silicon_files()}
    stated = {board.name for board in all_boards() if board.status is BoardStatus.HARDWARE_TESTED}
    assert stated == measured


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_page_has_errors_and_takes_no_unsound_file(silicon, tmp_path):
    path = tmp_path / "a.kit"
    write_kit(KitFile(path, silicon.parts, silicon.manifest))
    page = silicon_page([path])
    assert "| silicon-m4 | 20" in page
    assert page.count(" % |") + page.count("% |") == 2
    write_kit(KitFile(path, {**silicon.parts, "result.json": b"{}"}, silicon.manifest))
    with pytest.raises(SystemExit, match="is no measurement of a board"):
        silicon_page([path])
