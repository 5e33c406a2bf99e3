"""Many compiled models in one shared library of this computer, so that a thousand take one compiler run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from codegen.model import CompiledModel
from platforms.shared_library import HostModel
from platforms.templates import template_text

_FLAGS = ("-std=c99", "-O0", "-fPIC", "-w")
_LINES = 60  # files of models to a compiler run: a run costs as much as a few small models


def build_batch(models: Mapping[str, CompiledModel], folder: Path) -> Mapping[str, HostModel]:
    """Each model by its C name, which must be its own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "solder_model.h").write_text(template_text("common", "solder_model.h"), encoding="utf-8")
    sources = [_written(model, folder) for model in models.values()]
    groups = [sources[i : i + _LINES] for i in range(0, len(sources), _LINES)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda group: _gcc([*_FLAGS, "-c", *group], folder), groups))
    _gcc(
        ["-shared", *(source.replace(".all.c", ".all.o") for source in sources), "-o", "batch.so", "-lm"],
        folder,
    )
    return {name: HostModel(folder / "batch.so", name) for name in models}


def _written(model: CompiledModel, folder: Path) -> str:
    """One file that includes the model's others: their static functions meet nobody else's."""
    for name, text in model.sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    files = sorted(name for name in model.sources if name.endswith(".c"))
    whole = f"{model.name}.all.c"
    (folder / whole).write_text("".join(f'#include "{name}"\n' for name in files), encoding="utf-8")
    return whole


def _gcc(arguments: list[str], folder: Path) -> None:
    done = subprocess.run(["gcc", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
