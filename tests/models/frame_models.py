"""Models of one operator of an audio front end that no public case has."""

from collections.abc import Iterator

from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.ir.graph import Graph

Shape = tuple[int, ...]


def frame_model(
    code: str, x: Shape, outputs: list[tuple[str, Shape]], dtype: str = "int16", **options: int
) -> Graph:
    build = ModelBuilder()
    build.input("x", x, dtype="float32")
    build.tensors["x"] = FileTensor("x", x, dtype)
    made = [FileTensor(f"y{n}", shape, of) for n, (of, shape) in enumerate(outputs)]
    build.operator(f"CUSTOM Signal{code}", 1, ("x",), made, **options)  # type: ignore[arg-type]
    return read_tflite(build.finish(*(tensor.name for tensor in made)), "front.tflite")


def framer(size: int, step: int, count: int, prefill: int) -> Graph:
    outputs: list[tuple[str, Shape]] = [("int16", (1, count, size)), ("bool", ())]
    sizes = {"frame_size": size, "frame_step": step, "prefill": prefill}
    return frame_model("Framer", (1, count * step), outputs, **sizes)  # type: ignore[arg-type]


def stacker(left: int, right: int, every: int) -> Graph:
    names = {"stacker_left_context": left, "stacker_right_context": right, "stacker_step": every}
    outputs: list[tuple[str, Shape]] = [("int16", (4 * (left + right + 1),)), ("bool", ())]
    return frame_model("Stacker", (4,), outputs, num_channels=4, **names)  # type: ignore[arg-type]


def delay(length: int) -> Graph:
    return frame_model("Delay", (2, 5), [("int16", (2, 5))], delay_length=length)


def overlap_add() -> Graph:
    return frame_model("OverlapAdd", (2, 2, 8), [("int16", (2, 6))], T=7, frame_step=3)


def transform_back() -> Graph:
    return frame_model("Irfft", (10,), [("float32", (8,))], "float32", T=0, fft_length=8)


def frame_models() -> Iterator[Graph]:
    """One of each operator."""
    yield from (framer(5, 2, 3, 0), stacker(1, 1, 2), delay(3), overlap_add(), transform_back())
