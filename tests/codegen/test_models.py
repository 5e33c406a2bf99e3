"""Third-party int8 models: here and on an emulated Cortex-M4 their golden outputs, bit for bit."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from c_checks import failures_on_board
from model_checks import OPTIONS, PLAIN, check_of, state_check
from model_run import HYBRID

from aot.frontend.load import load_model
from aot.ir.types import Array
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.model import TensorInfo
from codegen.options import CompileOptions, Rounding
from platforms.board_files import load_board
from platforms.shared_library import build

MODELS = (
    "coral_mbv1_025_128_uint8",
    "coral_split_concat_uint8",
    "cfu_mbv2_160_035_int8",
    "ml_micro_kws_m_int8",
    "mww_alexa_v1_int8",
    "mww_okay_nabu_v2_int8",
    "mww_vad_v2_int8",
    "sl_fingerprint_int8",
    "sl_kws_alexa_int8",
    "te_vww_int8",
    "tflm_audio_preproc_f32",  # whole numbers until the last layer scales them
    "tflm_hello_world_int8",
    "tflm_kw_scrambled_16x8",
    "tflm_micro_speech_int8",
    "tflm_mnist_lstm_int8",
    "tflm_person_detect_int8",
    "tiny_ad_fc_int8",
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
    "tmx_mnist_rect_int8",
    "tmx_mnist_valid_int8",
    "ut_tanh_int8",
)
TOO_LARGE = ("coral_deeplab_dm05_uint8",)  # for the memory of the emulated board
FLOAT32 = (
    "aeq_mnist_f32",
    "aeq_sdpa_composite_f32",
    "aeq_toy_transformer_kv_f32",
    "ml_cifar10_f32",
    "ml_detpost_static",
    "ml_lstm_unrolled_f32",
    "ml_reduce_max_multi",
    "ml_text_class_f32",
    "sl_autoencoder_conv_f32",
    "te_lenet300_logsoftmax_int8",  # its last layer is a float one
    "tflm_hello_world_f32",
    "tflm_magic_wand_f32",
    "tflm_mnist_lstm_f32",
    "tiny_kws_dscnn_f32",
    "tmx_mnist_valid_f32",
)
OF_BOTH = ("sl_fingerprint_int8", "tflm_hello_world_int8", "tiny_ad_fc_int8", "tiny_ic_resnet8_int8")
ON_BOARD = 2  # samples
FOR_RAM_ELSEWHERE = {  # tests/platforms/test_sizes.py builds firmware of these, and compares what it says
    "cfu_mbv2_160_035_int8",
    "tflm_micro_speech_int8",
    "tflm_person_detect_int8",
    *(f"tiny_{name}_int8" for name in ("ad_fc", "ic_resnet8", "kws_dscnn", "vww_mbv1")),
}

Samples = list[dict[str, Array]]


def compiled_model(folder: Path, target: Target, options: CompileOptions, name: str) -> CompiledModel:
    """Rounds as the runtime that made the golden outputs does, unless the options say how."""
    if options.rounding is Rounding.AUTO:
        options = replace(options, rounding=Rounding.TFLM)
    path = folder / "model.tflite"
    graph = load_model(path, options.rounding.value)
    return compile_job(Job(ImportedModel(graph, path.name, "00" * 32, name), target, options))


def golden_of(folder: Path, model: CompiledModel, mode: str = "tflm") -> tuple[Samples, Samples]:
    """Inputs and wanted outputs by tensor name."""
    with np.load(folder / "golden.npz") as arrays:
        outputs = [_output_key(arrays, number, mode) for number in range(len(model.outputs))]
        inputs = [f"in_{number}" for number in range(len(model.inputs))]
        return _by_name(arrays, inputs, model.inputs), _by_name(arrays, outputs, model.outputs)


def _output_key(arrays: Mapping[str, Array], number: int, mode: str) -> str:
    other = f"litert_ref_out_{number}"
    return other if mode == "litert-ref" and other in arrays else f"out_{number}"


def _by_name(arrays: Mapping[str, Array], keys: list[str], tensors: tuple[TensorInfo, ...]) -> Samples:
    columns = [arrays[key] for key in keys]
    return [{t.name: a for t, a in zip(tensors, row, strict=True)} for row in zip(*columns, strict=True)]


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS, *TOO_LARGE])
def test_a_model_on_this_computer_gives_its_golden_outputs(name, shared_dir, tmp_path):
    folder = shared_dir / "models" / name
    model = compiled_model(folder, PLAIN, OPTIONS["speed"], "model")
    samples, wanted = golden_of(folder, model)
    host = build(model.sources, tmp_path)
    for sample, outputs in zip(samples, wanted, strict=True):
        if not model.graph.states:
            host.arenas[0][:] = 0xA5
        made = host.run(sample)
        assert all(np.array_equal(made[tensor], outputs[tensor]) for tensor in outputs)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(("name", "tolerance"), [*((name, 1e-5) for name in FLOAT32), *HYBRID.items()])
def test_a_float_model_on_this_computer_is_near_its_golden_outputs(name, tolerance, shared_dir, tmp_path):
    folder = shared_dir / "models" / name
    model = compiled_model(folder, PLAIN, OPTIONS["speed"], "model")
    host = build(model.sources, tmp_path)
    for sample, outputs in zip(*golden_of(folder, model), strict=True):
        made = host.run(sample)
        for tensor, wanted in outputs.items():
            assert np.abs(made[tensor] - wanted).max() <= tolerance * np.abs(wanted).max()  # type: ignore[operator]


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("name", OF_BOTH)
def test_the_other_rounding_gives_the_other_references_outputs(name, shared_dir, tmp_path):
    folder = shared_dir / "models" / name
    model = compiled_model(folder, PLAIN, CompileOptions(rounding=Rounding.LITERT_REF), "model")
    samples, wanted = golden_of(folder, model, "litert-ref")
    host = build(model.sources, tmp_path)
    made = [host.run(sample) for sample in samples]
    assert all(
        np.array_equal(m[tensor], w[tensor]) for m, w in zip(made, wanted, strict=True) for tensor in w
    )


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("options", ["speed", "ram"])
def test_models_on_a_cortex_m4_give_their_golden_outputs(options, shared_dir, tmp_path):
    checks = []
    for number, name in enumerate(MODELS):
        if options == "ram" and name in FOR_RAM_ELSEWHERE:
            continue
        folder = shared_dir / "models" / name
        model = compiled_model(folder, load_board("mps2-an386").target, OPTIONS[options], f"k{number}")
        samples, wanted = golden_of(folder, model)
        check = state_check if model.graph.states else check_of
        checks.append(check(name, model, samples[:ON_BOARD], wanted[:ON_BOARD]))
    assert failures_on_board(checks, tmp_path / "checks") == {}
