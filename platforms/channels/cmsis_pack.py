"""The channel "cmsis-pack": a component for Keil, CMSIS-Toolbox, IAR and other tools that support packs."""

from __future__ import annotations

from collections.abc import Mapping

from aot.errors import OutputError
from platforms.channels.package import Package

SUMMARY = "a software pack for Keil MDK, CMSIS-Toolbox and IAR"
SUFFIX = ".pack"


def files(package: Package) -> Mapping[str, str]:
    core = package.artifact.facts.target.core
    if package.machine != "arm":
        raise OutputError(
            f"CMSIS-Packs are for Arm's cores, {package.name} is compiled for {core}",
            package.name,
            "compile the model for a board with such a core",
        )
    name, vendor = package.name, package.words["vendor"]
    taken = (
        f"    cpackget add {vendor}.{name}.{package.options.version}.pack",
        "",
        "and in a cproject.yml, or by a tick in Keil's manager of components:",
        "",
        f"    components: [{{component: 'Machine Learning:Model:{name}'}}]",
    )
    return {
        f"{vendor}.{name}.pdsc": package.filled("pack.pdsc.jinja", arm_core=_called(core)),
        **package.placed("include/", "src/"),
        f"examples/test_{name}.c": package.program(),
        **package.papers(taken, f"`examples/test_{name}.c`, which the pack offers as a template"),
    }


def _called(core: str) -> str:
    """Returns the core's name in packs: "Cortex-M0+" for "cortex-m0plus"."""
    return "-".join(part.capitalize() for part in core.replace("plus", "+").split("-"))
