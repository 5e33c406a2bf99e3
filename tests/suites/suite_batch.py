"""Many compiled models in a few shared libraries of this computer, sixty in each."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from c_sheets import sheets

from aot.target import Target
from codegen.compile import CompiledModel
from platforms.shared_library import HostModel
from platforms.templates import template_text
from platforms.toolchains import Toolchain, find_toolchain

_FLAGS = ("-std=c99", "-fPIC", "-w", "-fno-sanitize=all")  # zig checks unless it is told not to
_FAST = "-O0"
_MODELS_A_LIBRARY = 60
_WEIGHTS = "_weights.c"


def build_batch(models: Mapping[str, CompiledModel], folder: Path) -> Mapping[str, HostModel]:
    """Each model by its C name, which must be its own, compiled by gcc as fast as it can."""
    libraries = build_libraries(models, folder, "gcc", _FAST)
    return {name: HostModel(libraries[name], name) for name in models}


def build_libraries(
    models: Mapping[str, CompiledModel], folder: Path, compiler: str, level: str
) -> Mapping[str, Path]:
    """The library that each model is in. Weights are compiled apart from code that reads them, as they are
    for a user, so that a compiler sees no more of them there than their declarations."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "solder_model.h").write_text(template_text("common", "solder_model.h"), encoding="utf-8")
    toolchain = find_toolchain(Target("host"), compiler)
    groups = {f"batch_{number}.so": group for number, group in enumerate(_groups(list(models.values())))}
    files = {library: list(_written(group, folder)) for library, group in groups.items()}
    with ThreadPoolExecutor(2) as pool:
        built = pool.map(lambda library: _build(toolchain, level, files[library], library, folder), groups)
        return {
            model.name: library
            for library, group in zip(built, groups.values(), strict=True)
            for model in group
        }


def _groups(models: Sequence[CompiledModel]) -> Iterator[Sequence[CompiledModel]]:
    for start in range(0, len(models), _MODELS_A_LIBRARY):
        yield models[start : start + _MODELS_A_LIBRARY]


def _written(models: Sequence[CompiledModel], folder: Path) -> Iterator[str]:
    """The files to compile: one for the weights of all, and few for their code."""
    weights = []
    for model in models:
        for name, text in model.sources.items():
            (folder / name).write_text(text, encoding="utf-8")
        weights += [name for name in sorted(model.sources) if name.endswith(_WEIGHTS)]
    code = [{n: text for n, text in model.sources.items() if n not in weights} for model in models]
    texts = [_including(sorted(name for name in files if name.endswith(".c"))) for files in code]
    for number, text in enumerate((*sheets(texts, code), _including(weights))):
        name = f"{models[0].name}.{number}.c"
        (folder / name).write_text(text, encoding="utf-8")
        yield name


def _including(files: Sequence[str]) -> str:
    return "".join(f'#include "{file}"\n' for file in files)


def _build(toolchain: Toolchain, level: str, files: Sequence[str], library: str, folder: Path) -> Path:
    """Each file by itself where optimizing takes its time: ccache keeps single objects, but none of zig."""
    argv = (*toolchain.argv, *_FLAGS, level)
    if toolchain.family == "zig" or level == _FAST:
        _run([*argv, "-shared", *files, "-o", library, "-lm"], folder)
        return folder / library
    for file in files:
        _run([*argv, "-c", file, "-o", f"{file}.o"], folder)
    _run([*argv, "-shared", *(f"{file}.o" for file in files), "-o", library, "-lm"], folder)
    return folder / library


def _run(argv: Sequence[str], folder: Path) -> None:
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
