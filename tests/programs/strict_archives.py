"""Small archives in strict C that foreign tools look at, and changes that they must find."""

import re
from dataclasses import replace

from tiny_models import TINY

from aot.frontend.tflite.read import read_tflite
from artifact.artifact import Artifact, artifact_of
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CDialect, CompileOptions
from platforms.board_files import load_board

STRICT = CompileOptions(dialect=CDialect.STRICT)


def artifact(name: str, options: CompileOptions | None = None) -> Artifact:
    graph = read_tflite(TINY[name](), f"{name}.tflite", "tflm")
    model = ImportedModel(graph, f"{name}.tflite", "cd" * 32, name)
    return artifact_of(compile_job(Job(model, load_board("nucleo-f446re").target, options or STRICT)))


def changed(made: Artifact, pattern: str, by: str) -> Artifact:
    """The archive with one place of the model's C changed."""
    (path,) = (path for path in made.files if path.endswith(f"/{made.name}.c"))
    text, times = re.subn(pattern, by, made.files[path].decode(), count=1)
    assert times == 1
    return replace(made, files={**made.files, path: text.encode()})
