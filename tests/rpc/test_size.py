"""What the RPC adds to a firmware for Cortex-M4, beside the model, its arena and the port."""

import pytest

from benchmarks.cartridges import LOADER_BYTES, loader_bytes
from benchmarks.line import CODE_BYTES, RAM_BYTES, runtime_size
from benchmarks.tables import EXECUTOR_BYTES, executor_bytes

pytestmark = pytest.mark.arm


@pytest.mark.parametrize("optimize", ["-Os", "-O2"])
def test_the_runtime_fits_its_budget(require_tool, tmp_path, optimize):
    require_tool("arm-none-eabi-size")
    size = runtime_size(tmp_path, optimize)
    assert size.code_bytes <= CODE_BYTES == 6_208
    assert size.ram_bytes <= RAM_BYTES == 2 * 1024


def test_the_loader_of_cartridges_fits_its_budget(require_tool, tmp_path):
    require_tool("arm-none-eabi-size")
    assert loader_bytes(tmp_path) <= LOADER_BYTES == 1740
    assert loader_bytes(tmp_path, "-DSOLDER_WEIGHTS") <= LOADER_BYTES
    executor, loader = executor_bytes(tmp_path)
    assert executor <= EXECUTOR_BYTES == 1792
    assert loader <= LOADER_BYTES
