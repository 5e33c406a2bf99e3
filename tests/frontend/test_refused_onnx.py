"""All that keeps an ONNX file from being compiled is said at once: operators, limits, open sizes, values."""

import numpy as np
import pytest
from onnx import helper
from onnx_files import info
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor

MAKE = helper.make_node
DOCS = "deploy docs ops lists what each operator supports"


def file_of(
    nodes: list[helper.NodeProto],
    inputs: list[helper.ValueInfoProto],
    outputs: list[str],
    functions: tuple[helper.FunctionProto, ...] = (),
    **constants: np.ndarray,
) -> bytes:
    tensors = [helper.make_tensor(n, 7, a.shape, a.reshape(-1)) for n, a in constants.items()]
    graph = helper.make_graph(nodes, "net", inputs, [info(name) for name in outputs], tensors)
    sets = [
        helper.make_opsetid("", 19),
        helper.make_opsetid("own", 1),
        helper.make_opsetid("com.microsoft", 1),
    ]
    file: bytes = helper.make_model(graph, functions=functions, opset_imports=sets).SerializeToString()
    return file


def refusal(data: bytes, **given: tuple[int, ...]) -> list[str]:
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx", shapes=given)
    return str(caught.value).splitlines()


def test_operators_limits_values_and_open_sizes_are_named_together():
    nodes = [
        MAKE("MaxRoiPool", ["x", "x"], ["a"], name="crop", pooled_shape=[1, 1]),
        MAKE("Relu", ["a"], ["b"]),
        MAKE("MaxRoiPool", ["b", "b"], ["c"], pooled_shape=[1, 1]),
        MAKE("StringConcat", ["x", "x"], ["d"]),
        MAKE("Reshape", ["x", "shape"], ["e"]),
        MAKE("Transpose", ["z"], ["f"], perm=[0, 0]),
        MAKE("MultiHeadAttention", ["x", "x"], ["g"], domain="com.microsoft"),
    ]
    inputs = [info("x", "frames", 3), info("z", "rows", 5), info("shape", 2, element=7)]
    assert refusal(file_of(nodes, inputs, ["c", "d", "e", "f", "g"])) == [
        "error: ONNX operators MaxRoiPool, StringConcat, com.microsoft.MultiHeadAttention are not supported",
        "  net.onnx",
        "  MaxRoiPool, the size of its regions depends on the data; RoiAlign uses a fixed number of pixels: "
        '"crop", "c"',
        "    end the model before it and do this in the application",
        '  StringConcat, it works on texts, only numbers are supported: "d"',
        "    end the model before it and do this in the application",
        '  com.microsoft.MultiHeadAttention, it is a fused operator of ONNX Runtime\'s optimizer: "g"',
        "    give the model before ONNX Runtime optimized it",
        '  input "x" has the shape [frames, 3] and "z" has the shape [rows, 5]: '
        "all their sizes must be known",
        "    set them: --shape x=1,3 --shape z=1,5",
        '  Reshape #4 "e": its new shape "shape" must be known when the model is compiled',
        "    fix it: --value shape=...",
        '  Transpose #5 "f": its order [0, 0] does not fit 2 dimensions',
        "  hint: set what the file leaves open: --shape x=1,3 --shape z=1,5 --value shape=...",
        f"        {DOCS}",
    ]


def test_an_operator_that_nobody_knows_has_three_ways_out():
    told = refusal(file_of([MAKE("Warp", ["x"], ["y"], domain="own")], [info("x", 3)], ["y"]))
    assert told[0] == "error: ONNX operator own.Warp is not supported"
    assert told[2:4] == [
        '  own.Warp: "y"',
        "    export the model without it, have the file define it by others (onnx.helper.make_function), "
        "or add it: deploy docs tutorials/own-op",
    ]


def test_broken_limits_alone_are_counted():
    nodes = [
        MAKE("Reshape", ["x", "shape"], ["a"]),
        MAKE("Relu", ["a"], ["b"]),
        MAKE("Transpose", ["x"], ["c"], perm=[0, 0]),
    ]
    told = refusal(file_of(nodes, [info("x", 2, 3), info("shape", 2, element=7)], ["b", "c"]))
    assert told == [
        "error: 2 problems prevent compilation",
        "  net.onnx",
        '  Reshape #0 "a": its new shape "shape" must be known when the model is compiled',
        "    fix it: --value shape=...",
        '  Transpose #2 "c": its order [0, 0] does not fit 2 dimensions',
        "  hint: set what the file leaves open: --value shape=...",
        f"        {DOCS}",
    ]


def test_the_first_of_very_many_are_named():
    nodes = [MAKE("Transpose", ["x"], [f"y{number}"], perm=[0, 0]) for number in range(60)]
    told = refusal(file_of(nodes, [info("x", 2, 3)], ["y0"]))
    assert told[0] == "error: 50 problems prevent compilation"
    assert told[-2] == "  reading stopped after 50 problems"


def test_open_sizes_alone_have_one_line_to_copy():
    data = file_of([MAKE("Add", ["x", "z"], ["y"])], [info("x", "frames", 5), info("z", "rows", 5)], ["y"])
    assert refusal(data) == [
        'error: input "x" has the shape [frames, 5] and "z" has the shape [rows, 5]: '
        "all their sizes must be known",
        "  net.onnx",
        "  hint: set them: --shape x=1,5 --shape z=1,5",
    ]


def test_what_only_the_user_can_know_is_guessed_and_said_to_be_a_guess():
    data = file_of([MAKE("Relu", ["x"], ["y"])], [info("x", "batch", 3, "height", "width")], ["y"])
    assert refusal(data)[-3:] == [
        "  hint: set them: --shape x=1,3,224,224",
        '        "height" = 224 is a guess: use the size that you run the model with',
        '        "width" = 224 is a guess: use the size that you run the model with',
    ]


def test_a_name_is_the_same_size_wherever_it_stands():
    inputs = [info("x", "batch", "steps"), info("state", 2, "batch", "steps"), info("z", "n", "")]
    nodes = [MAKE("Add", ["x", "state"], ["a"]), MAKE("Add", ["a", "z"], ["y"])]
    assert refusal(file_of(nodes, inputs, ["y"]))[-3:] == [
        "  hint: set them: --shape x=1,512 --shape state=2,1,512 --shape z=1,512",
        '        "steps" = 512 is a guess: use the size that you run the model with',
        '        the sizes of "z" are guesses: use the sizes that you run the model with',
    ]


def test_behind_sizes_that_nobody_can_guess_only_operators_are_named():
    nodes = [MAKE("StringConcat", ["x", "x"], ["a"]), MAKE("Transpose", ["x"], ["b"], perm=[0, 0])]
    told = refusal(file_of(nodes, [info("x", 1, "width")], ["a", "b"]))
    assert told[0] == "error: ONNX operator StringConcat is not supported"
    assert not any("Transpose" in line for line in told)


def test_an_operator_in_a_function_and_in_a_branch_is_named_with_the_way_to_it():
    inner = [MAKE("MaxRoiPool", ["p", "p"], ["q"], name="crop", pooled_shape=[1, 1])]
    function = helper.make_function("own", "Block", ["p"], ["q"], inner, [helper.make_opsetid("", 19)])
    branch = helper.make_graph([MAKE("StringConcat", ["x", "x"], ["u"])], "branch", [], [info("u")])
    other = helper.make_graph([MAKE("Relu", ["x"], ["v"])], "branch", [], [info("v")])
    nodes = [
        MAKE("Block", ["x"], ["a"], name="first", domain="own"),
        MAKE("Block", ["a"], ["b"], name="second", domain="own"),
        MAKE("If", ["taken"], ["c"], name="if", then_branch=branch, else_branch=other),
    ]
    data = file_of(nodes, [info("x", 3)], ["b", "c"], (function,), taken=np.asarray(True))
    told = refusal(data)
    assert told[2].endswith('pixels: "first/crop", "second/crop"')
    assert told[4].endswith('"if/u"')
    data = file_of(nodes[2:], [info("x", 3)], ["c"], (function,), taken=np.asarray(False))
    assert read_onnx(data, "net.onnx").outputs == ("c",), "a branch that is not taken may hold anything"


def test_two_limits_in_one_body_are_both_named():
    nodes = [MAKE("Transpose", ["x"], [name], perm=[0, 0]) for name in "uv"]
    branch = helper.make_graph([*nodes, MAKE("Add", ["u", "v"], ["w"])], "branch", [], [info("w")])
    made = MAKE("If", ["taken"], ["y"], name="if", then_branch=branch, else_branch=branch)
    told = refusal(file_of([made], [info("x", 2, 3)], ["y"], taken=np.asarray(True)))
    assert told[0] == "error: 2 problems prevent compilation"
    assert [line.split(":")[0] for line in told[2:4]] == [
        '  If #0 "if", in "if/u"',
        '  If #0 "if", in "if/v"',
    ]


def model(*codes: str) -> bytes:
    """A chain on int8; what stands alone reads the model's input."""
    build = ModelBuilder()
    x = build.input("x", (1, 4, 4, 2), 0.5)
    results = []
    for number, code in enumerate(codes):
        made = FileTensor(f"layer{number}/out", (1, 4, 4, 2), "int8", (0.5,), (3,))
        options = "Pool2DOptions" if code == "L2_POOL_2D" else ""
        fields = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1, "FilterWidth": 1} if options else {}
        results.append(build.operator(code, 1, (x,), [made], options, **fields))
    return build.finish(*results)


def tflite_refusal(data: bytes) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read_tflite(data, "net.tflite")
    return caught.value


def test_broken_limits_are_named_together():
    error = tflite_refusal(model("L2_POOL_2D", "RELU", "NEG", "LOGISTIC"))
    assert error.what == "3 operators cannot be compiled"
    assert error.where.splitlines() == [
        "net.tflite",
        'at L2_POOL_2D #0 "layer0/out" (net.tflite): it is supported for f32 only, not for i8',
        "  convert this part of the model as float",
        'at NEG #2 "layer2/out" (net.tflite): stored i8 values can be negated only if input '
        "and output have the same scale and zero point 0",
        "  convert the model again with a symmetric scale, or this part as float",
        'at LOGISTIC #3 "layer3/out" (net.tflite): an i8 output must have scale 1/256 and zero point -128: '
        "it has scale 0.5, zero point 3",
        "  deploy docs ops lists what each operator supports",
    ]


def test_unsupported_operators_and_broken_limits_are_named_together():
    error = tflite_refusal(model("RANDOM_UNIFORM", "NEG"))
    assert error.what == "TFLite operator RANDOM_UNIFORM is not supported"
    assert [line.split(":")[0] for line in error.where.splitlines()[:3]] == [
        "net.tflite",
        "RANDOM_UNIFORM",
        'at NEG #1 "layer1/out" (net.tflite)',
    ]


def test_what_only_follows_from_a_refusal_is_not_told():
    build = ModelBuilder()
    x = build.input("x", (1, 4), 0.5)
    y = build.operator("NEG", 1, (x,), [FileTensor("y", (1, 4), "int8", (0.5,), (3,))])
    z = build.operator("LOGISTIC", 1, (y,), [FileTensor("z", (1, 4), "int8", (0.5,), (3,))])
    assert tflite_refusal(build.finish(z)).where == 'at NEG #0 "y" (net.tflite)'


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("edgetpu-custom-op", "compiled for an Edge TPU, give the file of the same name without _edgetpu"),
        ("ethos-u", "commands for an Ethos-U, give the model that Vela compiled and --accelerator ethos-u"),
        ("FlexErf", "a TensorFlow kernel, convert the model without SELECT_TF_OPS"),
        (
            "FlexTensorListReserve",
            "a Keras recurrent layer without a fixed batch,  convert it with Input(batch_shape="
            "(1, STEPS, FEATURES)) and unroll=True, or export it to ONNX",
        ),
    ],
)
def test_an_operator_of_another_compiler_says_which_file_to_give(code, why):
    error = tflite_refusal(model(f"CUSTOM {code}"))
    assert error.where.splitlines()[1] == f'CUSTOM {code}, {why}: node 0 "layer0/out"'
