"""The report as a web page that is also readable without scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from artifact.memory_svg import FAINT, GROUND, INK, PAPER, PEAK
from deploy.reporting.web_page import web_page

# The plot uses the colors of the light theme; the style sheet defines both themes.
_SIDES = {INK: "ink", FAINT: "faint", PAPER: "paper", GROUND: "ground", PEAK: "bad"}


def page_of(facts: Mapping[str, Any], pictures: Sequence[str]) -> str:
    """Returns the page with these facts and a plot of the arena for each board."""
    return web_page(
        "deploy.reporting",
        "report",
        facts=facts,
        pictures=[_with_sides(picture) for picture in pictures],
        arenas=[json.dumps(board["arena"], separators=(",", ":")) for board in facts["boards"]],
    )


def _with_sides(picture: str) -> str:
    for colour, name in _SIDES.items():
        picture = picture.replace(f'"{colour}"', f'"var(--{name})"')
    return picture
