"""The C code that runs regions: a function for each number of inputs and results, and its dependencies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from codegen.kernels.kernel import CFile, CLibrary
from extensions.ethos_u.configurations import NpuConfig

_PARTS = ("model", "memory", "scaling", "stream", "weights", "operations", "elementwise")
_MODEL = (
    *("model/ethos_u_model.h", "model/ethos_u_device.h", "model/ethos_u_stream.h"),
    *(f"model/ethos_u_{part}.c" for part in _PARTS),
)
ROOM = 16_384  # bytes of decoded weights, the limit for one channel of a filter


@dataclass(frozen=True)
class Executor:
    """The C code that executes commands, and its approximate code and stack size on a Cortex-M."""

    files: tuple[CFile, ...]
    code_bytes: int
    stack_bytes: int


def by_model() -> Executor:
    """Returns the C model of the device, for any core. Its stack holds registers, tables and sums."""
    return Executor((*model_files(), own_file("ethos_u_by_model.c")), 11_000, 7_400)


def by_registers(config: NpuConfig, address: str) -> Executor:
    """Returns the executor for a device at this address, given as hexadecimal digits."""
    place = (
        "/* Where the NPU's registers are, and which NPU it is, as its register CONFIG says. */\n"
        f"#define ETHOS_U_ADDRESS {address}u\n#define ETHOS_U_CONFIG {config.register:#010x}u\n"
    )
    return Executor((CFile("ethos_u_place.h", place), own_file("ethos_u_by_registers.c")), 1_000, 160)


def model_files() -> tuple[CFile, ...]:
    return tuple(map(own_file, _MODEL))


def function_name(inputs: int, outputs: int) -> str:
    return f"ethos_u_{inputs}_{outputs}"


def tensor_names(inputs: int, outputs: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(f"x{n}" for n in range(inputs)), ("y", *(f"y{n}" for n in range(1, outputs)))


@cache
def library(inputs: int, outputs: int, executor: Executor) -> CLibrary:
    name = function_name(inputs, outputs)
    shared = (own_file("ethos_u_invoke.h"), own_file("ethos_u_invoke.c"), *executor.files)
    return CLibrary(
        CFile(f"{name}.h", _header(inputs, outputs)),
        (CFile(f"{name}.c", _source(inputs, outputs)), *shared),
        code_bytes=executor.code_bytes,
    )


@cache
def own_file(path: str) -> CFile:
    found = files("extensions.ethos_u").joinpath(path)
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
