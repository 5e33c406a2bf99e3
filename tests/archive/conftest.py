"""A small compiled model, and its archive."""

import hashlib

import pytest
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.target import Feature, MemoryRegion, Target
from artifact.archive import write_archive
from artifact.artifact import artifact_of
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

TARGET = Target(
    core="cortex-m4",
    features=frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED}),
    regions=(MemoryRegion("FLASH", 0, 8192, "flash"), MemoryRegion("RAM", 0x2000_0000, 4096, "ram")),
)
RUNTIME = {"solder_model.h": b"/* what a model says of itself */\n"}


@pytest.fixture(scope="session")
def compiled():
    data = TINY["residual"]()
    graph = parse_model(data, "residual.tflite")
    digest = hashlib.sha256(data).hexdigest()
    return compile_job(
        Job(ImportedModel(graph, "residual.tflite", digest, "residual"), TARGET, CompileOptions())
    )


@pytest.fixture
def archive_path(compiled, tmp_path, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    path = tmp_path / "residual.tar"
    write_archive(artifact_of(compiled, RUNTIME), path)
    return path
