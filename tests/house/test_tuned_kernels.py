"""`deploy tune` measures the kernels of the model that is compiled: all that have knobs, and no others."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from graphs import GRAPHS
from joins import JOINS
from lines import ALONG_TIME
from model_checks import DSP, OPTIONS
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.ir.graph import Graph
from codegen.compile import compile_job
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job, read_job
from codegen.kernels.kernel import Kernel
from codegen.model import CompiledModel
from platforms.tuning.tasks import tasks_of

GENERATED = {**GRAPHS, **ALONG_TIME, **JOINS}
# The shared models that are compiled in less than a sixth of a second.
SHARED = re.findall(
    r"\w+",
    """
    aeq_mnist_mixed aeq_sdpa_composite_f32 coral_split_concat_uint8 dtln_1_hybrid ml_cifar10_f32
    ml_lstm_unrolled_f32 ml_micro_kws_m_f32 ml_micro_kws_m_int8 ml_reduce_max_multi ml_text_class_f32
    mww_vad_v2_int8 onnx_ali_kws_f32 onnx_dc_asl_mcu_f32 onnx_dc_mnist_logsoftmax_f32 onnx_dtln_1_lstm_f32
    onnx_match_dscnn_fp16 onnx_mnist8_f32 onnx_q_tiny_ad_qdq onnx_q_tiny_kws_qdq sl_autoencoder_conv_f32
    sl_fingerprint_int8 te_lenet300_logsoftmax_int8 tflm_audio_preproc_f32 tflm_hello_world_f32
    tflm_hello_world_int8 tflm_magic_wand_f32 tflm_micro_speech_int8 tflm_mnist_lstm_f32 tflm_mnist_lstm_int8
    tflm_simple_add_int8 tiny_ad_fc_f32 tiny_ad_fc_int8 tiny_kws_dscnn_int8 tmx_mnist_rect_int8
    tmx_mnist_valid_f32 tmx_mnist_valid_int8 ut_tanh_int8
    """,
)


def job_of(graph: Graph, options: str) -> Job:
    return Job(ImportedModel(graph, "model", "", "model"), DSP, OPTIONS[options])


def layers_by_task(model: CompiledModel) -> Counter[str]:
    """What `deploy inspect --layers` and the archive say of each layer's kernel."""
    said = (layer.why.rpartition("; task ") for layer in model.layers)
    return Counter(task for _, has_task, task in said if has_task)


def cannot_be_tuned(kernel: Kernel) -> bool:
    """It has a single point here, or runs once and not row by row, which no bench measures."""
    return kernel.space is not None and (kernel.whole or not kernel.space.has_choice)


def _planned(planned: CompiledPlan, job: Job, asked: Job) -> CompiledPlan:
    assert asked is job
    return planned


def assert_tasks_are_those_compiled(job: Job) -> None:
    planned = plan_job(job)
    with pytest.MonkeyPatch.context() as patch:  # planned once; both call this function with the job alone
        patch.setattr("codegen.compile.plan_job", partial(_planned, planned, job))
        compiled = layers_by_task(compile_job(job))
    for kernel in (stage.kernel for stage in planned.lowered.stages):
        if kernel.space is not None and cannot_be_tuned(kernel):
            compiled.pop(kernel.space.task, None)
    assert {task.name: task.layers for task in tasks_of(planned)} == compiled


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATED)
def test_the_tasks_of_a_network_are_the_kernels_of_its_compiled_model(name: str) -> None:
    assert_tasks_are_those_compiled(job_of(GENERATED[name](), "speed"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONG_TIME)
def test_so_they_are_where_memory_is_the_goal(name: str) -> None:
    assert_tasks_are_those_compiled(job_of(ALONG_TIME[name](), "ram"))


@pytest.mark.parametrize("name", TINY)
def test_the_tasks_of_a_model_file_are_the_kernels_of_its_compiled_model(name: str) -> None:
    assert_tasks_are_those_compiled(job_of(parse_model(TINY[name](), f"{name}.tflite"), "speed"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_the_tasks_of_a_shared_model_are_the_kernels_of_its_compiled_model(
    name: str, shared_dir: Path
) -> None:
    (path,) = (p for p in (shared_dir / "models" / name).iterdir() if p.stem == "model")
    assert_tasks_are_those_compiled(read_job(path, DSP, OPTIONS["speed"]))
