"""Which operators of a file are read, of which sets, and why the others are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import onnx
from onnx import GraphProto, ModelProto, NodeProto

from aot.errors import ModelError
from aot.frontend.onnx.functions import body_of
from aot.frontend.onnx.importers import IMPORTERS, OF_DOMAIN

OLDEST = 7
STANDARD = ("", "ai.onnx")
_WITH_BODIES = (*STANDARD, "ai.onnx.preview")  # domains whose operators ONNX defines by others

_TEXTS = "it works on texts, numbers are supported"
_SEQUENCES = "it works on sequences, tensors are supported"
_OPTIONAL = "it works on values that may be absent, tensors are supported"
_SIZES = "the size of its result depends on the data, sizes must be known"
_RANDOM = "it gives random numbers"
_TRAINING = "it is for training"
WHY_NOT: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit"), _TEXTS),
        **dict.fromkeys(("LabelEncoder", "TfIdfVectorizer"), _TEXTS),
        **dict.fromkeys(("ConcatFromSequence", "SequenceAt", "SequenceConstruct"), _SEQUENCES),
        **dict.fromkeys(("SequenceEmpty", "SequenceErase", "SequenceInsert"), _SEQUENCES),
        **dict.fromkeys(("SequenceLength", "SequenceMap", "SplitToSequence"), _SEQUENCES),
        **dict.fromkeys(("Optional", "OptionalGetElement", "OptionalHasElement"), _OPTIONAL),
        **dict.fromkeys(("NonMaxSuppression", "Unique"), _SIZES),
        **dict.fromkeys(("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike"), _RANDOM),
        **dict.fromkeys(("RandomUniform", "RandomUniformLike"), _RANDOM),
        **dict.fromkeys(("Adagrad", "Adam", "Gradient", "Momentum"), _TRAINING),
        "ArrayFeatureExtractor": "it belongs to other methods than networks",
        "Binarizer": "it belongs to other methods than networks",
        "TreeEnsemble": "it belongs to other methods than networks",
        "ImageDecoder": "it reads compressed pictures, pixels are supported",
    }
)


def versions_of(model: ModelProto, file_name: str) -> dict[str, int]:
    """Of each domain that the file uses; "" is the standard one."""
    versions = {("" if s.domain in STANDARD else s.domain): int(s.version) for s in model.opset_import}
    newest = onnx.defs.onnx_opset_version()
    version = versions.setdefault("", newest)
    is_old_but_same = 1 <= version < OLDEST and all(
        _is_unchanged(n, version) for _, n in nodes_of(model.graph)
    )
    if not OLDEST <= version <= newest and not is_old_but_same:
        raise ModelError(
            f"the model uses operator set {version}, sets {OLDEST} to {newest} are supported",
            file_name,
            "onnx.version_converter.convert_version(model, 17) changes it",
        )
    return versions


def _is_unchanged(node: NodeProto, version: int) -> bool:
    """Whether the operator of an old set is that of the oldest which is read."""
    try:
        then, now = (onnx.defs.get_schema(node.op_type, v, "") for v in (version, OLDEST))
    except (onnx.defs.SchemaError, TypeError):
        return False
    return node.domain in STANDARD and then.since_version == now.since_version


def is_supported(node: NodeProto, versions: Mapping[str, int]) -> bool:
    if node.op_type in OF_DOMAIN.get(node.domain, {}):
        return True
    domain = "" if node.domain in STANDARD else node.domain
    known = domain in versions and node.domain in _WITH_BODIES
    return known and body_of(node, versions[domain], None) is not None


def refusal(unsupported: list[tuple[int, NodeProto]], file_name: str) -> ModelError:
    """All operators that are not supported, each with its nodes and perhaps the reason."""
    places: dict[str, list[str]] = {}
    for index, node in unsupported:
        places.setdefault(_name(node), []).append(f'node {index} "{label_of(node)}"')
    plural = "operators {} are" if len(places) > 1 else "operator {} is"
    return ModelError(
        f"ONNX {plural.format(', '.join(sorted(places)))} not supported",
        "\n".join([file_name, *(_line(name, places[name]) for name in sorted(places))]),
        f"supported: {', '.join(sorted(IMPORTERS))}   (docs/ops.md)",
    )


def _name(node: NodeProto) -> str:
    return str(node.op_type) if node.domain in STANDARD else f"{node.domain}.{node.op_type}"


def _line(name: str, places: list[str]) -> str:
    shown = ", ".join(places[:4])
    shown = f"{shown} and {len(places) - 4} more" if len(places) > 4 else shown
    reason = WHY_NOT.get(name.rpartition(".")[2])
    return f"{name}: {shown}" if reason is None else f"{name}, {reason}: {shown}"


def nodes_of(graph: GraphProto) -> Iterator[tuple[int, NodeProto]]:
    """Every node, those of branches and loops too, with its number."""
    for index, node in enumerate(graph.node):
        yield index, node
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from nodes_of(inner)


def label_of(node: NodeProto) -> str:
    return node.name or next((name for name in node.output if name), "")
