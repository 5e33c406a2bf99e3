"""The passes in their order."""

from __future__ import annotations

from aot.passes.fold_constants import fold_constants
from aot.passes.fold_scales import fold_scales
from aot.passes.fuse_activations import fuse_activations
from aot.passes.keep_unsigned import keep_unsigned
from aot.passes.merge_duplicates import merge_duplicates
from aot.passes.merge_pads import merge_pads
from aot.passes.merge_tables import merge_tables
from aot.passes.permute_dense_weights import permute_dense_weights
from aot.passes.remove_dead_channels import remove_dead_channels
from aot.passes.remove_dead_code import remove_dead_code
from aot.passes.remove_identity import remove_identity
from aot.passes.rewrite_depthwise import rewrite_depthwise
from aot.passes.rows_of_joins import rows_of_joins
from aot.passes.rows_of_matrices import rows_of_matrices
from aot.passes.rows_of_rearrangements import rows_of_rearrangements
from aot.passes.step import Pass
from aot.passes.tables_of_gathers import tables_of_gathers
from aot.passes.transposed_factors import transposed_factors

PIPELINE: tuple[Pass, ...] = (
    Pass("fold-constants", fold_constants, "first: later passes look for constants"),
    Pass("fold-scales", fold_scales, "before activations are fused: a layer with one takes no factor"),
    Pass("fuse-activations", fuse_activations, "before remove-identity: it leaves views"),
    Pass("keep-unsigned", keep_unsigned, "before remove-identity: it leaves conversions to the same type"),
    Pass("remove-identity", remove_identity, "before duplicates are sought: it makes reads equal"),
    Pass("merge-duplicates", merge_duplicates, "before dead channels: a value's readers must all be known"),
    Pass("merge-pads", merge_pads, "after duplicates are gone: of two equal pads one is enough"),
    Pass("tables-of-gathers", tables_of_gathers, "before tables are merged: it makes more of them"),
    Pass("merge-tables", merge_tables, "after duplicates are gone: an op with one reader can be taken in"),
    Pass(
        "permute-dense-weights",
        permute_dense_weights,
        "before dead code is removed: it leaves rearrangements that nobody reads",
    ),
    Pass(
        "rows-of-rearrangements",
        rows_of_rearrangements,
        "after dense layers have gone past theirs: those need no rows",
    ),
    Pass(
        "transposed-factors",
        transposed_factors,
        "before dead code is removed: it leaves transpositions that nobody reads",
    ),
    Pass(
        "rows-of-matrices",
        rows_of_matrices,
        "before dead code is removed: it leaves views that nobody reads",
    ),
    Pass(
        "rows-of-joins",
        rows_of_joins,
        "after rearrangements have rows, before views that it leaves are removed",
    ),
    Pass("remove-dead-code", remove_dead_code, "before dead channels: a dead reader would hold them back"),
    Pass(
        "rewrite-depthwise", rewrite_depthwise, "before dead channels: a convolution can lose single filters"
    ),
    Pass(
        "remove-dead-channels", remove_dead_channels, "last: it needs final readers, and leaves nothing dead"
    ),
)
