"""Generates the C header of the protocol. To update it, run `python -m platforms.rpc.protocol_header`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from importlib.resources import files
from pathlib import Path
from typing import Any

from platforms.rpc import protocol
from platforms.rpc.protocol import FAULT_MEANING, STATUS_MEANING

NUMBERS = (
    "PROTOCOL_VERSION",
    "HEADER_BYTES",
    "CRC_BYTES",
    "HELLO_BYTES",
    "WRITE_HEADER_BYTES",
    "LOAD_HEADER_BYTES",
    "PUT_HEADER_BYTES",
    "STATE_HEADER_BYTES",
    "REQUEST_LIMIT",
    "REPLY_BIT",
    "NO_FAULT",
    "CARTRIDGE_FORMAT",
    "KEY_BYTES",
    "MOST_REPEATS",
    "OBSERVED_BYTES",
    "MOST_BUILD_ID",
    "MOST_HASHES",
)

Meanings = Mapping[Any, str]
ENUMS: tuple[tuple[type[IntEnum], str, str, Meanings], ...] = (
    (protocol.Message, "solder_message", "SOLDER_MESSAGE_", {}),
    (protocol.Notice, "solder_notice", "SOLDER_NOTICE_", {}),
    (protocol.Status, "solder_status", "SOLDER_", STATUS_MEANING),
    (protocol.DescribedTensors, "solder_describe", "SOLDER_DESCRIBE_", {}),
    (protocol.CartridgeRequest, "solder_cartridge_wish", "SOLDER_CARTRIDGE_WISH_", {}),
    (protocol.CartridgeFact, "solder_cartridge_fact", "SOLDER_CARTRIDGE_FACT_", {}),
    (protocol.StateRequest, "solder_state_action", "SOLDER_STATE_", {}),
    (protocol.Reset, "solder_reset", "SOLDER_RESET_", {}),
    (protocol.Fault, "solder_fault_cause", "SOLDER_FAULT_", FAULT_MEANING),
    (protocol.Argument, "solder_argument", "SOLDER_ARGUMENT_", {}),
    (protocol.Capability, "solder_capability", "SOLDER_CAPABILITY_", {}),
)


def header_path() -> Path:
    return Path(str(files("project_templates.common"))) / "solder_protocol.h"


def protocol_header() -> str:
    """Returns the text of solder_protocol.h."""
    parts = [
        "/* The protocol's numbers. Generated from platforms/rpc/protocol.py; do not edit. */",
        "#ifndef SOLDER_PROTOCOL_H\n#define SOLDER_PROTOCOL_H\n",
        "".join(f"#define SOLDER_{name} {getattr(protocol, name)}u\n" for name in NUMBERS),
        "/* The longest payload of a request; a small device takes less. */\n#ifndef SOLDER_PAYLOAD_BYTES\n"
        "#ifdef __AVR__ /* 2 KB of RAM in all */\n"
        f"#define SOLDER_PAYLOAD_BYTES {protocol.SMALL_PAYLOAD_BYTES}u\n#else\n"
        f"#define SOLDER_PAYLOAD_BYTES {protocol.PAYLOAD_BYTES}u\n#endif\n#endif\n",
        *(_enum(*row) for row in ENUMS),
        "#endif",
    ]
    return "\n".join(parts) + "\n"


def _enum(members: type[IntEnum], c_name: str, prefix: str, meanings: Meanings) -> str:
    comments = {member: f" /* {text} */" for member, text in meanings.items()}
    commas = [","] * (len(members) - 1) + [""]
    lines = [
        f"    {prefix}{member.name} = {member.value}{comma}{comments.get(member, '')}"
        for member, comma in zip(members, commas, strict=True)
    ]
    return f"/* {members.__doc__} */\nenum {c_name} {{\n" + "\n".join(lines) + "\n};\n"


if __name__ == "__main__":
    header_path().write_text(protocol_header())
