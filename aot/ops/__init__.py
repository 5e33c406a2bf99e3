"""The canonical ops by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.ops.add import Add
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.max_pool2d import MaxPool2d
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax

OPS: Mapping[str, type[Op]] = MappingProxyType(
    {
        op.name: op
        for op in (
            Add,
            AveragePool2d,
            Conv2d,
            Dense,
            DepthwiseConv2d,
            MaxPool2d,
            Reshape,
            Softmax,
        )
    }
)
