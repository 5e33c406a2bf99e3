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

    @property
    def path(self) -> Path:
        return SHARED / "models" / self.model / "model.tflite"


BOARDS = ("mps2-an383", "qemu-riscv32", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")
ALSO_FOR = {"mps2-an386": ("ram", "size"), "mps3-an547": ("size",)}  # beside speed: what is tuned for
TOO_LARGE = {
    ("tiny_ad_fc_f32", "mps3-an547"),  # a megabyte of weights
    # Millions of products without an FPU: more instructions than the counter holds.
    ("ml_cifar10_f32", "mps2-an383"),
    ("ml_micro_kws_m_f32", "mps2-an383"),
    ("ml_micro_kws_m_f32", "qemu-riscv32"),
    *(("tiny_ic_resnet8_f32", board) for board in ("mps2-an383", "mps2-an385", "qemu-riscv32")),
}


def goals(board: str) -> tuple[str, ...]:
    return ("speed", *ALSO_FOR.get(board, ()))


def models(board: str, goal: str) -> tuple[str, ...]:
    every = (*TUNED_FOR, *OTHER_MODELS) if goal == "speed" else TUNED_FOR
    return tuple(model for model in every if (model, board) not in TOO_LARGE)


def all_cases() -> tuple[Case, ...]:
    return tuple(
        Case(model, board, goal) for board in BOARDS for goal in goals(board) for model in models(board, goal)
    )
