"""The channel "rust": a crate without dependencies and without std, which compiles the model's C itself.

It has sources, not an object, because Cargo's target decides how functions pass floats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from aot.errors import OutputError
from aot.ir.types import DType
from platforms.channels.package import Package
from platforms.cpp_header import cpp_words
from platforms.templates import filled
from platforms.toolchains import cpu_flags

SUMMARY = "a no_std crate without dependencies, for Cargo"
SUFFIX = ".zip"

_ARCHITECTURES = {  # as Cargo names them, by Core.machine and bytes of a pointer; "" is any
    ("arm", 4): "arm",
    ("riscv", 4): "riscv32",
    ("riscv", 8): "riscv64",
    ("host", 8): "",
}
_TARGETS = {  # by the core's architecture; "hf" is added for an FPU
    "armv6-m": "thumbv6m-none-eabi",
    "armv7-m": "thumbv7m-none-eabi",
    "armv7e-m": "thumbv7em-none-eabi",
    "armv8-m.base": "thumbv8m.base-none-eabi",
    "armv8-m.main": "thumbv8m.main-none-eabi",
    "armv8.1-m.main": "thumbv8m.main-none-eabi",
}
_TYPES = {
    DType.I8: "i8", DType.U8: "u8", DType.I16: "i16", DType.I32: "i32", DType.I64: "i64", DType.F32: "f32",
    DType.BOOL: "u8", DType.U32: "u32", DType.U64: "u64",
}  # fmt: skip
# The test program's inputs, as in plain_sources.
_MADE_UP = {
    DType.I8: "((made_up.bits() >> 24) as i32 - 128) as i8",
    DType.U8: "(made_up.bits() >> 24) as u8",
    DType.I16: "((made_up.bits() >> 16) as i32 - 32768) as i16",
    DType.F32: "(made_up.bits() >> 8) as f32 / 8388608.0 - 1.0",
}
_TAKEN = frozenset(  # keywords that C lacks, and Rust's own crates
    re.findall(
        r"\w+",
        "abstract alloc as async await become box core crate dyn extern final fn impl in let loop macro "
        "match mod move mut override priv proc_macro pub ref self std super test trait type unsafe unsized "
        "use where yield",
    )
)


def files(package: Package) -> Mapping[str, str]:
    _require_supported(package)
    words = {**package.words, **_words(package)}
    taken = (
        "    cargo add --path path/to/" + package.name,
        "",
        f"The build script calls {words['default_cc']}. Set `CC` for another C compiler, `AR` for its `ar`.",
    )
    texts = {
        "Cargo.toml": "Cargo.toml.jinja",
        "build.rs": "build.rs.jinja",
        "src/lib.rs": "lib.rs.jinja",
        "tests/reference.rs": "reference.rs.jinja",
        "examples/once.rs": "once.rs.jinja",
        **({f"c/{package.name}_stream.c": "stream.c.jinja"} if words["is_streamed"] else {}),
    }
    how = "`cargo run --example once`, on this computer" if not words["arch"] else "a start for your program"
    return {
        **package.placed("c/", "c/"),
        **{place: filled("rust", template, **words) for place, template in texts.items()},
        **package.papers(taken, f"`examples/once.rs`: {how}", "rust", **words),
    }


def _require_supported(package: Package) -> None:
    for problem, fix in _problems(package):
        raise OutputError(f"{package.name} {problem}", package.name, fix)


def _problems(package: Package) -> Iterator[tuple[str, str]]:
    source, core = package.source, package.artifact.facts.target.core
    if _architecture(package) is None:
        yield (
            f"is compiled for {core}, for which Rust has no stable target",
            "a board with an Arm or RISC-V core",
        )
    if len(source.arenas) > 1:
        yield "works in several memories, and a crate has one", "compile it without --pool"
    if source.observes:
        yield (
            "counts in variables that threads would share",
            "compile it without --observe",
        )


def _architecture(package: Package) -> str | None:
    return _ARCHITECTURES.get((package.machine, package.core.pointer_bytes))


def _words(package: Package) -> dict[str, Any]:
    source, core, target = package.source, package.core, package.artifact.facts.target
    cpu = cpu_flags(target, "gcc") if "gcc" in core.options else ()
    header = source.headers[f"{source.name}.h"]
    inputs, outputs = (_tensors(package, header, group) for group in ("inputs", "outputs"))
    words = cpp_words(source)
    sources = [*package.words["sources"], *([f"{source.name}_stream.c"] if source.is_streamed else [])]
    return {
        "crate": _safe(source.name, "_model"),
        "arch": _architecture(package),
        "rust_target": _rust_target(core.architecture, " ".join(cpu)),
        "default_cc": package.words["cc"],
        "sources": sources,
        "c_flags": [*source.c_flags, *cpu],
        "uses_math": "math.h" in source.c_headers,
        "arena_bytes": _defined(header, source.name, "ARENA_BYTES"),
        "arena_align": _defined(header, source.name, "ARENA_ALIGN"),
        "input_rows": _defined(header, source.name, "INPUT_ROWS"),
        "row_elements": _defined(header, source.name, "INPUT_ROW_ELEMENTS"),
        "stream_words": 4 + len(package.artifact.facts.layers),
        "window_hops": _defined(header, source.name, "WINDOW_HOPS"),
        "counts_hops": words["counts_hops"],
        "inputs": inputs,
        "outputs": outputs,
        "has_places": words["has_placed_inputs"] and words["has_placed_outputs"] and _are_apart(inputs),
    }


def _tensors(package: Package, header: str, group: str) -> list[dict[str, Any]]:
    source = package.source
    found = []
    for tensor, there, known in zip(
        getattr(source, group), package.words[group], cpp_words(source)[group], strict=True
    ):
        kind, upper = tensor.type, tensor.c_name.upper()
        scale = _defined(header, source.name, f"{upper}_SCALE")
        found.append(
            {
                **known,
                **there,
                "field": _safe(tensor.c_name, "_"),
                "rust_type": _TYPES[kind.dtype],
                "zero": "0.0" if kind.dtype is DType.F32 else "0",
                "made_up": _MADE_UP.get(kind.dtype, f"(made_up.bits() >> 31) as {_TYPES[kind.dtype]}"),
                "is_quantized": bool(known["least"]) and scale != "",
                "scale": str(np.float32(scale.removesuffix("f"))) if scale else "",
                "zero_point": _defined(header, source.name, f"{upper}_ZERO_POINT").strip("()"),
                "offset": int(_defined(header, source.name, f"{upper}_OFFSET") or 0),
                "bytes": tensor.bytes,
            }
        )
        if group == "outputs":
            found[-1]["expected"] = [value.removesuffix("f") for value in there["expected"]]
            found[-1]["tolerance"] = there["tolerance"].removesuffix("f")
    return found


def _are_apart(inputs: list[dict[str, Any]]) -> bool:
    """Returns True if no two inputs share bytes: each gets an exclusive reference."""
    ends = sorted((each["offset"], each["offset"] + each["bytes"]) for each in inputs)
    return all(end <= begin for (_, end), (begin, _) in pairwise(ends))


def _defined(header: str, model: str, name: str) -> str:
    """Returns the value of a macro in the model's header, as C programs see it; "" if there is none."""
    found = re.search(rf"^#define {model.upper()}_{name} (.*?)u?(?: /\*.*)?$", header, re.MULTILINE)
    return found.group(1) if found else ""


def _rust_target(architecture: str, cpu: str) -> str:
    """Returns the target's name for `cargo build`; "" for this computer."""
    if march := re.search(r"-march=rv(32|64)([a-z]+)", cpu):
        letters = march.group(2).replace("imafdc", "gc")
        return f"riscv{march.group(1)}{letters}-unknown-none-elf"
    hard_float = "hf" if "-mfloat-abi=hard" in cpu else ""
    return f"{_TARGETS[architecture]}{hard_float}" if architecture in _TARGETS else ""


def _safe(word: str, suffix: str) -> str:
    return f"{word}{suffix}" if word in _TAKEN else word
