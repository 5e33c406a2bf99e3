"""The hand-written model that the platform tests build projects of: y = x + 1 on four int8."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from cartridge_press import tiny_source

from platforms.base import BuildChoices, Firmware, platform_of
from platforms.board_files import load_board
from platforms.project import App

# What the model does instead when its first input is 1 to 5.
_CRASHES = """
static volatile int depth_reached;

static int depth(int n)
{
    volatile int row[50];
    for (int i = 0; i < 50; i++) {
        row[i] = n;
    }
    return n == 0 ? row[1] : depth(n - 1) + row[0];
}

static void crash(int how)
{
    if (how == 1) {
        *(volatile int *)0xF0000000 = 1;
    }
    if (how == 2) {
        depth(-1);
    }
    if (how == 3) {
        __builtin_trap();
    }
    if (how == 5) { /* comes back, having been where it must not */
        depth(12);
    }
    while (how == 4) {
        depth_reached = depth_reached + 1;
    }
}

int32_t tiny_run("""


@pytest.fixture(scope="session")
def tiny():
    return tiny_source()


@pytest.fixture(scope="session")
def crashing(tiny):
    """The model with a bug: it crashes in the way that its first input says."""
    text = tiny.sources["tiny.c"].replace("int32_t tiny_run(", _CRASHES, 1)
    text = text.replace("(void)arena;", "(void)arena;\n    crash(in->x[0]);")
    return replace(tiny, sources={**tiny.sources, "tiny.c": text}, c_flags=("-O1",))


@pytest.fixture(scope="session")
def bare_firmware(tiny, tmp_path_factory):
    """bare_firmware(board, app, more): built by gcc, with more files of the user's own."""
    made: dict[object, Firmware] = {}

    def build(name: str, app: App = App.RPC, more: Mapping[str, str] = {}) -> Firmware:
        key = (name, app, *more.items())
        if key not in made:
            board, folder = load_board(name), tmp_path_factory.mktemp("bare") / "project"
            platform = platform_of(board, "baremetal")
            platform.generate(tiny, folder, board, app)
            for file, text in more.items():
                (folder / file).write_text(text)
            made[key] = platform.build(folder, board, BuildChoices("arm-none-eabi-gcc"))
        return made[key]

    return build
