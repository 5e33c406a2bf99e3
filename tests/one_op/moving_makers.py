"""Draws operators that only move elements."""

from dataclasses import replace
from math import prod

import numpy as np
import tflite
from drawing import MOVED, Draw, Maker, like, moved, repeatable

from aot.frontend.tflite.write_file import FileTensor


def concatenation(draw: Draw) -> bytes:
    dtype = draw.one_of(*MOVED)
    shape, count = draw.shape(draw.upto(5)), draw.upto(4, 1)
    axis = draw.upto(len(shape)) - 1
    first = draw.spec("x0", shape, dtype)
    parts = []
    for i in range(count):
        part = (*shape[:axis], draw.upto(4), *shape[axis + 1 :])
        spec = replace(first, name=f"x{i}", shape=part)
        if draw.is_unsigned and dtype == "int8" and draw.chance():
            spec = draw.spec(f"x{i}", part, dtype)  # of another scale and zero point than the whole
        parts.append(draw.operand(spec, 0.2 if i else 0))
    total = sum(draw.build.tensors[p].shape[axis] for p in parts)
    out = like(first, (*shape[:axis], total, *shape[axis + 1 :]))
    stored = axis - len(shape) if draw.chance(0.3) else axis
    return draw.op("CONCATENATION", 2, parts, [out], "ConcatenationOptions", Axis=stored)


def pack(draw: Draw) -> bytes:
    first = moved(draw, 4)
    count = draw.upto(4)
    parts = [draw.given(replace(first, name=f"x{i}")) for i in range(count)]
    axis = draw.upto(len(first.shape) + 1) - 1
    out = like(first, (*first.shape[:axis], count, *first.shape[axis:]))
    stored = axis - len(first.shape) - 1 if draw.chance(0.3) else axis
    return draw.op("PACK", 2, parts, [out], "PackOptions", Axis=stored, ValuesCount=count)


def unpack(draw: Draw) -> bytes:
    spec = moved(draw, 5)
    axis = draw.upto(len(spec.shape)) - 1
    x = draw.given(spec)
    shape = spec.shape[:axis] + spec.shape[axis + 1 :]
    outs = [like(spec, shape, f"y{i}") for i in range(spec.shape[axis])]
    stored = axis - len(spec.shape) if draw.chance(0.3) else axis
    return draw.op("UNPACK", 2, (x,), outs, "UnpackOptions", Axis=stored, Num=len(outs))


def split(draw: Draw) -> bytes:
    count = draw.upto(3)
    spec = moved(draw, 5, "int8", "int16", "int32", "float32")
    axis = draw.upto(len(spec.shape)) - 1
    part = spec.shape
    spec = replace(spec, shape=(*part[:axis], part[axis] * count, *part[axis + 1 :]))
    outs = [like(spec, part, f"y{i}") for i in range(count)]
    stored = axis - len(part) if draw.chance(0.3) else axis
    x, where = draw.given(spec), draw.known("axis", stored)
    return draw.op("SPLIT", 4, (where, x), outs, "SplitOptions", NumSplits=count)


def split_v(draw: Draw) -> bytes:
    sizes = draw.shape(draw.upto(3), 3)
    spec = moved(draw, 5, "int8", "int16", "int32", "float32")
    axis = draw.upto(len(spec.shape)) - 1
    shape = spec.shape
    spec = replace(spec, shape=(*shape[:axis], sum(sizes), *shape[axis + 1 :]))
    outs = [like(spec, (*shape[:axis], n, *shape[axis + 1 :]), f"y{i}") for i, n in enumerate(sizes)]
    stored = [-1 if draw.chance(0.2) and i == len(sizes) - 1 else n for i, n in enumerate(sizes)]
    x, parts, where = draw.given(spec), draw.known("sizes", stored), draw.known("axis", axis)
    return draw.op("SPLIT_V", 2, (x, parts, where), outs, "SplitVOptions", NumSplits=len(sizes))


def strided_slice(draw: Draw) -> bytes:
    spec = moved(draw, 5)
    begins, ends, steps, masks, shape = [], [], [], [0, 0, 0], []
    for axis, size in enumerate(spec.shape):
        step = draw.one_of(1, 1, 2, 3, -1, -2)
        if draw.chance(0.2):
            place = draw.upto(size, 1) - 1
            begins.append(place - size if draw.chance() else place)
            ends.append(place + 1)
            steps.append(1)
            masks[0] |= draw.chance(0.3) << axis  # begins at the first element, whatever `begins` says
            masks[2] |= 1 << axis
            continue
        for _ in range(20):
            begin, end = draw.upto(size + 2, -size - 2), draw.upto(size + 2, -size - 2)
            bits = draw.chance(0.3), draw.chance(0.3)
            count = len(range(size)[slice(None if bits[0] else begin, None if bits[1] else end, step)])
            if count:
                break
        else:
            bits, count = (True, True), len(range(size)[::step])
        begins.append(begin), ends.append(end), steps.append(step), shape.append(count)  # type: ignore[func-returns-value]
        masks[0] |= bits[0] << axis
        masks[1] |= bits[1] << axis
    x = draw.given(spec)
    bounds = [draw.known(n, v) for n, v in (("b", begins), ("e", ends), ("s", steps))]
    return draw.op(
        "STRIDED_SLICE", 4, (x, *bounds), [like(spec, tuple(shape))], "StridedSliceOptions",
        BeginMask=masks[0], EndMask=masks[1], ShrinkAxisMask=masks[2],
    )  # fmt: skip


def slice_(draw: Draw) -> bytes:
    spec = moved(draw, 5)
    begins = [draw.upto(n, 1) - 1 for n in spec.shape]
    taken = [draw.upto(n - b) for n, b in zip(spec.shape, begins, strict=True)]
    stored = [
        -1 if b + t == n and draw.chance() else t for n, b, t in zip(spec.shape, begins, taken, strict=True)
    ]
    x, b, s = draw.given(spec), draw.known("begin", begins), draw.known("size", stored)
    return draw.op("SLICE", 3, (x, b, s), [like(spec, tuple(taken))], "SliceOptions")


def transpose(draw: Draw) -> bytes:
    spec = moved(draw, 6)
    order = draw.rng.permutation(len(spec.shape))
    x, o = draw.given(spec), draw.known("order", order)
    return draw.op(
        "TRANSPOSE", 4, (x, o), [like(spec, tuple(spec.shape[a] for a in order))], "TransposeOptions"
    )


def pad(code: str) -> Maker:
    def make(draw: Draw) -> bytes:
        spec = moved(draw, 4, "int8", "int16", "int32", "int64", "float32")
        pairs = [(draw.upto(3, 0), draw.upto(3, 0)) if draw.chance(0.6) else (0, 0) for _ in spec.shape]
        shape = tuple(n + a + b for n, (a, b) in zip(spec.shape, pairs, strict=True))
        x, p = draw.given(spec), draw.known("pads", pairs)
        inputs = [x, p]
        if code == "PADV2":
            value = replace(spec, name="value", shape=(1,))
            inputs.append(draw.build._add(replace(value, data=draw.values(value))))
        options = "PadOptions" if code == "PAD" else "PadV2Options"
        return draw.op(code, 2, inputs, [like(spec, shape)], options)

    return make


def mirror_pad(draw: Draw) -> bytes:
    spec = moved(draw, 4, "int8", "int32", "float32")
    mode = draw.one_of(0, 1)
    skip = 1 if mode == tflite.MirrorPadMode.REFLECT else 0
    pairs = [tuple(draw.upto(n - skip, 0) for _ in range(2)) for n in spec.shape]
    shape = tuple(n + a + b for n, (a, b) in zip(spec.shape, pairs, strict=True))
    x, p = draw.given(spec), draw.known("pads", pairs)
    return draw.op("MIRROR_PAD", 2, (x, p), [like(spec, shape)], "MirrorPadOptions", Mode=mode)


def depth_to_space(draw: Draw) -> bytes:
    side = draw.upto(3)
    dtype = draw.one_of("int8", "float32")
    n, h, w, c = draw.shape(4, 3)
    spec = draw.spec("x", (n, h, w, c * side * side), dtype)
    x = draw.given(spec)
    out = like(spec, (n, h * side, w * side, c))
    return draw.op("DEPTH_TO_SPACE", 2, (x,), [out], "DepthToSpaceOptions", BlockSize=side)


def space_to_depth(draw: Draw) -> bytes:
    side = draw.upto(3)
    dtype = draw.one_of("int8", "float32")
    n, h, w, c = draw.shape(4, 3)
    spec = draw.spec("x", (n, h * side, w * side, c), dtype)
    x = draw.given(spec)
    out = like(spec, (n, h, w, c * side * side))
    return draw.op("SPACE_TO_DEPTH", 2, (x,), [out], "SpaceToDepthOptions", BlockSize=side)


def batch_to_space(draw: Draw) -> bytes:
    count = draw.one_of(1, 2)
    blocks = draw.shape(count, 2)
    n, sizes, c = draw.upto(2), draw.shape(count, 4), draw.upto(3)
    spec = draw.spec("x", (n * prod(blocks), *sizes, c), draw.one_of("int8", "float32"))
    whole = [b * s for b, s in zip(blocks, sizes, strict=True)]
    crops = [(draw.upto(1, 0) if w > 2 else 0, draw.upto(1, 0) if w > 2 else 0) for w in whole]
    shape = (n, *(w - a - b for w, (a, b) in zip(whole, crops, strict=True)), c)
    x, b, k = draw.given(spec), draw.known("blocks", blocks), draw.known("crops", crops)
    return draw.op("BATCH_TO_SPACE_ND", 2, (x, b, k), [like(spec, shape)], "BatchToSpaceNDOptions")


def space_to_batch(draw: Draw) -> bytes:
    count = draw.one_of(1, 2)
    blocks = draw.shape(count, 2)
    n, sizes, c = draw.upto(2), draw.shape(count, 5), draw.upto(3)
    pads = [(p := draw.upto(1, 0), (-(s + p)) % b) for b, s in zip(blocks, sizes, strict=True)]
    spec = draw.spec("x", (n, *sizes, c), draw.one_of("int8", "float32"))
    shape = (n * prod(blocks), *((s + sum(p)) // b for s, p, b in zip(sizes, pads, blocks, strict=True)), c)
    x, b, k = draw.given(spec), draw.known("blocks", blocks), draw.known("pads", pads)
    return draw.op("SPACE_TO_BATCH_ND", 2, (x, b, k), [like(spec, shape)], "SpaceToBatchNDOptions")


def gather(draw: Draw) -> bytes:
    spec = moved(draw, 4, "int8", "int32", "float32", "int16")
    rank = len(spec.shape)
    axis = draw.upto(rank) - 1
    batches = draw.upto(axis, 0) if draw.chance(0.3) else 0
    more = draw.shape(draw.upto(2, 0), 3)
    places_shape = (*spec.shape[:batches], *more)
    chosen = draw.rng.integers(0, spec.shape[axis], places_shape)
    x, i = draw.given(spec), draw.known("places", chosen)
    shape = (*spec.shape[:axis], *more, *spec.shape[axis + 1 :])
    stored = axis - rank if draw.chance(0.3) else axis
    return draw.op("GATHER", 4, (x, i), [like(spec, shape)], "GatherOptions", Axis=stored, BatchDims=batches)


def gather_nd(draw: Draw) -> bytes:
    spec = moved(draw, 4, "int8", "float32")
    depth = draw.upto(len(spec.shape))
    more = draw.shape(draw.upto(2), 3)
    chosen = np.stack([draw.rng.integers(0, n, more) for n in spec.shape[:depth]], axis=-1)
    x, i = draw.given(spec), draw.known("places", chosen)
    return draw.op("GATHER_ND", 3, (x, i), [like(spec, (*more, *spec.shape[depth:]))], "GatherNdOptions")


def embedding(draw: Draw) -> bytes:
    spec = moved(draw, 3, "int8", "float32", least=2)
    chosen = draw.rng.integers(0, spec.shape[0], draw.upto(4))
    i, table = draw.known("places", chosen), draw.given(spec)
    out = like(spec, (chosen.size, *spec.shape[1:]))
    return draw.op("EMBEDDING_LOOKUP", 3, (i, table), [out])


def reverse(draw: Draw) -> bytes:
    spec = moved(draw, 5, "int8", "int32", "float32", "int16", "bool")
    rank = len(spec.shape)
    axes = [a for a in range(rank) if draw.chance()] or [0]
    x, a = draw.given(spec), draw.known("axes", axes)
    return draw.op("REVERSE_V2", 3, (x, a), [like(spec, spec.shape)], "ReverseV2Options")


def broadcast_to(draw: Draw) -> bytes:
    spec = moved(draw, 5)
    whole = spec.shape
    shape = repeatable(draw, whole)
    x, s = draw.given(replace(spec, shape=shape)), draw.known("shape", whole)
    return draw.op("BROADCAST_TO", 3, (x, s), [like(spec, whole)], "BroadcastToOptions")


def tile(draw: Draw) -> bytes:
    spec = moved(draw, 4)
    counts = draw.shape(len(spec.shape), 3)
    x, c = draw.given(spec), draw.known("counts", counts)
    out = like(spec, tuple(n * k for n, k in zip(spec.shape, counts, strict=True)))
    return draw.op("TILE", 3, (x, c), [out], "TileOptions")


def reshape(draw: Draw) -> bytes:
    spec = moved(draw, 5)
    shape = tuple(int(n) for n in draw.rng.permutation(spec.shape))
    x, s = draw.given(spec), draw.known("shape", shape)
    return draw.op("RESHAPE", 1, (x, s), [like(spec, shape)], "ReshapeOptions")


def one_hot(draw: Draw) -> bytes:
    """Indices of -1 and of the depth are drawn, too: their rows are off."""
    depth, shape = draw.upto(6), draw.shape(draw.upto(3), 4)
    dtype = draw.one_of("float32", "int32", "int64", "bool")
    axis = draw.upto(len(shape) + 1) - 1
    is_known = draw.chance(0.3)
    indices = draw.known("indices", draw.rng.integers(-1, depth + 1, shape)) if is_known else ""
    indices = indices or draw.given(FileTensor("x", shape, "int32"))
    on, off = (draw.operand(FileTensor(name, (), dtype), 0 if is_known else 0.8) for name in ("on", "off"))
    out = FileTensor("y", (*shape[:axis], depth, *shape[axis:]), dtype)
    stored = -1 if axis == len(shape) and draw.chance() else axis
    inputs = (indices, draw.known("depth", depth), on, off)
    return draw.op("ONE_HOT", 1, inputs, [out], "OneHotOptions", Axis=stored)


def top_k(draw: Draw) -> bytes:
    """Rows are short, with many equal elements, or so long that the largest are found one after the other."""
    is_long = draw.chance(0.3)
    spec = moved(draw, 3, "int8", "int32", "float32")
    size = draw.upto(80, 65) if is_long else draw.upto(9)
    spec = replace(spec, shape=(*spec.shape[:-1], size))
    k = draw.upto(min(size, 6))
    shape = (*spec.shape[:-1], k)
    places = FileTensor("places", shape, "int32")
    return draw.op(
        "TOPK_V2", 2, (draw.given(spec), draw.known("k", k)), [like(spec, shape), places], "TopKV2Options"
    )


def scatter_nd(draw: Draw) -> bytes:
    """Known places, some of them twice, or whole rows at computed places."""
    depth, is_known = draw.upto(2), draw.chance(0.6)
    depth = depth if is_known else 1
    shape, count = draw.shape(depth + draw.upto(2, 0), 5), draw.upto(6)
    dtype = draw.one_of("float32", "int32")
    updates = draw.given(FileTensor("x", (count, *shape[depth:]), dtype))
    indices = FileTensor("indices", (count, depth), "int32")
    if is_known:
        places = np.stack([draw.rng.integers(0, size, count) for size in shape[:depth]], axis=1)
        where = draw.known("indices", places)
    else:
        where = draw.given(indices)
        shape = (8, *shape[1:])
    inputs = (where, updates, draw.known("shape", shape))
    return draw.op("SCATTER_ND", 1, inputs, [FileTensor("y", shape, dtype)], "ScatterNdOptions")


def segment_sum(draw: Draw) -> bytes:
    numbers = np.sort(draw.rng.integers(0, 4, draw.upto(6)))
    shape = draw.shape(draw.upto(3, 0), 4)
    x = draw.given(FileTensor("x", (len(numbers), *shape), draw.one_of("float32", "int32")))
    out = like(draw.build.tensors[x], (int(numbers[-1]) + 1, *shape))
    return draw.op("SEGMENT_SUM", 1, (x, draw.known("numbers", numbers)), [out], "SegmentSumOptions")


def _unsorted(by: str) -> Maker:
    def maker(draw: Draw) -> bytes:
        """Some segments have no rows."""
        rows = draw.shape(draw.upto(2), 3)
        shape, count = draw.shape(draw.upto(2, 0), 4), draw.upto(5)
        x = draw.given(FileTensor("x", (*rows, *shape), draw.one_of("float32", "int32")))
        numbers = draw.known("numbers", draw.rng.integers(0, count, rows))
        out = like(draw.build.tensors[x], (count, *shape))
        options = f"UnsortedSegment{by.title()}Options"
        return draw.op(f"UNSORTED_SEGMENT_{by}", 1, (x, numbers, draw.known("count", count)), [out], options)

    return maker


UNSORTED: dict[str, Maker] = {f"UNSORTED_SEGMENT_{by}": _unsorted(by) for by in ("MAX", "MIN", "PROD", "SUM")}


def sparse_to_dense(draw: Draw) -> bytes:
    shape, dtype = draw.shape(2, 5), draw.one_of("float32", "int32", "int64")
    flat = np.sort(
        draw.rng.choice(shape[0] * shape[1], draw.upto(min(4, shape[0] * shape[1])), replace=False)
    )
    places = draw.known("places", np.stack(np.unravel_index(flat, shape), axis=1))
    values = draw.given(FileTensor("x", () if draw.chance(0.3) else (len(flat),), dtype))
    default = draw.known("default", draw.upto(9, 0), dtype)
    inputs = (places, draw.known("shape", shape), values, default)
    return draw.op("SPARSE_TO_DENSE", 1, inputs, [FileTensor("y", shape, dtype)], "SparseToDenseOptions")


def bucketize(draw: Draw) -> bytes:
    x = draw.given(FileTensor("x", draw.shape(draw.upto(3)), "float32"))
    limits = np.sort(draw.rng.normal(0, 2, draw.upto(6))).astype(np.float32)
    out = like(draw.build.tensors[x], draw.build.tensors[x].shape)
    return draw.op("BUCKETIZE", 1, (x,), [replace(out, dtype="int32")], "BucketizeOptions", Boundaries=limits)


def matrix_diag(draw: Draw) -> bytes:
    spec = draw.spec("x", draw.shape(draw.upto(3)), draw.one_of("float32", "int32", "int8"), quantised=False)
    out = like(spec, (*spec.shape, spec.shape[-1]))
    return draw.op("MATRIX_DIAG", 1, (draw.given(spec),), [out], "MatrixDiagOptions")


def matrix_set_diag(draw: Draw) -> bytes:
    spec = draw.spec("x", draw.shape(draw.upto(3)), draw.one_of("float32", "int32", "int8"), quantised=False)
    whole = like(spec, (*spec.shape, spec.shape[-1]), "whole")
    inputs = (draw.given(whole), draw.given(spec))
    return draw.op("MATRIX_SET_DIAG", 1, inputs, [like(whole, whole.shape)], "MatrixSetDiagOptions")


def suppression(draw: Draw, version: int = 4) -> bytes:
    """Boxes of opposite corners, often on top of each other; fewer, or more, boxes than results.

    All have an area: LiteRT selects one without more than once.
    """
    count, most = draw.upto(8), draw.upto(8)
    low, size = draw.rng.integers(0, 4, (count, 2)), draw.rng.integers(1, 4, (count, 2))
    boxes = draw.known("boxes", np.concatenate((low, low + size), axis=1), "float32")
    scores = draw.given(FileTensor("x", (count,), "float32"))
    limits = [draw.known(name, value, "float32") for name, value in (("overlap", 0.4), ("least", 0.1))]
    outs = [FileTensor("chosen", (most,), "int32"), FileTensor("valid", (), "int32")]
    inputs = [boxes, scores, draw.known("most", most), *limits]
    if version == 5:
        inputs.append(draw.known("sigma", 0, "float32"))
        outs.insert(1, FileTensor("scores", (most,), "float32"))
    code = f"NON_MAX_SUPPRESSION_V{version}"
    return draw.op(code, 1, inputs, outs, f"NonMaxSuppressionV{version}Options")


def suppression_with_scores(draw: Draw) -> bytes:
    return suppression(draw, 5)


# Element types of one width, or of another: what is read as more, or fewer, elements.
_BITS = {
    "int8": ("uint8",),
    "int32": ("float32", "uint32", "int8", "int16"),
    "float32": ("int32", "int8", "int16"),
    "int16": ("int8",),
}


def bitcast(draw: Draw) -> bytes:
    source = draw.one_of(*_BITS)
    made = draw.one_of(*_BITS[source])
    shape, share = draw.shape(draw.upto(3)), np.dtype(source).itemsize // np.dtype(made).itemsize
    narrow = shape if share == 1 else (*shape, share)
    (first, taken), (second, given) = (source, shape), (made, narrow)
    if share > 1 and draw.chance():
        (first, taken), (second, given) = (second, given), (first, taken)
    x = draw.given(FileTensor("x", taken, first))
    return draw.op("BITCAST", 1, (x,), [FileTensor("y", given, second)], "BitcastOptions")


def dilate(draw: Draw) -> bytes:
    spec = moved(draw, 3, "int8", "int16", "int32", "int64", "float32", "uint8")
    spec = replace(spec, shape=(draw.upto(4, 2), *spec.shape))
    steps = (draw.upto(3, 2), *draw.shape(len(spec.shape) - 1, 3))
    fill = replace(spec, name="fill", shape=())
    value = draw.build._add(replace(fill, data=draw.values(fill)))
    out = like(spec, tuple((n - 1) * step + 1 for n, step in zip(spec.shape, steps, strict=True)))
    return draw.op("DILATE", 1, (draw.given(spec), draw.known("steps", steps), value), [out], "DilateOptions")


def embedding_sparse(draw: Draw) -> bytes:
    """Some rows of the result have no lookups; ids and weights may be computed by the run."""
    rows, width, count = draw.upto(5, 2), draw.upto(4), draw.upto(6)
    sizes = draw.shape(draw.upto(2), 3)
    numbers = np.sort(draw.rng.integers(0, prod(sizes), count))
    places = np.stack([*np.unravel_index(numbers, sizes), np.arange(count)], axis=1)
    ids = draw.known("ids", draw.rng.integers(0, rows, count))
    weights = draw.operand(FileTensor("w", (count,), "float32"), 0.5)
    table = draw.operand(
        FileTensor("table", (rows, width), "float32"), 0 if "w" not in draw.build.inputs else 0.5
    )
    inputs = (ids, draw.known("places", places), draw.known("shape", (*sizes, count)), weights, table)
    return draw.op(
        "EMBEDDING_LOOKUP_SPARSE", 1, inputs, [FileTensor("y", (*sizes, width), "float32")],
        "EmbeddingLookupSparseOptions", Combiner=draw.upto(2, 0),
    )  # fmt: skip
