"""What is measured: models, boards and what to optimise for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"  # third-party models and the others' figures; not part of the project
RESULTS = Path(__file__).with_name("results.json")

MODELS = (
    "tflm_hello_world_int8",
    "tiny_ad_fc_int8",
    "tiny_kws_dscnn_int8",
    "tiny_ic_resnet8_int8",
    "tiny_vww_mbv1_int8",
    "tflm_person_detect_int8",
    "tflm_micro_speech_int8",
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
    "cfu_mbv2_160_035_int8": "mobilenet_v2",
}


@dataclass(frozen=True, slots=True)
class Case:
    model: str
    board: str
    optimize: str

    @property
    def path(self) -> Path:
        return SHARED / "models" / self.model / "model.tflite"


BOARDS = ("mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")
LARGE_MODELS = ("cfu_mbv2_160_035_int8",)  # more than most boards have room for
LARGE_BOARD = "mps2-an386"
OPTIMIZED_FOR = {"mps2-an386": ("speed", "ram", "size")}  # the other boards: speed


def all_cases() -> tuple[Case, ...]:
    return tuple(
        Case(model, board, goal)
        for board in BOARDS
        for goal in OPTIMIZED_FOR.get(board, ("speed",))
        for model in (*MODELS, *(LARGE_MODELS if board == LARGE_BOARD else ()))
    )
