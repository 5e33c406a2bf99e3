"""CERT C checks with accepted findings, and the reasons. Findings of any other check fail the chapter."""

from __future__ import annotations

from collections.abc import Mapping

CERT_REASONS: Mapping[str, str] = {
    "cert-str34-c": "It is about characters; these are numbers of 8 bits with a sign, which shall widen so.",
}
