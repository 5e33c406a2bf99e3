"""Dense layers with dynamically quantized vectors, sixteen products of bytes at a time."""

from __future__ import annotations

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.hybrid_dense import HybridDense
from aot.target import Feature, Optimize
from codegen.isa.helium import NEEDS
from codegen.isa.helium.dot_blocks import MOST_STEPS, BlockSums
from codegen.isa.helium.dots import LANES
from codegen.isa.helium.hybrid import ScaledBlocks, largest_of, scaled_blocks, steps_of
from codegen.isa.helium.requantise import WORDS
from codegen.isa.helium.strategies.dot_product import helium_dot
from codegen.kernels.dot_product import DotScheduler
from codegen.kernels.hybrid_dense import INVERSE, REACH, STEP, HybridLayer, hybrid_strategy
from codegen.kernels.row_nests import is_dense
from codegen.loops.ir import Buffer, BufferPlace, Declare, Invoke, Proc, Role, Stmt, at


class _VectorLayer(HybridLayer):
    """Quantizes and scales four elements at a time, on cores with vectors of floats."""

    @property
    def _has_vectors(self) -> bool:
        return self.site.target.has(Feature.FPU) and is_dense(self.x)

    @property
    def _row(self) -> BufferPlace:
        return at(self.xs, self.x.left * self.x.x_step)

    def reached(self) -> tuple[Stmt, ...]:
        if not self._has_vectors:
            return super().reached()
        return Declare(REACH), Invoke(largest_of(self.depth), (at(REACH), self._row))

    def stepped(self) -> Stmt:
        if not self._has_vectors:
            return super().stepped()
        return Invoke(steps_of(self.depth), (at(self.in_steps), self._row, at(INVERSE)))

    @property
    def _blocks(self) -> BlockSums | None:
        """Returns the layer as one statement, if its shape allows that and its code need not be small."""
        steps, blocks = self.depth // LANES, self.outputs // WORDS
        is_whole = self.depth % LANES == 0 and self.outputs % WORDS == 0 and steps <= MOST_STEPS
        is_plain = self.site.op_as(HybridDense).activation is Activation.NONE and is_dense(self.y)
        if not (is_whole and is_plain and self._has_vectors) or self.site.optimize is Optimize.SIZE:
            return None
        return BlockSums(blocks, steps)

    def scheduled(self, dot: DotScheduler) -> tuple[Proc, Array]:
        if (sums := self._blocks) is None:
            return super().scheduled(dot)
        _, *tables = self.tables
        w = Buffer("w", DType.I8, self.depth * self.outputs, Role.CONSTANT)
        y = at(self.ys, self.y.left * self.y.x_step)
        places = (y, at(self.in_steps), at(w), *map(at, tables), at(STEP))
        body = (
            *self.ranged(),
            self.stepped(),
            Invoke(scaled_blocks(ScaledBlocks(sums, len(tables) > 1)), places),
        )
        proc = Proc(self.name, (self.xs, w, *tables, self.ys, self.in_steps), body)
        by_blocks = self.site.constants[1].reshape(sums.blocks, WORDS, sums.steps, LANES)
        return proc, by_blocks.transpose(0, 2, 1, 3).reshape(-1)


STRATEGY = hybrid_strategy("helium", helium_dot, LANES, NEEDS, DType.I8, _VectorLayer)
