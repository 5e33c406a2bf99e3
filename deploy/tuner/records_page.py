"""Pages about tuning records: the best of each task, and the trials."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from deploy.cli.console import count_text, table
from platforms.tuning.record_stats import TaskStats, best_text

# Plots the best cost over the trials of each task as SVG, without a plotting library.

_WIDTH, _HEIGHT = 340, 150  # of one task's panel
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 34, 22  # margins of its curve
_ACROSS = 2
_STYLE = (
    "text{font:11px sans-serif;fill:#333}.t{font-weight:bold}.d{stroke:#b44;stroke-dasharray:4 3}"
    ".c{fill:none;stroke:#27a;stroke-width:1.6}.a{stroke:#bbb}"
)


def plot_svg(stats: Sequence[TaskStats]) -> str:
    """Plots a panel for each task that has a cost. The dashed line is the default, 100 %."""
    drawn = [s for s in stats if s.curve and s.default]
    rows = -(-len(drawn) // _ACROSS)
    size = f'width="{_ACROSS * _WIDTH}" height="{max(1, rows) * _HEIGHT}"'
    panels = [_panel(s, (n % _ACROSS) * _WIDTH, n // _ACROSS * _HEIGHT) for n, s in enumerate(drawn)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, f"<style>{_STYLE}</style>", *panels, "</svg>", ""])


def plot_html(stats: Sequence[TaskStats]) -> str:
    page = "<!doctype html>\n<meta charset=utf-8>\n<title>Tuning</title>\n<h1>Best cost over trials</h1>\n"
    return page + plot_svg(stats)


def _panel(s: TaskStats, x: int, y: int) -> str:
    assert s.default is not None
    lowest, highest = min(s.curve[-1], s.default), max(s.curve[0], s.default)
    span = (highest - lowest) or 1
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def down(cost: int) -> float:
        return _TOP + height * (highest - cost) / span

    def along(trial: int) -> float:
        return _LEFT + width * trial / max(1, len(s.curve) - 1)

    before = (s.curve[0], *s.curve)
    points = " ".join(
        f"{along(n):.1f},{down(best):.1f}" for n, cost in enumerate(s.curve) for best in (before[n], cost)
    )
    right = _LEFT + width
    return "\n".join(
        [
            f'<g transform="translate({x},{y})">',
            f'<text class="t" x="8" y="14">{escape(s.task)}</text>',
            f'<text x="8" y="27">{escape(s.board)}: {s.curve[-1]:,} of {s.default:,} {escape(s.unit)}</text>',
            f'<line class="a" x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{_TOP + height}"/>',
            f'<line class="a" x1="{_LEFT}" y1="{_TOP + height}" x2="{right}" y2="{_TOP + height}"/>',
            _line(down(s.default), right),
            f'<polyline class="c" points="{points}"/>',
            *(_tick(cost, s.default, down(cost)) for cost in sorted({lowest, highest})),
            f'<text x="{right}" y="{_HEIGHT - 8}" text-anchor="end">{len(s.curve)} trials</text>',
            "</g>",
        ]
    )


def _line(y: float, right: int) -> str:
    return f'<line class="d" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'


def _tick(cost: int, default: int, y: float) -> str:
    return f'<text x="{_LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{cost / default:.0%}</text>'


def best_page(stats: tuple[TaskStats, ...]) -> str:
    heads = ("task", "core", "board", "default", "best", "gain", "knobs")
    rows = [
        (s.task, s.core, s.board, count_text(s.default), count_text(s.best), s.gain_text, best_text(s))
        for s in stats
    ]
    return table(heads, rows)


def stats_page(stats: tuple[TaskStats, ...]) -> str:
    heads = ("task", "core", "board", "trials", "failed", "trials/s", "best at trial", "why they failed")
    return table(heads, [_stats_row(each) for each in stats])


def _stats_row(s: TaskStats) -> tuple[str, ...]:
    counts = (str(s.trials), str(s.failed), f"{s.trials_per_s:.1f}", str(s.best_at or "-"))
    return (s.task, s.core, s.board, *counts, "; ".join(f"{n} {why}" for why, n in s.failures))


def stats_facts(s: TaskStats) -> dict[str, Any]:
    return {
        "task": s.task,
        "core": s.core,
        "board": s.board,
        "compiler": s.compiler,
        "trials": s.trials,
        "failed": s.failed,
        "failures": dict(s.failures),
        "default_cost": s.default,
        "best_cost": s.best,
        "best": dict(s.knobs) if s.knobs is not None else None,
        "best_at": s.best_at,
        "trials_per_s": round(s.trials_per_s, 2),
    }
