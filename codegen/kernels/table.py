"""Which kernel file serves which op: one line each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from codegen.kernels import (
    average_pool2d,
    batch_matmul,
    binary,
    combine,
    compare,
    concat,
    contract,
    conv2d,
    convert,
    cumulate,
    curve,
    dense,
    depthwise_conv2d,
    detect,
    fold,
    gather,
    l2_norm,
    log_softmax,
    lookup,
    lstm,
    max_pool2d,
    narrow,
    pad,
    quantize,
    real_pools,
    real_sums,
    rearrange,
    reduce,
    resize,
    select,
    softmax,
    unary,
    update_slice,
)
from codegen.kernels.by_dtype import by_dtype
from codegen.kernels.kernel import OpKernel

KERNELS: Mapping[str, OpKernel] = MappingProxyType(
    {
        **binary.KERNELS,
        **combine.KERNELS,
        **compare.KERNELS,
        **concat.KERNELS,
        **convert.KERNELS,
        **cumulate.KERNELS,
        **curve.KERNELS,
        **fold.KERNELS,
        **gather.KERNELS,
        **pad.KERNELS,
        **quantize.KERNELS,
        **rearrange.KERNELS,
        **reduce.KERNELS,
        **select.KERNELS,
        **unary.KERNELS,
        **update_slice.KERNELS,
        "average_pool2d": by_dtype(average_pool2d.KERNEL, real_pools.AVERAGE_POOL2D),
        "batch_matmul": batch_matmul.KERNEL,
        "contract": contract.KERNEL,
        "conv2d": by_dtype(conv2d.KERNEL, real_sums.CONV2D),
        "dense": by_dtype(dense.KERNEL, real_sums.DENSE),
        "depthwise_conv2d": by_dtype(depthwise_conv2d.KERNEL, real_sums.DEPTHWISE_CONV2D),
        "l2_norm": l2_norm.KERNEL,
        "log_softmax": log_softmax.KERNEL,
        "detect": detect.KERNEL,
        "lookup": lookup.KERNEL,
        "lstm": lstm.KERNEL,
        "max_pool2d": by_dtype(max_pool2d.KERNEL, real_pools.MAX_POOL2D),
        "narrow": narrow.KERNEL,
        "resize": resize.KERNEL,
        "softmax": by_dtype(softmax.KERNEL, real_pools.SOFTMAX),
    }
)
