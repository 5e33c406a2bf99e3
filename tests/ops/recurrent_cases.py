"""Recurrent layers: every cell and activation, one step and several, with weights of the run too."""

from dataclasses import replace

import numpy as np
from drawing import Draw
from op_case import OpCase, float32, float32_weights, int8, wide

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.integer_lstm import GATE_QUANT
from aot.ops.recurrent import ACTIVATIONS, Cell, Recurrent
from aot.ops.rounding import RequantRounding


def recurrent(
    name: str, op: Recurrent, steps: int, count: int, units: int, given: str = "hc", peepholes: bool = False
) -> OpCase:
    """A case in which those of r, b, p, h, c come with the run that are `given`; others are constants."""
    types = {"x0": float32(1, steps, count, op.cell.gates * units)}
    constants: dict[str, Array] = {}
    operands = ["x0"]
    absent = ("" if peepholes else "p") + "".join(n for n in "hc" if n not in given)
    for letter, size in op.vector_sizes(types["x0"]).items():
        if letter in absent or not size:
            operands.append("")
        elif letter in given:
            operands.append(f"x{len(types) - len(constants)}")
            types[operands[-1]] = float32(1, size)
        else:
            operands.append(f"c_{letter}")
            weights = float32_weights(size // units, units, seed=ord(letter))
            constants[operands[-1]] = weights.array.reshape(1, size)
            types[operands[-1]] = float32(1, size)
    ((_, shape),) = op.infer([types.get(operand) for operand in operands])
    types["y"] = float32(*shape)
    node = Node(f"recurrent_{name}", op, tuple(operand or None for operand in operands), ("y",))
    inputs = tuple(operand for operand in types if operand.startswith("x"))
    return OpCase(node.name, Graph(node.name, inputs, ("y",), (node,), types, constants))


def integers(name: str, steps: int, count: int, units: int, is_wide: bool, cell_clip: float = 0.0) -> OpCase:
    """An LSTM of TFLite's: a scale of weights for each gate, hidden values of 8 or of 16 bits."""
    rounding = RequantRounding.REDUCED if is_wide else RequantRounding.DOUBLE
    op = Recurrent(gives_cell=True, cell_clip=cell_clip, rounding=rounding)
    rows = 4 * units
    scales = np.repeat(np.array([0.01, 0.02, 0.03, 0.015], np.float32), units).tolist()
    weights = np.random.default_rng(2).integers(-127, 128, (rows, units)).astype(np.int8)
    narrow = int8(1, count * units, scale=0.008, zero_point=0 if is_wide else 3)
    hidden = wide(narrow) if is_wide else narrow
    types = {
        "x0": TensorType(DType.I16, (1, steps, count, rows), GATE_QUANT),
        "x1": hidden,
        "x2": TensorType(DType.I16, (1, count * units), Quant((2.0**-11,), (0,))),
        "r": TensorType(DType.I8, (rows, units), Quant(tuple(scales), (0,) * rows, 0)),
        "y": TensorType(DType.I16, (1, steps, count, 2 * units), hidden.quant),
    }
    node = Node(f"recurrent_{name}", op, ("x0", "r", None, None, "x1", "x2"), ("y",))
    return OpCase(node.name, Graph(node.name, ("x0", "x1", "x2"), ("y",), (node,), types, {"r": weights}))


_LSTM = Recurrent(Cell.LSTM)
_TWO = ("sigmoid", "tanh")


def _of_one_activation(name: str) -> OpCase:
    op = Recurrent(Cell.RNN, activations=(name,), alphas=(0.6,), betas=(0.3,))
    return recurrent(f"of_{name}", op, 3, 1, 4)


CASES = (
    recurrent("lstm", _LSTM, 4, 1, 5, ""),
    recurrent("lstm_of_one", _LSTM, 1, 1, 1),
    recurrent("lstm_of_two_sequences", replace(_LSTM, gives_cell=True), 3, 2, 4, peepholes=True),
    recurrent("lstm_clipped", replace(_LSTM, clip=0.4, cell_clip=0.3, input_forget=True), 3, 1, 3, "h"),
    recurrent("lstm_weights", replace(_LSTM, gives_cell=True), 2, 1, 2, "rphc", peepholes=True),
    recurrent("gru", Recurrent(Cell.GRU), 4, 1, 5, ""),
    recurrent("gru_of_two_sequences", Recurrent(Cell.GRU, clip=0.5), 3, 2, 4),
    recurrent("gru_reset_after", Recurrent(Cell.GRU_RESET_AFTER), 4, 1, 9),
    recurrent("gru_weights", Recurrent(Cell.GRU_RESET_AFTER, activations=_TWO[::-1]), 2, 2, 2, "rbh"),
    recurrent("rnn", Recurrent(Cell.RNN), 4, 2, 6, "h"),
    *map(_of_one_activation, ACTIVATIONS),
    integers("integers", 3, 1, 4, False, 10.0),
    integers("integers_of_one", 1, 1, 1, False),
    integers("integers_of_many", 2, 2, 20, False, 10.0),
    integers("integers_clipped", 2, 2, 3, False, 0.5),
    integers("integers_of_16_bits", 2, 1, 5, True),
)


def _recurrent(draw: Draw) -> OpCase:
    if draw.chance():
        return integers("any", draw.upto(4), draw.upto(2), draw.upto(9), draw.chance(), draw.one_of(0.0, 0.5))
    cell, is_given = draw.one_of(*Cell), draw.chance()
    op = Recurrent(cell, gives_cell=is_given and cell is Cell.LSTM, clip=draw.one_of(0.0, 0.7))
    given = draw.one_of("", "h", "hc", "rbphc")
    return recurrent("any", op, draw.upto(4), draw.upto(2), draw.upto(9), given, draw.chance())


SHAPES = {"recurrent": _recurrent}
