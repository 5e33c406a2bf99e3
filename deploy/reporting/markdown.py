"""The report in Markdown, for terminals, pull requests and wikis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deploy.cli.markdown_table import LEFT, RIGHT, markdown_table
from deploy.reporting import columns
from deploy.reporting.columns import Column, Facts


def markdown_of(facts: Facts) -> str:
    return "\n".join(_page(facts)) + "\n"


def _page(facts: Facts) -> Iterator[str]:
    yield f"# {facts['model']} ({facts['source_name']})"
    yield f"\nSHA-256 {facts['model_hash']}. Solder {facts['solder']}.\n"
    yield from _table(columns.BOARDS, facts["boards"])
    if facts["data"]:
        yield from _data(facts["data"])
    float_model = facts["data"] and facts["data"]["float_model"]
    for board in facts["boards"]:
        yield from _board(board, float_model or "")


def _data(data: Facts) -> Iterator[str]:
    yield f"\n## On your data\n\n{data['samples']:,} samples."
    if data["accuracy"] is None:
        return
    yield f"\nAccuracy {data['accuracy']:.2%}"
    if data["float_accuracy"] is not None:
        yield f"({data['float_model']}: {data['float_accuracy']:.2%})"
    yield ""
    yield from _table(columns.MISTAKES, columns.mistakes(data["confusion"]))


def _board(board: Facts, float_model: str) -> Iterator[str]:
    yield f"\n## {board['board']}: {board['title']}\n"
    if board["options"]:
        yield f"Compiled with `{board['options']}`.\n"
    yield from (f"- {sentence}" for sentence in board["verdict"])
    if board["measured"]:
        yield f"- cycles by {board['measured']}"
    if board["not_measured"]:
        yield f"- not measured: {board['not_measured']}"
    yield "\n### Memory by part\n"
    yield from _table(columns.PARTS, columns.parts_of(board["memory"]))
    yield "\n### Layers\n"
    yield from _table(columns.LAYERS, board["layers"])
    values = columns.watched(board["layers"])
    if values:
        yield "\n### Values of the layers\n"
        if said := columns.doubt(values, float_model):
            yield f"{said}\n"
        yield from _table(columns.VALUES, values)
    for heading, shown, key in (
        ("Other options", columns.OPTIONS, "other_options"),
        ("Other boards with enough memory", columns.OTHERS, "other_boards"),
    ):
        if board[key]:
            yield f"\n### {heading}\n"
            yield from _table(shown, board[key])


def _table(shown: Sequence[Column], rows: Sequence[Facts]) -> Iterator[str]:
    kept = columns.with_facts(shown, rows)
    if not kept:
        return
    heads, sides = [heading for heading, _, _ in kept], [RIGHT if form else LEFT for _, _, form in kept]
    yield from markdown_table(heads, sides, ([columns.said(row, column) for column in kept] for row in rows))
