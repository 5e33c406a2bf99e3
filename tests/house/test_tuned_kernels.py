"""`deploy tune` measures the kernels of the model that is compiled: all that have knobs, and no others."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from graphs import GRAPHS
from joins import JOINS
from lines import ALONG_TIME
from model_checks import DSP, MVE, OPTIONS, VECTORS
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.ir.graph import Graph
from aot.target import Target
from codegen.compile import compile_job
from codegen.fit.plan_job import plan_job
from codegen.fit.variant import CompiledPlan
from codegen.job import ImportedModel, Job, read_job
from codegen.kernels.kernel import Kernel
from codegen.model import CompiledModel
from platforms.tuning.tasks import Task, tasks_of

GENERATED = {**GRAPHS, **ALONG_TIME, **JOINS}
SHARED = re.findall(
    r"\w+",
    """
    aeq_mnist_f32 aeq_mnist_mixed aeq_sdpa_composite_f32 aeq_toy_transformer_kv_f32 cfu_mbv2_160_035_int8
    coral_deeplab_dm05_uint8 coral_mbv1_025_128_uint8 coral_split_concat_uint8 dtln_1_hybrid
    lrt_conformer_f32 ml_cifar10_f32 ml_detpost_static ml_lstm_unrolled_f32 ml_micro_kws_m_f32
    ml_micro_kws_m_int8 ml_reduce_max_multi ml_text_class_f32 mww_alexa_v1_int8 mww_okay_nabu_v2_int8
    mww_vad_v2_int8 onnx_ali_ic_f32 onnx_ali_kws_f32 onnx_ali_vww_f32 onnx_dc_asl_mcu_f32
    onnx_dc_mnist_logsoftmax_f32 onnx_dtln_1_lstm_f32 onnx_match_dscnn_fp16 onnx_ml_micro_kws_m_f32
    onnx_mnist8_f32 onnx_o2c_lesson9_f32 onnx_o2c_tfl_helloworld_f32 onnx_q_ml_micro_kws_m_qop_ai_onnx
    onnx_q_tiny_ad_qdq onnx_q_tiny_kws_qdq onnx_silero_vad_16k_op15_f32 onnx_tiny_ic_resnet_f32
    onnx_ulfd_slim320_f32 sl_autoencoder_conv_f32 sl_fingerprint_int8 sl_kws_alexa_int8
    te_lenet300_logsoftmax_int8 te_vww_int8 tflm_audio_preproc_f32 tflm_hello_world_f32
    tflm_hello_world_int8 tflm_kw_scrambled_16x8 tflm_magic_wand_f32 tflm_micro_speech_int8
    tflm_mnist_lstm_f32 tflm_mnist_lstm_int8 tflm_person_detect_int8 tflm_simple_add_int8 tiny_ad_fc_f32
    tiny_ad_fc_int8 tiny_ic_resnet8_f32 tiny_ic_resnet8_int8 tiny_kws_dscnn_f32 tiny_kws_dscnn_int8
    tiny_vww_mbv1_int8 tmx_mnist_rect_int8 tmx_mnist_valid_f32 tmx_mnist_valid_int8 ut_tanh_int8
    """,
)
# Of those that leave sizes open.
SIZES = {"onnx_silero_vad_16k_op15_f32": {"input": (1, 512), "state": (2, 1, 128)}}


def job_of(graph: Graph, options: str, target: Target = DSP) -> Job:
    return Job(ImportedModel(graph, "model", "", "model"), target, OPTIONS[options])


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


def assert_tasks_are_those_compiled(job: Job) -> tuple[Task, ...]:
    planned = plan_job(job)
    with pytest.MonkeyPatch.context() as patch:  # planned once; both call this function with the job alone
        patch.setattr("codegen.compile.plan_job", partial(_planned, planned, job))
        compiled = layers_by_task(compile_job(job))
    for kernel in (stage.kernel for stage in planned.lowered.stages):
        if kernel.space is not None and cannot_be_tuned(kernel):
            compiled.pop(kernel.space.task, None)
    tasks = tasks_of(planned)
    assert {task.name: task.layers for task in tasks} == compiled
    return tasks


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


@pytest.mark.parametrize("name", ["conv", "depthwise", "residual"])
@pytest.mark.parametrize("target", [MVE, VECTORS], ids=["helium", "rvv"])
def test_so_they_are_on_cores_with_vectors(name: str, target: Target) -> None:
    assert_tasks_are_those_compiled(job_of(parse_model(TINY[name](), f"{name}.tflite"), "speed", target))


@pytest.mark.slow
@pytest.mark.parametrize("target", [MVE, VECTORS], ids=["helium", "rvv"])
def test_so_they_are_of_a_larger_model_there(target: Target, shared_dir: Path) -> None:
    """Kernels of vectors have no knobs; what such a core computes without them has some."""
    path = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    assert assert_tasks_are_those_compiled(read_job(path, target, OPTIONS["speed"]))


def test_no_shared_model_is_left_out(shared_dir: Path) -> None:
    assert sorted(path.name for path in (shared_dir / "models").iterdir() if path.is_dir()) == SHARED


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
def test_the_tasks_of_a_shared_model_are_the_kernels_of_its_compiled_model(
    name: str, shared_dir: Path
) -> None:
    (path,) = (p for p in (shared_dir / "models" / name).iterdir() if p.stem == "model")
    options = replace(OPTIONS["speed"], shapes=SIZES.get(name, {}))
    assert_tasks_are_those_compiled(read_job(path, DSP, options))
