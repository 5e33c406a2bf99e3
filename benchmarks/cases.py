"""What is measured: models, boards and what to optimise for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"  # third-party models and the others' figures; not part of the project
RESULTS = Path(__file__).with_name("results.json")
TFLM = Path(__file__).with_name("tflm.json")  # what TensorFlow Lite Micro needs with its own kernels

TUNED_FOR = (
    "tflm_hello_world_int8",
    "tiny_ad_fc_int8",
    "tiny_kws_dscnn_int8",
    "tiny_ic_resnet8_int8",
    "tiny_vww_mbv1_int8",
    "tflm_person_detect_int8",
    "tflm_micro_speech_int8",
    "cfu_mbv2_160_035_int8",
)
OTHER_MODELS = (
    "coral_split_concat_uint8",
    "ml_micro_kws_m_int8",
    "sl_fingerprint_int8",
    "sl_kws_alexa_int8",
    "te_vww_int8",
    "tflm_simple_add_int8",
    "tmx_mnist_rect_int8",
    "tmx_mnist_valid_int8",
    "ut_tanh_int8",
    "aeq_mnist_f32",
    "ml_cifar10_f32",
    "ml_micro_kws_m_f32",
    "sl_autoencoder_conv_f32",
    "tflm_hello_world_f32",
    "tflm_magic_wand_f32",
    "tiny_ad_fc_f32",
    "tiny_ic_resnet8_f32",
    "tiny_kws_dscnn_f32",
    "tmx_mnist_valid_f32",
)
# All other shared models are counted on the cores that are tuned for.
MORE_MODELS = (
    "aeq_mnist_mixed",
    "aeq_sdpa_composite_f32",
    "aeq_toy_transformer_kv_f32",
    "coral_deeplab_dm05_uint8",
    "coral_mbv1_025_128_uint8",
    "dtln_1_hybrid",
    "lrt_conformer_f32",
    "ml_detpost_static",
    "ml_lstm_unrolled_f32",
    "ml_reduce_max_multi",
    "ml_text_class_f32",
    "mww_alexa_v1_int8",
    "mww_okay_nabu_v2_int8",
    "mww_vad_v2_int8",
    "onnx_ali_ic_f32",
    "onnx_ali_kws_f32",
    "onnx_ali_vww_f32",
    "onnx_dc_asl_mcu_f32",
    "onnx_dc_mnist_logsoftmax_f32",
    "onnx_dtln_1_lstm_f32",
    "onnx_match_dscnn_fp16",
    "onnx_ml_micro_kws_m_f32",
    "onnx_mnist8_f32",
    "onnx_o2c_lesson9_f32",
    "onnx_o2c_tfl_helloworld_f32",
    "onnx_q_ml_micro_kws_m_qop_ai_onnx",
    "onnx_q_tiny_ad_qdq",
    "onnx_q_tiny_kws_qdq",
    "onnx_silero_vad_16k_op15_f32",
    "onnx_tiny_ic_resnet_f32",
    "onnx_ulfd_slim320_f32",
    "te_lenet300_logsoftmax_int8",
    "tflm_audio_preproc_f32",
    "tflm_kw_scrambled_16x8",
    "tflm_mnist_lstm_f32",
    "tflm_mnist_lstm_int8",
)
# The names that the others' figures go by.
OTHERS_NAMES = {
    "tflm_hello_world_int8": "hello_world",
    "tiny_ad_fc_int8": "ad01",
    "tiny_kws_dscnn_int8": "dscnn",
    "tiny_ic_resnet8_int8": "resnet8",
    "tiny_vww_mbv1_int8": "vww",
    "tflm_person_detect_int8": "person_detect",
    "tflm_micro_speech_int8": "micro_speech",
}
OTHERS_NAMES_F32 = {"tiny_ad_fc_f32": "ad01", "tiny_ic_resnet8_f32": "resnet8", "tiny_kws_dscnn_f32": "dscnn"}


@dataclass(frozen=True, slots=True)
class Case:
    model: str
    board: str
    optimize: str


BOARDS = (
    "mps2-an383",
    "qemu-riscv32",
    "qemu-riscv32-vectors",
    "mps2-an385",
    "mps2-an386",
    "mps2-an500",
    "mps2-an505",
    "mps3-an547",
)
FEWER_ON = ("qemu-riscv32-vectors",)  # a core that is chosen by few
ALSO_FOR = {"mps2-an386": ("ram", "size"), "mps3-an547": ("size",)}  # beside speed: what is tuned for
_FOR_MEGABYTES = ("coral_deeplab_dm05_uint8", "lrt_conformer_f32")
_MUCH_WEIGHT = (
    "aeq_toy_transformer_kv_f32",
    "coral_mbv1_025_128_uint8",
    "ml_text_class_f32",
    "onnx_ali_ic_f32",
    "onnx_dtln_1_lstm_f32",
    "onnx_silero_vad_16k_op15_f32",
    "onnx_ulfd_slim320_f32",
)
MORE_ON = ("mps2-an386", "mps3-an547")
_FLASH, _RAM = "more constants than its flash holds", "more arena than its RAM holds"
_PATIENCE = "more instructions than its emulator does in minutes"
TOO_LARGE = {  # model and board -> why it is not counted there
    ("tiny_ad_fc_f32", "mps3-an547"): _FLASH,
    # Hundreds of millions of products without an FPU, in Python's hands block by block.
    **{
        (model, "mps2-an383"): _PATIENCE
        for model in ("ml_cifar10_f32", "ml_micro_kws_m_f32", "tiny_ic_resnet8_f32")
    },
    **{(model, board): _RAM for model in _FOR_MEGABYTES for board in MORE_ON},
    **{(model, "mps3-an547"): _FLASH for model in _MUCH_WEIGHT},
}


def goals(board: str) -> tuple[str, ...]:
    return ("speed", *ALSO_FOR.get(board, ()))


def models(board: str, goal: str) -> tuple[str, ...]:
    more = MORE_MODELS if board in MORE_ON else ()
    is_short = goal != "speed" or board in FEWER_ON
    every = TUNED_FOR if is_short else (*TUNED_FOR, *OTHER_MODELS, *more)
    return tuple(model for model in every if (model, board) not in TOO_LARGE)


def all_cases() -> tuple[Case, ...]:
    return tuple(
        Case(model, board, goal) for board in BOARDS for goal in goals(board) for model in models(board, goal)
    )
