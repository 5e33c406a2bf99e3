"""A measurement of simulated silicon, and one of an emulated board, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import simulated_silicon
from simulated_silicon import SMALL, WISHES, Bench

from deploy.silicon import measure_kit as measuring
from deploy.silicon.kit_file import KitFile, sealed
from deploy.silicon.kit_models import KIT
from deploy.silicon.measure_kit import measure_kit
from platforms.board_files import load_board


@pytest.fixture(scope="session")
def small_kit() -> Iterator[None]:
    """Two models instead of six."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in KIT if name not in SMALL]:
            patch.delitem(KIT, name)
        yield


@dataclass(frozen=True)
class Desk:
    """A folder with the board's file, in which the tests run."""

    folder: Path
    measure: Callable[[Bench], KitFile]


@pytest.fixture(scope="session")
def desk(
    small_kit: None, tmp_path_factory: pytest.TempPathFactory, require_tool: Callable[..., None]
) -> Iterator[Desk]:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    folder = tmp_path_factory.mktemp("desk")
    (folder / "boards").mkdir()
    (folder / "boards" / "silicon-m4.toml").write_text(simulated_silicon.BOARD)

    def measure(bench: Bench) -> KitFile:
        board = load_board("silicon-m4")
        parts = measure_kit(board, WISHES, lambda _step: None, bench.open_line, bench.clock)
        return sealed(folder / "silicon-m4.kit", parts)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(measuring, "usb_ports", lambda: (simulated_silicon.PORT,))
        yield Desk(folder, measure)


@pytest.fixture(scope="session")
def silicon(desk: Desk) -> KitFile:
    """What the kit writes for the simulated silicon."""
    return desk.measure(Bench())
