"""Measures the cycles of kernels on a core: writes the table that the compiler's search asks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from aot.errors import DeployError
from aot.ir.graph import Graph
from aot.ops.conv2d import Conv2d
from aot.passes.pipeline import run_meaning
from aot.target import Feature, Optimize, Target
from artifact.artifact import artifact_of
from benchmarks.shared import model_file, shapes_for
from benchmarks.spread import SPREAD, chain
from boards.board import Board
from codegen.c.arenas import ANY_REGION
from codegen.compile import compile_plan
from codegen.fit.layer_cycles import FEATURES, Measured, Work, cycle_key, deciding, work_of_stage
from codegen.fit.variant import CompiledPlan, Variant
from codegen.job import ImportedModel, Job, import_model
from codegen.lower.decisions import Decisions, all_layers
from codegen.options import CompileOptions
from deploy.benchmark.cycle_model import random_sample, recorded_run
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build_source
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.cycles.estimate import estimate
from platforms.cycles.model import core_of
from platforms.cycles.stand_in import stand_in
from platforms.project import project_source
from platforms.templates import c_files

FOLDER = Path(__file__).resolve().parent.parent / "codegen/fit/measured"
# Core -> boards whose kernels are measured, emulated by their stand-ins. On the first, memory never waits.
BOARDS: Mapping[str, tuple[str, ...]] = {
    "cortex-m0plus": ("mps2-an383",),
    "cortex-m4": ("mps2-an386", "nucleo-l4r5zi"),  # the second has other kernels, as its flash is slow
    "cortex-m55": ("mps3-an547",),
    "cortex-m7": ("mps2-an500",),
    "hazard3": ("rpi-pico2-riscv",),
}
MODELS = (
    *("tiny_ic_resnet8_int8", "tiny_kws_dscnn_int8", "tiny_vww_mbv1_int8", "tiny_ad_fc_int8"),
    *("tflm_person_detect_int8", "tflm_micro_speech_int8", "ml_micro_kws_m_int8", "te_vww_int8"),
    *("mww_okay_nabu_v2_int8", "tmx_mnist_valid_int8", "cfu_mbv2_160_035_int8", "sl_kws_alexa_int8"),
    *("mww_alexa_v1_int8", "mww_vad_v2_int8", "tmx_mnist_rect_int8", "te_lenet300_logsoftmax_int8"),
    *("sl_fingerprint_int8", "tflm_mnist_lstm_int8", "tflm_kw_scrambled_16x8", "ut_tanh_int8"),
    *("onnx_q_tiny_kws_qdq", "onnx_q_tiny_ad_qdq", "tflm_simple_add_int8", "tflm_hello_world_int8"),
    *("tmx_mnist_valid_f32", "sl_autoencoder_conv_f32", "tflm_hello_world_f32", "tflm_magic_wand_f32"),
)
OF_FLOATS = (  # too long for an emulated core without an FPU
    *("tiny_ic_resnet8_f32", "tiny_kws_dscnn_f32", "tiny_ad_fc_f32", "tflm_mnist_lstm_f32"),
    *("ml_cifar10_f32", "onnx_mnist8_f32", "onnx_silero_vad_16k_op15_f32", "aeq_sdpa_composite_f32"),
)


def measure_costs(core: str, models: Sequence[str] = ()) -> None:
    """Adds to the core's table what these models need, or makes it anew for all."""
    file = FOLDER / f"{core}.json"
    known = _read(file) if models else {}
    boards = [load_board(name) for name in BOARDS[core]]
    has_fpu = Feature.FPU in boards[0].target.features
    for name, board in product(models or (*SPREAD, *MODELS, *(OF_FLOATS if has_fpu else ())), boards):
        for planned in _states(name, board, known):
            try:
                found = dict(_measured(planned, board))
            except DeployError as error:
                sys.stderr.write(f"{name}: {error}\n")
                continue
            sys.stderr.write(f"{name}: {len(found.keys() - known.keys())} kernels of {len(found)} are new\n")
            known |= found
            file.write_text(_text(known, board.target), encoding="utf-8")


def _states(name: str, board: Board, known: Mapping[str, object]) -> Iterator[CompiledPlan]:
    """Plans of a model in which kernels occur that are not known yet."""
    options = CompileOptions() if name in SPREAD else CompileOptions(shapes=shapes_for(name))
    job = Job(_model(name, options), board.target, options)
    meaning = run_meaning(job.model.graph)
    for goal, decided in corners(meaning.graph):
        its = replace(job, options=replace(options, optimize=goal))
        variant = Variant(meaning.graph, job.target, its.options, (ANY_REGION,), decided)
        lowered = variant.lowered
        if all(cycle_key(stage, lowered.tensors) in known for stage in lowered.stages):
            continue
        yield variant.least().checked(its, meaning.steps)


def _model(name: str, options: CompileOptions) -> ImportedModel:
    if name in SPREAD:
        return ImportedModel(chain(*SPREAD[name]), name, "0" * 64, name)
    return import_model(model_file(name), options)


def corners(graph: Graph) -> Iterator[tuple[Optimize, Decisions]]:
    """The same decisions for all layers, or transformed weights in every second convolution.

    Each layer has each of its kernels in one of them, beside layers that go its way and others.
    """
    every, none = all_layers(graph), frozenset[str]()
    half = frozenset([node.name for node in graph.nodes if isinstance(node.op, Conv2d)][::2])
    choices = (
        (every, none, none),
        (every, every, none),
        (every, none, every),
        (every, half, none),
        (none, every, every),
        (none, every, none),
    )
    for widened, compact, frugal in choices:
        for unpadded in (none, every):
            yield Optimize.SPEED, Decisions(widened, unpadded, compact, frugal)


def _measured(planned: CompiledPlan, board: Board) -> Iterator[tuple[str, Measured]]:
    compiled = compile_plan(planned)
    artifact = artifact_of(compiled, {name: text.encode() for name, text in c_files("common")})
    choices = BuildChoices(profile=True)
    ready = build_source(project_source(artifact), stand_in(board), choices)
    layers = estimate(
        recorded_run(ready, LineOptions(), random_sample(artifact)), core_of(board), None
    ).layers
    for number, stage in enumerate(planned.lowered.stages):
        if number in layers:
            key = cycle_key(stage, planned.lowered.tensors)
            yield key, (layers[number].count, work_of_stage(stage))


def _text(known: Mapping[str, Measured], target: Target) -> str:
    """A line for the core's features, and one for each kernel: cycles, and the counts of what it does."""
    rows = {key: [cycles, *work.counts] for key, (cycles, work) in known.items()}
    head = f" {json.dumps(FEATURES)}: {json.dumps(sorted(deciding(target)))},\n"
    return "{\n" + head + ",\n".join(f" {json.dumps(key)}: {rows[key]}" for key in sorted(rows)) + "\n}\n"


def _read(file: Path) -> dict[str, Measured]:
    rows = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {FEATURES: []}
    del rows[FEATURES]
    return {key: (row[0], Work(*row[1:])) for key, row in rows.items()}
