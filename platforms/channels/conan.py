"""The channel "conan": a recipe with its sources, and a test package."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.channels import cmake
from platforms.channels.package import Package

SUMMARY = "a recipe for Conan 2, with its test package"
SUFFIX = ".zip"


def files(package: Package) -> Mapping[str, str]:
    name, version = package.name, package.options.version
    taken = (
        "    conan create .",
        "",
        f'and in your own recipe: `requires = "{name}/{version}"`; in CMake `find_package({name})` and',
        f"`target_link_libraries(yours {name}::{name})`.",
    )
    return {
        **cmake.library(package),
        "conanfile.py": package.filled("conanfile.py.jinja"),
        "test_package/conanfile.py": package.filled("test_conanfile.py.jinja"),
        "test_package/CMakeLists.txt": package.filled("test_CMakeLists.txt.jinja"),
        f"test_package/test_{name}.c": package.program(),
        **package.papers(taken, "`test_package`, which `conan create` builds and runs"),
    }
