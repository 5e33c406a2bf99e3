"""The meaning of every op is printable: what is stored is what the compiler starts from, and reads back."""

import pytest
from error_facts import require_facts
from op_meanings import STORED, examples, meanings_text, procs_of

import deploy
from aot.errors import InputError
from aot.ops import OPS
from codegen.loops.parse import parse_proc
from codegen.loops.text import named_in, print_proc

EXAMPLES = examples()


def test_every_op_that_computes_has_an_example():
    assert OPS.keys() - EXAMPLES.keys() == {"reshape"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_meaning_of_an_op_reads_back(name):
    procs = procs_of(EXAMPLES[name])
    assert procs
    assert all(parse_proc(print_proc(proc), named_in(proc)) == proc for proc in procs)


def test_what_is_stored_is_what_the_compiler_starts_from():
    """Otherwise: PYTHONPATH=.:tests/ops:tests/one_op python tests/ops/op_meanings.py --store."""
    assert STORED.read_text(encoding="utf-8") == meanings_text()


def test_a_meaning_is_shown_of_one_operator():
    assert "for o in range(" in str(deploy.ops("CONV_2D", meaning=True))
    assert "reshape: a view of the same rows; nothing is computed" in str(deploy.ops("reshape", True))
    for named in (None, "model.tflite"):
        with pytest.raises(InputError) as caught:
            deploy.ops(named, meaning=True)
        require_facts(caught.value, "--meaning needs operator deploy conv2d MODEL --layer N")
