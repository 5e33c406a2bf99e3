"""What the RPC adds to a firmware for Cortex-M4, beside the model, its arena and the port."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.arm

CODE_BYTES = 6 * 1024
RAM_BYTES = 2 * 1024


@pytest.mark.parametrize("optimize", ["-Os", "-O2"])
def test_the_runtime_fits_its_budget(repo_root: Path, require_tool, tmp_path: Path, optimize: str):
    require_tool("arm-none-eabi-gcc", "arm-none-eabi-size")
    sources = sorted((repo_root / "project_templates" / "common").glob("*.c"))
    flags = (
        f"-std=c99 -mcpu=cortex-m4 -mthumb {optimize} -Wall -Wextra -Wconversion -Werror -DSOLDER_LAYER_HOOK"
        " -DSOLDER_SLOT -DSOLDER_RATE"
    )
    subprocess.run(["arm-none-eabi-gcc", *flags.split(), "-c", *map(str, sources)], cwd=tmp_path, check=True)
    objects = sorted(str(path) for path in tmp_path.glob("*.o"))
    sizes = subprocess.run(["arm-none-eabi-size", "-t", *objects], capture_output=True, text=True, check=True)
    text, data, bss, *_ = map(int, sizes.stdout.splitlines()[-1].split()[:4])
    assert text + data <= CODE_BYTES
    assert data + bss <= RAM_BYTES
