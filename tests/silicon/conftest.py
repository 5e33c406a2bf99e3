"""A measurement of simulated silicon, and one of an emulated board, made once for all tests."""

from collections.abc import Callable
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


@dataclass(frozen=True)
class Desk:
    """A folder with the board's file, in which the tests run with two models of the kit instead of six."""

    folder: Path
    measure: Callable[[Bench], KitFile]


@pytest.fixture(scope="session")
def desk(tmp_path_factory, require_tool):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    folder = tmp_path_factory.mktemp("desk")
    (folder / "boards").mkdir()
    (folder / "boards" / "silicon-m4.toml").write_text(simulated_silicon.BOARD)

    def measure(bench: Bench) -> KitFile:
        with pytest.MonkeyPatch.context() as patch:
            _sit_down(folder, patch)
            parts = measure_kit(
                load_board("silicon-m4"), WISHES, lambda _step: None, bench.open_line, bench.clock
            )
            return sealed(folder / "silicon-m4.kit", parts)

    return Desk(folder, measure)


@pytest.fixture(autouse=True)
def at_the_desk(request, monkeypatch):
    """Tests at the desk know its board and two models. Tests elsewhere must not: they count all."""
    if "desk" in request.fixturenames:
        _sit_down(request.getfixturevalue("desk").folder, monkeypatch)


def _sit_down(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.chdir(folder)
    for name in [name for name in KIT if name not in SMALL]:
        patch.delitem(KIT, name)
    patch.setattr(measuring, "usb_ports", lambda: (simulated_silicon.PORT,))


@pytest.fixture(scope="session")
def silicon(desk):
    """What the kit writes for the simulated silicon."""
    return desk.measure(Bench())
