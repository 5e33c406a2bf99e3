"""Reads the metadata that exporters store with the nodes of an ONNX file, such as their origin."""

from __future__ import annotations

from collections.abc import Mapping

import onnx


def node_metadata(data: bytes) -> Mapping[str, Mapping[str, str]]:
    """Returns the metadata of each named node."""
    nodes = onnx.load_model_from_string(data).graph.node
    return {node.name: {each.key: each.value for each in node.metadata_props} for node in nodes if node.name}
