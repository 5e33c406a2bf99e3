"""The report as a web page: one file without network, that explains itself without scripts, too."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from artifact.memory_svg import FAINT, GROUND, INK, PAPER
from deploy.reporting import columns

# The picture's own colours are those of a page in the light; the style sheet has both sides.
_SIDES = {INK: "ink", FAINT: "faint", PAPER: "paper", GROUND: "ground"}


def page_of(facts: Mapping[str, Any], pictures: Sequence[str]) -> str:
    """The page about these facts, with a picture of the arena for each board."""
    place = files("deploy.reporting")
    script = (place / "report.js").read_text(encoding="utf-8")
    style = (place / "report.css").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template("report.html.jinja")
        .render(
            facts=facts,
            pictures=[_with_sides(picture) for picture in pictures],
            arenas=[json.dumps(board["arena"], separators=(",", ":")) for board in facts["boards"]],
            script=script,
            style=style,
            script_hash=_hash(script),
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("deploy.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["columns"] = columns
    return environment


def _with_sides(picture: str) -> str:
    for colour, name in _SIDES.items():
        picture = picture.replace(f'"{colour}"', f'"var(--{name})"')
    return picture


def _hash(script: str) -> str:
    """The script by its hash: the page's own rule lets no other run."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
