"""ONNX files in which boxes are chosen, and picked by what was chosen as exporters of detectors write it."""

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto, TensorProto, helper
from onnx_files import onnx_file

MAKE = helper.make_node
INFO = helper.make_tensor_value_info
FLOATS, WHOLES = TensorProto.FLOAT, TensorProto.INT64
KNOWN = {
    "most": np.array([3]),
    "overlap": np.array([0.4], np.float32),
    "least": np.array([0.5], np.float32),
    "batch_and_box": np.array([0, 2]),
    "box": np.array([2]),
    "kind": np.array([1]),
    "last": np.array([-1]),
    "no": np.array(0),
    "one": np.array([1]),
    "begin": np.array([0]),
    "end": np.array([2]),
    "half": np.array(0.5, np.float32),
    "ordered": np.array([0, 2, 1]),
    "rows_of_four": np.array([-1, 4]),
}
CHOOSE = MAKE("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "least"], ["chosen"], name="nms")


@dataclass(frozen=True)
class Written:
    """Nodes behind the chosen boxes, and their outputs."""

    nodes: list[NodeProto]
    outputs: dict[str, int]


# Boxes, scores and classes in one list, as exporters of detectors write it.
LISTED = Written(
    [
        MAKE("Gather", ["chosen", "batch_and_box"], ["places"], axis=1),
        MAKE("Gather", ["chosen", "kind"], ["kinds"], axis=1),
        MAKE("GatherND", ["boxes", "places"], ["picked"]),
        MAKE("Mul", ["picked", "half"], ["halved"]),
        MAKE("Transpose", ["scores"], ["turned"], perm=[0, 2, 1]),
        MAKE("Gather", ["chosen", "ordered"], ["score_places"], axis=1),
        MAKE("GatherND", ["turned", "score_places"], ["score"]),
        MAKE("Unsqueeze", ["score", "one"], ["scored"]),
        MAKE("Cast", ["kinds"], ["kinds_as_reals"], to=FLOATS),
        MAKE("Concat", ["halved", "kinds_as_reals", "scored"], ["listed"], axis=1),
    ],
    {"listed": FLOATS},
)
# Of one picture and one class, the numbers of boxes: as torchvision's are exported.
BY_NUMBER = Written(
    [
        MAKE("Gather", ["chosen", "box"], ["numbers"], axis=1),
        MAKE("Squeeze", ["numbers", "one"], ["flat"]),
        MAKE("Reshape", ["boxes", "rows_of_four"], ["all"]),
        MAKE("Gather", ["all", "flat"], ["kept"], axis=0),
        MAKE("Shape", ["kept"], ["shape_of_kept"]),
        MAKE("Reshape", ["kept", "shape_of_kept"], ["same"]),
        MAKE("Transpose", ["same"], ["columns"]),
    ],
    {"columns": FLOATS, "flat": WHOLES},
)


def file_of(written: Written, batches: int, classes: int, boxes: int) -> bytes:
    inputs = [INFO("boxes", FLOATS, [batches, boxes, 4]), INFO("scores", FLOATS, [batches, classes, boxes])]
    outputs = [INFO(name, element, None) for name, element in written.outputs.items()]
    return onnx_file([CHOOSE, *written.nodes], inputs, outputs, KNOWN)
