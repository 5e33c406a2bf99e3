"""The channel "platformio": a library for any framework and platform of PlatformIO."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from platforms.channels.package import Package
from platforms.toolchains import code_flags

SUMMARY = "a library for PlatformIO, of any framework and platform"
SUFFIX = ".zip"
_MOST_SAID = 255  # maximum description length in characters


def files(package: Package) -> Mapping[str, str]:
    taken = (
        "Copy this folder into `lib/` of your project, or name it in `platformio.ini`:",
        "",
        f"    lib_deps = symlink://path/to/{package.name}",
    )
    example = "examples/once/main.c"
    return {
        **package.placed("include/", "src/"),
        example: package.program(),
        "library.json": json.dumps(_library(package), indent=2) + "\n",
        **package.papers(taken, f"`{example}`"),
    }


def _library(package: Package) -> dict[str, Any]:
    own, name = package.options, package.name
    flags = [*package.source.c_flags, *code_flags(package.artifact.facts.target), "-lm"]
    return {
        "name": name,
        "version": own.version,
        "description": f"{package.sentence}."[:_MOST_SAID],
        "keywords": ["neural network", "inference", "tinyml"],
        "authors": [{"name": own.author.partition("<")[0].strip()}],
        "homepage": own.url,
        "license": own.license,
        "frameworks": "*",
        "platforms": "*",
        "headers": f"{name}.h",
        "build": {"flags": flags, "includeDir": "include", "srcDir": "src"},
        "examples": [{"name": "once", "base": "examples/once", "files": ["main.c"]}],
    }
