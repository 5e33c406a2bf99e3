"""States that are updated in their own memory: only the rows that a run writes change."""

import numpy as np
import pytest
from model_checks import OPTIONS, PLAIN, compiled

from aot.interpret import run_series
from aot.ir.text import parse_graph
from aot.positions import position_limits
from platforms.shared_library import build

HEAD = 'graph "k"\ninput "x": {row}\ninput "at": i32[{starts}]\n'
TAIL = '"z" = clamp() "next" -> "z": {whole}\nstate "s": {whole} next "next" = {zeros}\noutput "z"\n'


def text(op: str, whole: str, row: str, starts: int, reads: str) -> str:
    size = int(np.prod([int(n) for n in whole[whole.index("[") + 1 : whole.index("]")].split(",")]))
    update = f'"u" = {op} "s", {reads} -> "next": {whole}\n'
    filled = HEAD.format(row=row, starts=starts) + update + TAIL.format(whole=whole, zeros=list(range(size)))
    return filled if "at" in reads else filled.replace(f'input "at": i32[{starts}]\n', "")


UPDATES = {
    "write_rows": text("write_rows(axis=1)", "i8[1,5,3] {0.5, 0}", "i8[1,2,3] {0.5, 0}", 2, '"x", "at"'),
    "write_columns": text("write_rows(axis=2)", "i8[1,5,3] {0.5, 0}", "i8[1,5,1] {0.5, 0}", 1, '"x", "at"'),
    "update_slice": text("update_slice()", "i8[1,5,3] {0.5, 0}", "i8[1,2,2] {0.5, 0}", 3, '"x", "at"'),
    "shift_words": text("shift_rows(axis=1)", "i8[1,6,4] {0.5, 0}", "i8[1,2,4] {0.5, 0}", 1, '"x"'),
    "shift_bytes": text("shift_rows(axis=1)", "i8[1,5,3] {0.5, 0}", "i8[1,1,3] {0.5, 0}", 1, '"x"'),
    "shift_columns": text("shift_rows(axis=2)", "i8[1,3,8] {0.5, 0}", "i8[1,3,4] {0.5, 0}", 1, '"x"'),
}


@pytest.mark.cc
@pytest.mark.parametrize("name", UPDATES)
def test_an_update_in_place_is_the_references(name, tmp_path):
    graph = parse_graph(UPDATES[name])
    model = compiled(graph, PLAIN, OPTIONS["speed"], "k")
    assert "_in_place(" in model.sources["k.c"]
    host, rng = build(model.sources, tmp_path), np.random.default_rng(4)
    samples = [
        {
            n: rng.integers(-9, 9, graph.types[n].shape).astype(graph.types[n].dtype.numpy)
            for n in graph.inputs
        }
        for _ in range(12)
    ]
    if "write" in name:  # beyond the cache, a run is refused
        low, high = position_limits(graph)["at"]
        samples = [{**each, "at": np.clip(each["at"], low, high)} for each in samples]
    for sample, wanted in zip(samples, run_series(graph, samples), strict=True):
        np.testing.assert_array_equal(host.run(sample)["z"].reshape(wanted["z"].shape), wanted["z"])
