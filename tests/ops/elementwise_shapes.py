"""Pairs of shapes that elementwise ops meet: equal, repeated by rows, and repeated in ways no row matches."""

PAIRS = {
    "image": ((1, 3, 2, 3), (1, 3, 2, 3)),
    "channels": ((1, 3, 2, 3), (3,)),
    "columns": ((1, 3, 2, 3), (1, 1, 2, 1)),
    "vectors": ((2, 5), (5,)),
    "batches": ((2, 1, 3, 4), (1, 2, 1, 4)),
    "both": ((3, 1), (1, 5)),
    "six": ((2, 1, 2, 1, 3, 1), (1, 2, 1, 3, 1, 2)),
    "number": ((2, 2, 2), ()),
    "numbers": ((), ()),
}
