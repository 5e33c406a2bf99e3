"""The channel "cpp": a C++ class around the model, as a library for CMake."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.channels.package import Package
from platforms.cpp_header import cpp_words
from platforms.templates import filled

SUMMARY = "a C++ class with typed buffers, as a library for CMake"
SUFFIX = ".zip"
_MBED = (
    "",
    "In Mbed OS: copy this folder into your program's folder. `examples/mbed/main.cpp` is a small program.",
    "Mbed's build skips the folders in `.mbedignore`: `examples` and `test`.",
)


def files(package: Package) -> Mapping[str, str]:
    name = package.name
    taken = (
        "    add_subdirectory(" + name + ")          # or FetchContent, or, once installed, find_package",
        f"    target_link_libraries(yours {name}::{name})",
        "",
        "Without CMake: compile `src/*.c` as C, with `include` and `src` as include paths.",
        *(_MBED if package.machine == "arm" else ()),
    )
    test = f"test/test_{name}.cpp"
    example = f"`{test}`: `cmake -B build && cmake --build build && ctest --test-dir build`"
    return {
        **package.placed_in_cpp("include/", "src/"),
        "CMakeLists.txt": package.filled("CMakeLists.txt.jinja", test=test),
        test: package.program_in_cpp(),
        **(_mbed_files(package) if package.machine == "arm" else {}),
        **package.papers(taken, example, "cpp"),
    }


def _mbed_files(package: Package) -> dict[str, str]:
    """Returns a program for Mbed OS, and which folders its build must not search for sources."""
    program = filled("channels", "mbed.cpp.jinja", **cpp_words(package.source))
    return {"examples/mbed/main.cpp": program, ".mbedignore": "examples/*\ntest/*\n"}
