"""The facts that an exporter writes beside the nodes of an ONNX file, such as where they come from."""

from __future__ import annotations

from collections.abc import Mapping

import onnx


def node_metadata(data: bytes) -> Mapping[str, Mapping[str, str]]:
    """The metadata of each node that has a name."""
    nodes = onnx.load_model_from_string(data).graph.node
    return {node.name: {each.key: each.value for each in node.metadata_props} for node in nodes if node.name}
