"""Checks that a compiled model is a step of a language model, for the chat program."""

from __future__ import annotations

from pathlib import Path

from aot.errors import InputError
from aot.ir.types import DType
from aot.ops.op import required
from artifact.artifact import Artifact
from codegen.model import TensorInfo
from deploy.inputs.tokenizer import read_tokenizer
from platforms.chat_app import ChatModel, require_platform
from platforms.project import ProjectSource

_INTEGERS = (DType.I32, DType.I64)
_ATTENTION = "cached_attention"


def chat_model(
    source: ProjectSource, artifact: Artifact, platform: str, tokenizer: str | Path | None
) -> ChatModel:
    """Returns what the chat program needs to know. Raises InputError if model or tokenizer do not fit."""
    require_platform(platform)
    where = artifact.facts.source_name
    if tokenizer is None:
        raise InputError(
            "the app chat needs the model's tokenizer", hint="--tokenizer tokenizer.json or tokenizer.model"
        )
    vocabulary = read_tokenizer(Path(tokenizer))
    token, position = _inputs(source, where)
    if len(source.outputs) != 1 or source.outputs[0].type.dtype is not DType.F32 or not source.keeps_state:
        raise InputError(
            f"the app chat needs one float output, the logits, and caches as states; this model has "
            f"{len(source.outputs)} outputs and {'keeps' if source.keeps_state else 'no'} state",
            where,
            "deploy compile --state PAST=PRESENT for each cache",
        )
    (logits,) = source.outputs
    if logits.type.elements != len(vocabulary.texts):
        raise InputError(
            f"the tokenizer has {len(vocabulary.texts):,} tokens, the model {logits.type.elements:,} logits",
            str(tokenizer),
            "use the tokenizer that the model was trained with",
        )
    return ChatModel(vocabulary, token, position, logits, _positions(artifact))


def _inputs(source: ProjectSource, where: str) -> tuple[TensorInfo, TensorInfo | None]:
    """Returns the inputs with the token and its position, which has "pos" in its name."""
    inputs = source.inputs
    are_numbers = all(each.type.dtype in _INTEGERS and each.type.elements == 1 for each in inputs)
    positions = [each for each in inputs if "pos" in each.c_name]
    tokens = [each for each in inputs if each not in positions]
    if not are_numbers or len(tokens) != 1 or len(positions) > 1 or source.is_streamed:
        names = ", ".join(f"{each.name} {each.type.dtype.value}{list(each.type.shape)}" for each in inputs)
        raise InputError(
            f"the app chat needs one integer input, the token, and may have one with its position; "
            f"this model has {names}",
            where,
            "export one step of the model, with caches as inputs and outputs",
        )
    return tokens[0], positions[0] if positions else None


def _positions(artifact: Artifact) -> int:
    """Returns the positions of the caches, beyond which nothing is stored."""
    graph = artifact.graph
    found = [
        required(graph.input_types(node)[1]).shape[2] for node in graph.nodes if node.op.name == _ATTENTION
    ]
    if not found:
        raise InputError(
            "the app chat needs attention to caches of a fixed length, which this model does not have",
            artifact.facts.source_name,
            "export it with ONNX's Attention (nonpad_kv_seqlen) and TensorScatter, operator set 24",
        )
    return min(found)
