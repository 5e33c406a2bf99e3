"""All shared models as C of the other compilers for this computer: their stored outputs, and no crash.

Clang and zig trust what the ABI promises about alignment and vectorise with it. What covers what:

- here every shared model is built by clang with -O2 and by zig with -Os,
- tests/suites builds every case of one operator by gcc and clang with -Os and by zig with -O2,
- tests/codegen/test_models.py and test_shared_onnx_models.py build models by gcc with -O2.
"""

from pathlib import Path

import pytest
from apart import Apart, CrashedError
from model_run import HYBRID, NEAR, read_model
from stored_outputs import furthest_of_library
from suite_batch import build_libraries

from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

COMPILERS = (("clang", "-O2"), ("zig", "-Os"))
MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"
NAMES = sorted(path.parent.name for path in MODELS.glob("*/golden.npz"))


@pytest.fixture(scope="module")
def apart():
    with Apart() as process:
        yield process


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_the_stored_ones_by_any_compiler(
    name, apart, shared_dir, tmp_path, require_tool, require_package
):
    require_tool("clang")
    require_package("ziglang")
    folder = shared_dir / "models" / name
    graph, _ = read_model(folder, "onnx" if (folder / "model.onnx").exists() else "tflm")
    model = compile_job(
        Job(ImportedModel(graph, "model", "00" * 32, "model"), Target("host"), CompileOptions())
    )
    near = HYBRID.get(name, NEAR)
    wrong = []
    for compiler, level in COMPILERS:
        library = build_libraries({"model": model}, tmp_path / compiler, compiler, level)["model"]
        try:
            found = apart.call(furthest_of_library, library, "model", folder / "golden.npz")
        except CrashedError:
            wrong.append(f"{compiler} {level}: crash of the compiled code")
            continue
        if found > near:
            wrong.append(f"{compiler} {level}: {found:.1e} of the largest output away")
    assert wrong == []
