"""The channel "zephyr-module": a module for Zephyr's west, with a sample for twister."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.channels.package import Package
from platforms.project import App
from platforms.zephyr import SERVER_STACK_BYTES, module_files, module_option

SUMMARY = "a module for Zephyr's west, with a sample that twister runs"
SUFFIX = ".zip"


def files(package: Package) -> Mapping[str, str]:
    source, sample = package.source, f"samples/{package.name}"
    words = {
        "option": module_option(source),
        "stack_bytes": (SERVER_STACK_BYTES + source.stack_bytes + 63) // 64 * 64,
    }
    taken = (
        f"In the application: `list(APPEND EXTRA_ZEPHYR_MODULES path/to/{package.name})` before",
        f"`find_package(Zephyr)`, and in its `prj.conf`: `CONFIG_{words['option']}=y`.",
        "Or as a project of west's manifest: `west.yml` here is such a piece.",
    )
    return {
        **module_files(source, App.STANDALONE, package.artifact.facts.target),
        "west.yml": package.filled("west.yml.jinja"),
        f"{sample}/CMakeLists.txt": package.filled("sample_CMakeLists.txt.jinja"),
        f"{sample}/prj.conf": package.filled("sample_prj.conf.jinja", **words),
        f"{sample}/sample.yaml": package.filled("sample.yaml.jinja"),
        f"{sample}/src/main.c": package.program(),
        **package.papers(taken, f"`{sample}`: `west build -b BOARD {sample}`, or `west twister -T {sample}`"),
    }
