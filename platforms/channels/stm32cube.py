"""The channel "stm32cube": a middleware folder for projects of STM32CubeIDE and STM32CubeMX."""

from __future__ import annotations

from collections.abc import Mapping

from platforms.channels.package import Package

SUMMARY = "a middleware folder for projects of STM32CubeIDE and STM32CubeMX"
SUFFIX = ".zip"


def files(package: Package) -> Mapping[str, str]:
    name = package.name
    place = f"Middlewares/Third_Party/{name}"
    taken = (
        "Copy `Middlewares` and `App` next to the project's .ioc file. In STM32CubeIDE add both folders to",
        f"the source locations and `{place}/Inc` and `App` to the include paths. In a project that",
        "STM32CubeMX generated for CMake, after its `add_executable`:",
        "",
        f"    add_subdirectory({place})",
        f"    target_link_libraries(${{CMAKE_PROJECT_NAME}} {name})",
        "    target_sources(${CMAKE_PROJECT_NAME} PRIVATE App/app_" + name + ".c)",
        "",
        "and in `main.c`, between USER CODE BEGIN 2 and its END:",
        "",
        f"    app_{name}_check();",
    )
    own = f'#include "{name}.h"\n'
    program = package.program(f"int app_{name}_check(void)")
    return {
        **package.placed(f"{place}/Inc/", f"{place}/Src/"),
        f"{place}/CMakeLists.txt": package.filled("cube_CMakeLists.txt.jinja"),
        f"App/app_{name}.c": program.replace(own, f'{own}#include "app_{name}.h"\n', 1),
        f"App/app_{name}.h": package.filled("app.h.jinja"),
        **package.papers(taken, f"`App/app_{name}.c`, which runs the model once; yours to change"),
    }
