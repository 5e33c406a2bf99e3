"""The meaning of an example of each op in the language of kernels; `--store` writes it for `deploy ops`."""

import json
import sys
from pathlib import Path

from op_case import OpCase
from test_references import CASES

from aot.ir.text import print_node
from codegen.kernels.table import KERNELS
from codegen.lang.op_meaning import meaning_of
from codegen.loops.ir import Proc
from codegen.loops.text import print_proc
from platforms.board_files import load_board

STORED = Path(__file__).resolve().parents[2] / "deploy" / "inspection" / "op_meanings.json"


def examples() -> dict[str, OpCase]:
    """The first case of each op that computes something: reshaped tensors are the same rows."""
    found: dict[str, OpCase] = {}
    for case in CASES.values():
        if case.node.op.name in KERNELS:
            found.setdefault(case.node.op.name, case)
    return dict(sorted(found.items()))


def procs_of(case: OpCase) -> tuple[Proc, ...]:
    return meaning_of(case.node, case.graph, load_board("host").target)


def meanings() -> dict[str, dict[str, str]]:
    return {
        name: {
            "example": print_node(case.node, case.graph).strip(),
            "loops": "\n".join(map(print_proc, procs_of(case))),
        }
        for name, case in examples().items()
    }


def meanings_text() -> str:
    """The text of deploy/inspection/op_meanings.json."""
    return json.dumps(meanings(), indent=1) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--store"]:
        STORED.write_text(meanings_text(), encoding="utf-8")
    else:
        sys.stdout.write(meanings_text())
