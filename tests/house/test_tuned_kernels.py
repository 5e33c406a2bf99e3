"""`deploy tune` measures the kernels of the model that is compiled: all that have knobs, and no others."""

from collections.abc import Mapping

import pytest
from graphs import GRAPHS
from joins import JOINS
from lines import ALONG_TIME
from model_checks import DSP, MVE, OPTIONS, VECTORS
from tiny_models import TINY
from tuned_layers import tuned_layers

from aot.frontend.load import parse_model
from aot.ir.graph import Graph
from aot.target import Target
from codegen.fit.plan_job import plan_job
from codegen.job import ImportedModel, Job, read_job

GENERATED = {**GRAPHS, **ALONG_TIME, **JOINS}


def job_of(graph: Graph, options: str, target: Target = DSP) -> Job:
    return Job(ImportedModel(graph, "model", "", "model"), target, OPTIONS[options])


def tasks_as_compiled(job: Job) -> Mapping[str, int]:
    """The tasks, which are those of the compiled layers."""
    found = tuned_layers(plan_job(job))
    assert found.tasks == found.compiled
    return found.tasks


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATED)
def test_the_tasks_of_a_network_are_the_kernels_of_its_compiled_model(name):
    tasks_as_compiled(job_of(GENERATED[name](), "speed"))


@pytest.mark.parametrize("name", TINY)
def test_the_tasks_of_a_model_file_are_the_kernels_of_its_compiled_model(name):
    tasks_as_compiled(job_of(parse_model(TINY[name](), f"{name}.tflite"), "speed"))


@pytest.mark.parametrize("name", ["conv", "depthwise", "residual"])
@pytest.mark.parametrize("target", [MVE, VECTORS], ids=["helium", "rvv"])
def test_so_they_are_on_cores_with_vectors(name, target):
    tasks_as_compiled(job_of(parse_model(TINY[name](), f"{name}.tflite"), "speed", target))


@pytest.mark.slow
@pytest.mark.parametrize("target", [MVE, VECTORS], ids=["helium", "rvv"])
def test_so_they_are_of_a_larger_model_there(target, shared_dir):
    """Kernels of vectors have no knobs; what such a core computes without them has some."""
    path = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    assert tasks_as_compiled(read_job(path, target, OPTIONS["speed"]))
