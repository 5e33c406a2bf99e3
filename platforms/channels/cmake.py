"""The channel "cmake": a library for add_subdirectory, FetchContent or find_package."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.channels.package import Package

SUMMARY = "a library for add_subdirectory, FetchContent and find_package"
SUFFIX = ".zip"


def files(package: Package) -> Mapping[str, str]:
    name = package.name
    taken = (
        "    add_subdirectory(" + name + ")          # or FetchContent, or, once installed, find_package",
        f"    target_link_libraries(yours {name}::{name})",
    )
    example = f"`test/test_{name}.c`: `cmake -B build && cmake --build build && ctest --test-dir build`"
    return {**library(package), **package.papers(taken, example)}


def library(package: Package) -> dict[str, str]:
    """Returns the library with its CMakeLists.txt and test program."""
    test = f"test/test_{package.name}.c"
    return {
        **package.placed("include/", "src/"),
        "CMakeLists.txt": package.filled("CMakeLists.txt.jinja", test=test),
        test: package.program(),
    }
