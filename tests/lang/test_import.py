"""The language is quick to import: what it takes is NumPy, and not the compiler."""

import subprocess
import sys

import pytest

_SHOW = "import sys\nfrom deploy import lang\nprint(*sorted(sys.modules), sep='\\n')"
_HEAVY = (
    "aot.ops",
    "aot.passes",
    "aot.frontend",
    "codegen.isa",
    "codegen.kernels.table",
    "boards",
    "platforms",
)


@pytest.mark.slow
def test_the_compiler_is_not_imported_with_the_language():
    shown = subprocess.run([sys.executable, "-c", _SHOW], capture_output=True, text=True, check=True).stdout
    modules = shown.split()
    assert "codegen.lang.schedule" in modules
    assert not [name for name in modules if any(name == h or name.startswith(f"{h}.") for h in _HEAVY)]
    ours = {"deploy", "aot", "codegen"}
    outside = {name.partition(".")[0] for name in modules} - {*sys.stdlib_module_names} - ours
    assert {name for name in outside if not name.startswith("_")} <= {
        "numpy",
        "typing_extensions",
        "sitecustomize",
    }
