"""The channel "cpp": a C++ class around the model, as a library for CMake."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.channels.package import Package

SUMMARY = "a C++ class with typed buffers, as a library for CMake"
SUFFIX = ".zip"


def files(package: Package) -> Mapping[str, str]:
    name = package.name
    taken = (
        "    add_subdirectory(" + name + ")          # or FetchContent, or, once installed, find_package",
        f"    target_link_libraries(yours {name}::{name})",
        "",
        "Without CMake: compile `src/*.c` as C, with `include` and `src` as include paths.",
    )
    test = f"test/test_{name}.cpp"
    example = f"`{test}`: `cmake -B build && cmake --build build && ctest --test-dir build`"
    return {
        **package.placed_in_cpp("include/", "src/"),
        "CMakeLists.txt": package.filled("CMakeLists.txt.jinja", test=test),
        test: package.program_in_cpp(),
        **package.papers(taken, example, "cpp"),
    }
