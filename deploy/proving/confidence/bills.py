"""Bills of materials in CycloneDX 1.6: the host tool with its Python packages, and a model's C files.

The optional date and serial number are omitted, so that the same parts give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

from aot.distribution import DISTRIBUTION
from artifact.facts import ModelFacts
from codegen.version import VERSION

TOOL, LICENCE = DISTRIBUTION, "Apache-2.0"
_NAME = re.compile(r"^[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"extra == ['\"]([\w-]+)")
_DEVELOPERS = ("test", "docs", "browser", "channels", "fronts", "train")  # extras for developing the tool
_CLASSIFIER = "License :: "
_MOST_LETTERS = 80  # of a license name; some packages store the full text there


@dataclass(frozen=True, slots=True)
class PythonPackage:
    """An installed Python package, and whether it is optional for the tool."""

    name: str
    version: str
    licence: str  # "" if its metadata has none
    is_expression: bool  # an SPDX expression
    is_optional: bool

    @property
    def purl(self) -> str:
        return f"pkg:pypi/{self.name.lower().replace('_', '-')}@{self.version}"


def packages() -> tuple[PythonPackage, ...]:
    """Returns the installed dependencies of the tool, direct and indirect, by name."""
    found: dict[str, PythonPackage] = {}
    for name, is_optional in sorted(_asked_for(TOOL, with_extras=True), key=lambda pair: pair[1]):
        _collect(name, is_optional, found)
    return tuple(found[name] for name in sorted(found))


def _collect(name: str, is_optional: bool, found: dict[str, PythonPackage]) -> None:
    key = name.lower().replace("_", "-")
    there = _installed(name)
    if key in found or there is None:
        return
    found[key] = _package(there, is_optional)
    for other, _ in _asked_for(name, with_extras=False):
        _collect(other, is_optional, found)


def _asked_for(name: str, with_extras: bool) -> Iterator[tuple[str, bool]]:
    """Yields the packages required by a package, and whether only one of its extras requires them."""
    there = _installed(name)
    for line in (there.requires if there is not None else None) or ():
        match, extra = _NAME.match(line), _EXTRA.search(line)
        assert match is not None  # a requirement starts with a name
        if extra is None or (with_extras and extra[1] not in _DEVELOPERS):
            yield match[0], extra is not None


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _package(there: Distribution, is_optional: bool) -> PythonPackage:
    expression = _fact(there, "License-Expression")
    licence = expression or _licence(there)
    return PythonPackage(there.metadata["Name"], there.version, licence, bool(expression), is_optional)


def _fact(there: Distribution, name: str) -> str:
    """Returns the first metadata field with this name, or ""."""
    found = there.metadata.get_all(name) or [""]
    return str(found[0]).strip()


def _licence(there: Distribution) -> str:
    named = _fact(there, "License")
    if named and len(named) <= _MOST_LETTERS and "\n" not in named:
        return named
    lines = there.metadata.get_all("Classifier") or []
    return next((line.rpartition(" :: ")[2] for line in lines if line.startswith(_CLASSIFIER)), "")


def bill_of_tool(parts: Sequence[PythonPackage]) -> bytes:
    """Returns the bill of materials of the host tool."""
    components = [
        {
            "type": "library",
            "bom-ref": part.purl,
            "name": part.name,
            "version": part.version,
            "purl": part.purl,
            "scope": "optional" if part.is_optional else "required",
            **_licences(part.licence, part.is_expression),
        }
        for part in parts
    ]
    root = {"type": "application", "bom-ref": TOOL, "name": TOOL, "version": VERSION}
    return _bill({**root, **_licences(LICENCE, True)}, components, TOOL)


def bill_of_firmware(facts: ModelFacts, files: Mapping[str, bytes], foreign: Sequence[str]) -> bytes:
    """Returns the bill of materials of a model's C: files with hashes.

    Licenses of foreign files are unknown.
    """
    model = {
        "type": "machine-learning-model",
        "bom-ref": "model",
        "name": facts.source_name,
        "hashes": [{"alg": "SHA-256", "content": facts.model_hash}],
    }
    components = [model] + [
        {
            "type": "file",
            "bom-ref": name,
            "name": name,
            "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(data).hexdigest()}],
            **({} if name.rpartition("/")[2] in foreign else _licences(LICENCE, True)),
        }
        for name, data in sorted(files.items())
    ]
    root = {"type": "firmware", "bom-ref": "firmware", "name": facts.name, "version": facts.model_hash[:12]}
    return _bill(root, components, "firmware")


def _licences(licence: str, is_expression: bool) -> dict[str, Any]:
    if not licence:
        return {}
    return {"licenses": [{"expression": licence} if is_expression else {"license": {"name": licence}}]}


def _bill(root: Mapping[str, Any], components: Sequence[Mapping[str, Any]], name: str) -> bytes:
    made_by = {"type": "application", "name": TOOL, "version": VERSION}
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"tools": {"components": [made_by]}, "component": root},
        "components": list(components),
        "dependencies": [{"ref": name, "dependsOn": [each["bom-ref"] for each in components]}],
    }
    return (json.dumps(bill, indent=1) + "\n").encode()
