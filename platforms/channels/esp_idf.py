"""The channel "esp-idf": a component for ESP-IDF and its registry."""

from __future__ import annotations

from collections.abc import Mapping

from aot.errors import OutputError
from platforms.channels.package import Package

SUMMARY = "a component for Espressif's IDF and its registry"
SUFFIX = ".zip"


_MACHINES = ("xtensa", "riscv", "host")  # Espressif's cores, and portable C


def files(package: Package) -> Mapping[str, str]:
    _require_espressif(package)
    name = package.name
    taken = (
        "Copy this folder into `components/` of your project, or name it in `main/idf_component.yml`:",
        "",
        f"    dependencies: {{{name}: {{path: path/to/{name}}}}}",
    )
    example = "examples/once"
    return {
        **package.placed("include/", "src/"),
        "CMakeLists.txt": package.filled("idf_CMakeLists.txt.jinja"),
        "idf_component.yml": package.filled("idf_component.yml.jinja"),
        "CHANGELOG.md": package.filled("CHANGELOG.md.jinja"),
        f"{example}/CMakeLists.txt": package.filled("idf_example_CMakeLists.txt.jinja"),
        f"{example}/main/CMakeLists.txt": 'idf_component_register(SRCS "main.c")\n',
        f"{example}/main/idf_component.yml": package.filled("idf_example_component.yml.jinja"),
        f"{example}/main/main.c": _main(package),
        **package.papers(taken, f"`{example}`: `idf.py set-target esp32s3 build flash monitor`"),
    }


def _require_espressif(package: Package) -> None:
    if package.machine not in _MACHINES:
        core = package.artifact.facts.target.core
        raise OutputError(
            f"{package.name} was compiled for {core}, but ESP-IDF builds for Espressif's chips",
            package.name,
            "deploy compile MODEL --board esp32-s3-devkitc-1 -o OUT.tar; other boards: deploy boards list",
        )


def _main(package: Package) -> str:
    body = package.program("static int run_once(void)")
    return f"{body}\nvoid app_main(void)\n{{\n    (void)run_once();\n}}\n"
