"""The tables of passes, in the order in which they run: name -> reason for the position.

The pass `fold-constants` of MEANING is the function `fold_constants` in `meaning/fold_constants.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Rewritings that serve every target.
MEANING: Mapping[str, str] = MappingProxyType(
    {
        "fold-constants": "first: later passes look for constants",
        "roll-up-recurrences": "as soon as weights are constants: all that follows has less to do",
        "fold-scales": "before activations are fused: a layer that has one takes no factor",
        "fuse-activations": "before remove-identity: it leaves views of the same shape",
        "keep-unsigned": "before remove-identity: it leaves conversions to the same type",
        "remove-identity": "before duplicates are sought: it makes the inputs of nodes equal",
        "merge-duplicates": "before dead channels: all readers of a value must be known",
        "merge-pads": "after duplicates are gone: one of two equal pads is enough",
        "convert-gathers-to-lookups": "before tables are merged: it makes more of them",
        "merge-tables": "after duplicates are gone: a table that has one reader can be merged into it",
        "permute-dense-weights": "before dead code is removed: it leaves rearrangements that nobody reads",
        "swap-factors": "behind fold-constants: a product that is constant has no factors",
        "merge-rearrangements": "behind swap-factors: what it leaves of transpositions cancels out here",
        "absorb-transposes": "before dead code is removed: it leaves transpositions that nobody reads",
        "remove-dead-code": "before dead channels: a reader that is dead would keep them",
        "convert-depthwise-to-conv2d": "before dead channels: a convolution can lose single filters",
        "remove-dead-channels": "last: it needs the final readers, and leaves no dead code",
    }
)

# Rewritings for devices that compute parts of a graph: they run once per device, in the order given.
REGIONS: Mapping[str, str] = MappingProxyType(
    {"form-regions": "alone: behind MEANING, so that devices see what is left; rows are not their business"}
)

# Rewritings that depend on the target and options: on the costs of a core and on the goal.
PLACEMENT: Mapping[str, str] = MappingProxyType(
    {
        "split-rearrangements-into-rows": "first: what is rearranged row by row may be joined row by row",
        "split-matmuls-into-rows": "before sequences are split: the lines of a product are not a sequence",
        "split-concats-into-rows": "after what is joined has its rows",
        "split-sequences-into-rows": "after all else has rows: what is left goes along time",
        "view-streamed-input-as-image": "last: it needs the final readers of the input",
    }
)

# Rewritings that depend on the kernels of layers: they run for each variant of a graph that is tried.
VARIANT: Mapping[str, str] = MappingProxyType(
    {"add-in-stores": "alone: sums are made where the convolutions before them have kernels for it"}
)

# Passes that later stages need for correct results -> why.
REQUIRED: Mapping[str, str] = MappingProxyType(
    {"fold-constants": "kernels take weights and tables that are known when the model is compiled"}
)

# Passes whose result depends on the values of weights: skipped if other weights must fit the same code.
DECIDED_BY_WEIGHTS: frozenset[str] = frozenset({"remove-dead-channels"})
