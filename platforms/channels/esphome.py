"""The channel "esphome": an external component for ESPHome, fed by sensors or by a microphone."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

from aot.errors import OutputError
from aot.ir.types import DType
from codegen.model import TensorInfo
from platforms.channels.package import Package, tensor_words
from platforms.channels.single_file import implementation
from platforms.templates import filled

SUMMARY = "an external component for ESPHome"
SUFFIX = ".zip"

_FILES = {
    "__init__.py": "init.py.jinja",
    "sensor.py": "sensor.py.jinja",
    "binary_sensor.py": "binary_sensor.py.jinja",
}
# Blocks of the example's YAML that choose a chip, by Core.machine.
_PLATFORMS = {
    "xtensa": "esp32:\n  variant: esp32s3\n  framework:\n    type: esp-idf",
    "riscv": "esp32:\n  variant: esp32c3\n  framework:\n    type: esp-idf",
    "arm": "rp2040:\n  board: rpipicow",
    "host": "host:",
}
_SOUND_ELEMENTS = 160  # 10 ms of sound; fewer inputs are readings of sensors
_MOST_SENSORS = 4  # in the example


def files(package: Package) -> Mapping[str, str]:
    if len(package.source.inputs) != 1:
        raise OutputError(
            f"{package.name} has {len(package.source.inputs)} inputs, and the component feeds one",
            package.name,
            "--as esp-idf makes a component that is called from C",
        )
    if package.machine not in _PLATFORMS:
        core = package.artifact.facts.target.core
        raise OutputError(
            f"{package.name} was compiled for {core}, for which ESPHome builds no firmware",
            package.name,
            "deploy compile MODEL --board esp32-s3-devkitc-1 -o OUT.tar",
        )
    name, words = package.name, _words(package)
    folder = f"components/{name}/"
    header, source = implementation(package)
    return {
        f"{folder}{name}.h": header,
        f"{folder}{name}.c": _optimized(package, source),
        f"{folder}{name}_component.h": _filled("component.h.jinja", words),
        f"{folder}{name}_component.cpp": _filled("component.cpp.jinja", words),
        **{folder + file: _filled(template, words) for file, template in _FILES.items()},
        f"examples/{name}.yaml": _filled("example.yaml.jinja", words),
        "README.md": _filled("README.md.jinja", words),
        "LICENSE": package.filled("LICENSE.jinja"),
    }


def _optimized(package: Package, source: str) -> str:
    """Returns the C file with the model's options: ESPHome compiles all files with the same ones."""
    options = [flag for flag in package.source.c_flags if flag.startswith("-O")]
    pragmas = "".join(f'#pragma GCC optimize ("{option}")\n' for option in options)
    return f"#if defined __GNUC__ && !defined __clang__\n{pragmas}#endif\n{source}"


def _filled(template: str, words: Mapping[str, Any]) -> str:
    return filled("esphome", template, **words)


def _words(package: Package) -> dict[str, Any]:
    source = package.source
    first, outputs = _tensor(source.inputs[0]), [_tensor(each) for each in source.outputs]
    rows, hop_rows = (package.header_number(f"{each}_ROWS") for each in ("INPUT", "HOP"))
    row_elements = first["elements"] // rows if rows else 0
    known = package.words
    return {
        **known,
        "platform": _PLATFORMS[package.machine],
        "inputs": [first],
        "outputs": outputs,
        "tensors": [first, *outputs],
        "output_elements": tuple(each["elements"] for each in outputs),
        "row_elements": row_elements,
        "hop_rows": hop_rows,
        "raw_samples": not first["is_float"] and not first["scale"],
        "is_sound": first["elements"] >= _SOUND_ELEMENTS and package.machine in ("xtensa", "riscv"),
        "sensors": row_elements or gcd(first["elements"], _MOST_SENSORS),
        "stack_bytes": source.stack_bytes,
        "arena_arguments": ", ".join(f"this->{each['parameter']}_" for each in known["arenas"]),
    }


def _tensor(tensor: TensorInfo) -> dict[str, Any]:
    dtype = tensor.type.dtype
    low, high = (0, 1) if dtype is DType.BOOL else dtype.limits if dtype.is_integer else (0, 0)
    return {
        **tensor_words(tensor),
        "name": tensor.name,
        "is_float": dtype is DType.F32,
        "low": f"{low}.0",
        "high": f"{high}.0",
    }
