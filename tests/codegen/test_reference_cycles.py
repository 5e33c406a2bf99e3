"""A compile leaves nothing behind that Python frees only when it looks for reference cycles.

It makes hundreds of thousands of objects and lowers a graph dozens of times: held in cycles, all of that
would stay until Python looks through everything that it knows.
"""

import gc
from collections import Counter
from pathlib import Path

import pytest

import deploy

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


@pytest.mark.parametrize("goal", ["speed", "ram"])
@pytest.mark.parametrize("board", ["nucleo-l4r5zi", "mps3-an547", "qemu-riscv32"])
def test_all_that_a_compile_made_goes_with_its_result(board, goal):
    def compiled() -> int:
        made = deploy.compile(DIGITS, board=board, optimize=goal)
        return sum(map(len, made.artifact.sources.values()))

    compiled()  # modules that are loaded only now leave cycles of their own
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert compiled() > 0
        gc.collect()
        assert Counter(type(left).__name__ for left in gc.garbage) == {}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
