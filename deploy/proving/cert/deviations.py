"""The checks of CERT C that find something in the C, and why it stays; any other fails the chapter."""

from __future__ import annotations

from collections.abc import Mapping

CERT_REASONS: Mapping[str, str] = {
    "cert-str34-c": "It is about characters; these are numbers of 8 bits with a sign, which shall widen so.",
}
