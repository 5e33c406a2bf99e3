"""Arm's ethos-u-core-driver from the user's folder: the files to add to a model's C code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from codegen.kernels.kernel import CFile
from codegen.option_kinds import WrongValueError
from extensions.ethos_u.configurations import NpuConfig
from extensions.ethos_u.library import Executor, own_file

HINT = "get it from https://gitlab.arm.com/artificial-intelligence/ethos-u/ethos-u-core-driver"
_NEEDED = ("include/ethosu_driver.h", "src/ethosu_driver.c")
_SOURCES = ("ethosu_driver.c", "ethosu_device_u55_u65.c", "ethosu_pmu.c")  # without the Ethos-U85's
_NOTICE = """\
/* From ethos-u-core-driver. Changed by Solder in two ways: the NPU is named, the compiler does not warn. */
#define {product} 1
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
"""


@cache
def by_driver(config: NpuConfig, folder: str) -> Executor:
    """Returns an executor that uses Arm's driver. Raises WrongValueError if the folder has no driver."""
    path = Path(folder)
    lacking = next((name for name in _NEEDED if not (path / name).is_file()), None)
    if lacking is not None:
        what = f'the folder "{folder}" has no {lacking}, which Arm\'s driver has'
        raise WrongValueError(f'"ethos-u": {what}', HINT)
    headers = sorted({*path.glob("include/*.h"), *path.glob("src/*.h")})
    sources = [path / "src" / name for name in _SOURCES if (path / "src" / name).is_file()]
    notice = _NOTICE.format(product="ETHOSU65" if config.product else "ETHOSU55")
    return Executor(
        (
            *(CFile(each.name, each.read_text(encoding="utf-8")) for each in headers),
            *(CFile(each.name, notice + each.read_text(encoding="utf-8")) for each in sources),
            own_file("ethos_u_by_driver.c"),
        ),
        code_bytes=5_000,
        stack_bytes=500,
    )
