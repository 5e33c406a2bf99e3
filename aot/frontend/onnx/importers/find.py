"""Finds the importer of an operator, built in or from an extension."""

from __future__ import annotations

from aot.frontend.onnx.importers import ADDED, OF_DOMAIN
from aot.frontend.onnx.operation import Importer


def find_importer(domain: str, operator: str) -> Importer | None:
    return OF_DOMAIN.get(domain, {}).get(operator) or ADDED.get(f"{domain}.{operator}")
