"""C++ programs include the runtime's headers as they are: functions keep their names in C."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

_PROTOTYPE = re.compile(r"^(?!typedef|static|#|\s)[\w *]+?(\w+)\([^;{}]*\);", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def functions(header: Path) -> list[str]:
    """The functions that a header declares and does not define."""
    text = re.sub(r"__attribute__\(\(.*?\)\)\)?", "", _COMMENT.sub("", header.read_text()))
    return _PROTOTYPE.findall(text)


def runtime_headers(repo_root: Path) -> list[Path]:
    folders = [
        repo_root / "project_templates" / name for name in ("common", "sensor_app", "zephyr", "arduino")
    ]
    return [header for folder in folders for header in sorted(folder.glob("*.h")) if functions(header)]


def test_the_headers_with_functions_are_found(repo_root: Path) -> None:
    names = {header.name: functions(header) for header in runtime_headers(repo_root)}
    assert "solder_port_read" in names["solder_port.h"]
    assert "solder_server_run" in names["solder_server.h"]
    assert len(names) > 20


@pytest.mark.cc
def test_functions_have_the_names_that_c_gives_them(
    repo_root: Path, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("g++")
    (tmp_path / "app.h").write_text(
        "#include <stddef.h>\n#include <stdint.h>\ntypedef int8_t app_element;\n"
        "#define ROW_ELEMENTS 2u\n#define WINDOW_ROWS 4u\n#define CLASSES 2u\n"
    )
    include = ["-DSOLDER_FUNCTIONS", f"-I{tmp_path}"]
    include += [f"-I{repo_root / 'project_templates' / name}" for name in ("common", "sensor_app")]
    for header in runtime_headers(repo_root):
        seen = subprocess.run(
            ["g++", "-E", "-P", *include, header], capture_output=True, text=True, check=True
        ).stdout
        names = [name for name in functions(header) if re.search(rf"\b{name}\(", seen)]  # as it is compiled
        addresses = ", ".join(f"reinterpret_cast<void *>(&{name})" for name in names)
        text = f"void *const all[] = {{{addresses}}};\nvoid *const *see() {{ return all; }}\n"
        (tmp_path / "test.cpp").write_text(f'#include "{header}"\n{text}')
        argv = ["g++", "-Wall", "-Werror", *include, "-c", "test.cpp", "-o", "test.o"]
        made = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert made.returncode == 0, f"{header.name}\n{made.stderr}"
        symbols = subprocess.run(
            ["nm", "-u", "test.o"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout.split()
        assert set(names) <= set(symbols), header.name
