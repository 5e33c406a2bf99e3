"""conv2d by Winograd's minimal filters with SMLAD."""

from __future__ import annotations

from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.winograd import PAIRED, input_of_pair, longest_turn, products_of_pair
from codegen.kernels.winograd_rows import WinogradCore, winograd_strategy

STRATEGY = winograd_strategy(
    WinogradCore(
        row_bytes=2,
        blocks=lambda _site: PAIRED,
        inputs=lambda problem: input_of_pair(problem.x_step),
        products=lambda site, problem, turn: products_of_pair(
            problem.words, turn, site.target.pairs_instructions
        ),
        turns=(2, 4, 8, 16),
        longest_turn=longest_turn,
        needs=NEEDS,
    ),
    columns="eights",
    channels="pairs",
)
