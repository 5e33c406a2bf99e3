"""Where sums begin and what scales them become one table, unless an instruction takes one of them whole."""

from collections.abc import Mapping

import numpy as np

from aot.ir.types import Array, DType
from codegen.isa.dsp.isa import with_joined_tables
from codegen.kernels.kernel import Kernel
from codegen.loops.affine import Affine, variable
from codegen.loops.interpret import run_proc
from codegen.loops.ir import Binary, Buffer, For, Instruction, Invoke, Proc, Role, Stmt, Store, at, load

CHANNELS = 5
BIAS, MULT = (Buffer(name, DType.I32, CHANNELS, Role.CONSTANT) for name in ("bias", "mult"))
Y = Buffer("y", DType.I32, CHANNELS, Role.OUTPUT)
C = variable("c")
PRODUCTS: Stmt = For("c", CHANNELS, (Store(at(Y, C), Binary("*", load(BIAS, C), load(MULT, C))),))
NO_ROWS: Mapping[str, int] = {}
TABLES: Mapping[str, Array] = {
    "bias": np.arange(CHANNELS, dtype=np.int32),
    "mult": np.arange(10, 15, dtype=np.int32),
}


def kernel(
    *body: Stmt, tables: Mapping[str, Array] = TABLES, row_tables: Mapping[str, int] = NO_ROWS
) -> Kernel:
    params = (Y, *(buffer for buffer in (BIAS, MULT) if buffer.name in tables))
    return Kernel(Proc("p", params, body), "", access=(), constants=tables, row_tables=row_tables)


def result_of(made: Kernel) -> list[int]:
    y = np.zeros(CHANNELS, np.int32)
    run_proc(made.proc, {"y": [y], **{name: [data] for name, data in made.constants.items()}})
    return list(y)


def test_numbers_that_are_used_together_lie_together():
    made = with_joined_tables(kernel(PRODUCTS))
    assert list(made.constants) == ["scaling"]
    assert made.constants["scaling"].tolist() == [0, 10, 1, 11, 2, 12, 3, 13, 4, 14]
    assert [param.name for param in made.proc.params] == ["y", "scaling"]
    assert result_of(made) == result_of(kernel(PRODUCTS)) == [0, 11, 24, 39, 56]


def test_a_table_that_an_instruction_takes_whole_stays_as_it_is():
    table = Buffer("table", DType.I32, CHANNELS, Role.CONSTANT)
    whole = Invoke(Instruction("takes", (table,), (), "takes({table});", ""), (at(MULT, Affine()),))
    made = kernel(PRODUCTS, whole)
    assert with_joined_tables(made) is made


def test_tables_with_a_part_for_each_row_stay():
    made = kernel(PRODUCTS, row_tables={"bias": 1})
    assert with_joined_tables(made) is made


def test_one_table_has_nothing_to_be_joined_with():
    alone = kernel(Store(at(Y, Affine()), load(MULT, Affine())), tables={"mult": TABLES["mult"]})
    assert with_joined_tables(alone) is alone
