"""The C that runs regions: a function for each number of inputs and results, and what it calls."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from codegen.kernels.c_function import CFile, CLibrary

_MODEL = ("model", "memory", "scaling", "stream", "weights", "operations", "elementwise")
_HEADERS = ("model/ethos_u_model.h", "model/ethos_u_device.h", "model/ethos_u_stream.h", "ethos_u_invoke.h")
_SOURCES = ("ethos_u_invoke.c", *(f"model/ethos_u_{part}.c" for part in _MODEL))
_CODE_BYTES = 11_000  # of the model on Cortex-M; a driver is smaller
STACK_BYTES = 7_400  # of the device's registers and tables, and of sums
ROOM = 16_384  # of decoded weights: what one channel of a filter may have


def function_name(inputs: int, outputs: int) -> str:
    return f"ethos_u_{inputs}_{outputs}"


def tensor_names(inputs: int, outputs: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(f"x{n}" for n in range(inputs)), ("y", *(f"y{n}" for n in range(1, outputs)))


@cache
def library(inputs: int, outputs: int) -> CLibrary:
    name = function_name(inputs, outputs)
    shared = tuple(_file(path) for path in (*_HEADERS, *_SOURCES))
    return CLibrary(
        CFile(f"{name}.h", _header(inputs, outputs)),
        (CFile(f"{name}.c", _source(inputs, outputs)), *shared),
        code_bytes=_CODE_BYTES,
    )


def _file(path: str) -> CFile:
    found = files("codegen.accelerators.ethos_u").joinpath(path)
    return CFile(path.rpartition("/")[2], found.read_text(encoding="utf-8"))


def _signature(inputs: int, outputs: int) -> str:
    name, (xs, ys) = function_name(inputs, outputs), tensor_names(inputs, outputs)
    parameters = [
        *(f"const void *{x}" for x in xs),
        *(f"void *{y}" for y in ys),
        "const int8_t *commands",
        "const int8_t *constants",
        "int8_t *scratch",
        f"const struct {name}_shape *shape",
    ]
    return f"void {name}(\n    " + ",\n    ".join(parameters) + ")"


def _header(inputs: int, outputs: int) -> str:
    name, (xs, ys) = function_name(inputs, outputs), tensor_names(inputs, outputs)
    members = "".join(f"    int32_t {tensor}_at, {tensor}_bytes;\n" for tensor in (*xs, *ys))
    return f"""/* Runs a region with {inputs} input(s) and {outputs} result(s) on an Ethos-U. */
#ifndef {name.upper()}_H
#define {name.upper()}_H

#include <stdint.h>

/* Where tensors lie in the scratch, and sizes in bytes. */
struct {name}_shape {{
    int32_t commands_bytes, constants_bytes, scratch_bytes;
{members}}};

{_signature(inputs, outputs)};

#endif
"""


def _source(inputs: int, outputs: int) -> str:
    name, (xs, ys) = function_name(inputs, outputs), tensor_names(inputs, outputs)
    copies_in = "".join(f"    ethos_u_copy(scratch + shape->{x}_at, {x}, shape->{x}_bytes);\n" for x in xs)
    copies_out = "".join(f"    ethos_u_copy({y}, scratch + shape->{y}_at, shape->{y}_bytes);\n" for y in ys)
    return f"""/* Brings tensors to the device and back: it reads and writes nothing but its scratch. */
#include "{name}.h"
#include "ethos_u_invoke.h"

{_signature(inputs, outputs)}
{{
    struct ethos_u_memory memory;
    memory.commands = commands;
    memory.constants = constants;
    memory.scratch = scratch;
    memory.commands_bytes = shape->commands_bytes;
    memory.constants_bytes = shape->constants_bytes;
    memory.scratch_bytes = shape->scratch_bytes;
{copies_in}    ethos_u_invoke(&memory);
{copies_out}}}
"""
