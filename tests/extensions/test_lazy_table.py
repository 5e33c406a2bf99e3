"""Tables of the compiler load an entry when it is asked for, not before."""

import subprocess
import sys

from aot.extensions import LazyTable


def test_an_entry_is_loaded_once_and_only_if_it_is_asked_for():
    loads: list[str] = []

    def load(name: str) -> int:
        loads.append(name)
        return len(name)

    table = LazyTable(("one", "three"), load)
    assert list(table) == ["one", "three"]
    assert "three" in table
    assert "two" not in table
    assert table.get("two") is None
    assert loads == []
    assert (table["three"], table["three"], loads) == (5, 5, ["three"])


def test_looking_up_an_op_loads_its_own_modules_alone():
    program = (
        "import sys; from codegen.kernels.table import KERNELS; KERNELS['softmax'];"
        "print(*sorted(m for m in sys.modules if m in ('codegen.kernels.softmax', 'codegen.kernels.fft')))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["codegen.kernels.softmax"]
