"""Tiny models by name, with seeded weights: one per shape of graph the compiler must handle."""

from collections.abc import Callable, Mapping

import numpy as np
from tflite_builder import ModelBuilder

from aot.frontend.tflite.write_file import FileTensor
from aot.ir.types import Array

Quantised = tuple[Array, Array, list[float]]


def random_weights(seed: int, shape: tuple[int, ...], axis: int = 0) -> Quantised:
    """int8 weights, int32 bias and a scale per channel, such that results use the range of int8."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(-127, 128, shape).astype(np.int8)
    bias = rng.integers(-2000, 2001, shape[axis]).astype(np.int32)
    reach = 127 * np.sqrt(np.prod(shape) / shape[axis])
    scales = rng.uniform(0.5, 1.5, shape[axis]) / reach
    return weights, bias, [float(s) for s in scales]


def conv(padding: str = "SAME", stride: int = 1) -> bytes:
    """One 3x3 convolution with relu, input zero point not 0."""
    build = ModelBuilder("conv")
    x = build.input("image", (1, 7, 9, 3), scale=0.05, zero_point=-5)
    w, b, s = random_weights(1, (4, 3, 3, 3))
    y = build.conv2d(
        x,
        w,
        b,
        weight_scales=s,
        scale=0.04,
        zero_point=-20,
        stride=(stride, stride),
        padding=padding,
        activation="RELU",
    )
    return build.finish(y)


def conv_valid_stride2() -> bytes:
    return conv("VALID", 2)


def depthwise() -> bytes:
    """A depthwise 3x3 and a pointwise convolution: the pair mobile nets are made of."""
    build = ModelBuilder("depthwise")
    x = build.input("image", (1, 6, 5, 4), scale=0.05, zero_point=3)
    w, b, s = random_weights(2, (1, 3, 3, 4), axis=3)
    x = build.depthwise_conv2d(x, w, b, weight_scales=s, scale=0.04, zero_point=-128, activation="RELU6")
    w, b, s = random_weights(3, (8, 1, 1, 4))
    return build.finish(build.conv2d(x, w, b, weight_scales=s, scale=0.05, zero_point=7))


def depth_multiplier() -> bytes:
    """One input channel, several outputs of each: a depthwise convolution as the first layer."""
    build = ModelBuilder("multiplier")
    x = build.input("sound", (1, 9, 8, 1), scale=0.1, zero_point=-128)
    w, b, s = random_weights(4, (1, 5, 4, 6), axis=3)
    return build.finish(build.depthwise_conv2d(x, w, b, weight_scales=s, scale=0.08, stride=(2, 2)))


def dense() -> bytes:
    """Two dense layers, one scale per tensor, the second without a bias."""
    build = ModelBuilder("dense")
    x = build.input("features", (1, 20), scale=0.05, zero_point=10)
    w, b, s = random_weights(5, (12, 20))
    x = build.fully_connected(x, w, b, weight_scales=s[:1], scale=0.02, zero_point=-128, activation="RELU")
    w, _, s = random_weights(6, (5, 12))
    return build.finish(build.fully_connected(x, w, None, weight_scales=s[:1], scale=0.03, zero_point=4))


def residual() -> bytes:
    """A branch kept over two convolutions and added back."""
    build = ModelBuilder("residual")
    image = build.input("image", (1, 8, 8, 4), scale=0.05, zero_point=0)
    w, b, s = random_weights(7, (4, 3, 3, 4))
    x = build.conv2d(image, w, b, weight_scales=s, scale=0.05, zero_point=-128, activation="RELU")
    w, b, s = random_weights(8, (4, 3, 3, 4))
    x = build.conv2d(x, w, b, weight_scales=s, scale=0.07, zero_point=2)
    return build.finish(build.add(x, image, scale=0.09, zero_point=-11, activation="RELU"))


def pools() -> bytes:
    """Maximum, then average pooling, with windows that do and do not divide the image."""
    build = ModelBuilder("pools")
    x = build.input("image", (1, 9, 7, 3), scale=0.05, zero_point=1)
    x = build.pool2d("MAX", x, (3, 3), stride=(2, 2), padding="SAME")
    return build.finish(build.pool2d("AVERAGE", x, (2, 2)))


def classifier() -> bytes:
    """A whole small network: convolution, pooling to one pixel, dense, softmax."""
    build = ModelBuilder("classifier")
    x = build.input("image", (1, 8, 8, 1), scale=0.0625, zero_point=-128)
    w, b, s = random_weights(9, (6, 3, 3, 1))
    x = build.conv2d(x, w, b, weight_scales=s, scale=0.06, zero_point=-128, stride=(2, 2), activation="RELU")
    x = build.reshape(build.pool2d("AVERAGE", x, (4, 4)), (1, 6))
    w, b, s = random_weights(10, (5, 6))
    x = build.fully_connected(x, w, b // 8, weight_scales=s[:1], scale=0.05, zero_point=0)
    return build.finish(build.softmax(x))


def running_sum() -> bytes:
    """y = x + the sum of all x before: a model with a state, and with floats."""
    build = ModelBuilder("running_sum")
    x = build.input("x", (1, 3), dtype="float32")
    handle = FileTensor("sum/handle", (), "resource")
    variable = build.operator("VAR_HANDLE", 1, (), [handle], "VarHandleOptions", SharedName="sum")
    before = build.operator("READ_VARIABLE", 1, (variable,), [FileTensor("before", (1, 3), "float32")])
    y = build.operator("ADD", 1, (before, x), [FileTensor("y", (1, 3), "float32")], "AddOptions")
    build.operator("ASSIGN_VARIABLE", 1, (variable, y), [])
    return build.finish(y)


TINY: Mapping[str, Callable[[], bytes]] = {
    "classifier": classifier,
    "conv": conv,
    "conv_valid_stride2": conv_valid_stride2,
    "dense": dense,
    "depth_multiplier": depth_multiplier,
    "depthwise": depthwise,
    "pools": pools,
    "residual": residual,
}
