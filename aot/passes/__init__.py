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
        "write-states-in-place": "before rearrangements are merged: it looks for rows that are joined",
        "attend-to-integers": "before scales are folded: it looks for caches that are multiplied by theirs",
        "roll-up-recurrences": "as soon as weights are constants: later passes have less to do",
        "fold-scales": "before activations are fused: a layer with an activation accepts no factor",
        "fuse-activations": "before remove-identity: it creates views of the same shape",
        "keep-unsigned": "before remove-identity: it creates conversions to the same type",
        "remove-identity": "before merge-duplicates: it makes the inputs of nodes equal",
        "merge-duplicates": "before remove-dead-channels: all readers of a value must be known",
        "merge-pads": "after merge-duplicates: one of two equal pads is enough",
        "convert-gathers-to-lookups": "before merge-tables: it creates more tables",
        "merge-tables": "after merge-duplicates: a table with one reader can be merged into it",
        "permute-dense-weights": "before remove-dead-code: it leaves unused rearrangements",
        "swap-factors": "after fold-constants: a constant product has no factors",
        "merge-rearrangements": "after swap-factors: transpositions that it leaves cancel out here",
        "absorb-transposes": "before remove-dead-code: it leaves unused transpositions",
        "remove-dead-code": "before remove-dead-channels: a dead reader would keep them",
        "convert-depthwise-to-conv2d": "before remove-dead-channels: a convolution can lose single filters",
        "remove-dead-channels": "last: it needs the final readers, and leaves no dead code",
    }
)

# Rewritings for devices that compute parts of a graph: they run once per device, in the order given.
REGIONS: Mapping[str, str] = MappingProxyType(
    {
        "form-regions": "alone: after MEANING, so that devices see the simplified graph; before PLACEMENT, "
        "because rows do not concern them"
    }
)

# Rewritings that depend on the target and options: on the costs of a core and on the goal.
PLACEMENT: Mapping[str, str] = MappingProxyType(
    {
        "split-rearrangements-into-rows": "first: rearrangements by rows may then be joined by rows",
        "split-matmuls-into-rows": "before sequences are split: the lines of a product are not a sequence",
        "split-concats-into-rows": "after joined values have rows",
        "split-sequences-into-rows": "after everything else has rows: only sequences are left",
        "view-streamed-input-as-image": "last: it needs the final readers of the input",
    }
)

# Rewritings that depend on the kernels of layers: they run for each variant of a graph that is tried.
VARIANT: Mapping[str, str] = MappingProxyType(
    {"add-in-stores": "alone: it needs the kernels of the preceding convolutions"}
)

# Passes that later stages need for correct results -> why.
REQUIRED: Mapping[str, str] = MappingProxyType(
    {"fold-constants": "kernels need weights and tables that are known at compile time"}
)

# Passes whose result depends on the values of weights: skipped if other weights must fit the same code.
DECIDED_BY_WEIGHTS: frozenset[str] = frozenset({"remove-dead-channels"})
