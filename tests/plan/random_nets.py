"""Random plan requests: chains and branching graphs of windows, additions, pools, gates and dense layers."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st
from plan_requests import Image, Net

from aot.plan.model import Kind, PlanRequest


@st.composite
def requests(draw: st.DrawFn, rows: bool = True, most_steps: int = 9) -> PlanRequest:
    net = Net()
    sizes = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 40)), min_size=1, max_size=2))
    images = [net.input(f"in{n}", height, row_bytes) for n, (height, row_bytes) in enumerate(sizes)]
    for number in range(draw(st.integers(1, most_steps))):
        step = draw(st.sampled_from(STEPS))
        images.append(step(draw, net, images, f"t{number}"))
    request = _with_outputs(net.request(rows), draw)
    return _with_scratch(request, draw)


def _source(draw: st.DrawFn, images: list[Image]) -> Image:
    """Mostly the newest."""
    return images[-1] if draw(st.booleans()) else draw(st.sampled_from(images))


def _window(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    source = _source(draw, images)
    kernel, stride = draw(st.integers(1, min(3, source.rows))), draw(st.integers(1, 2))
    return net.window(source, name, draw(st.integers(1, 40)), kernel, stride, draw(st.integers(0, 1)))


def _join(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    first = _source(draw, images)
    others = [i for i in images if i.height == first.height and i.row_bytes == first.row_bytes and i != first]
    pad = draw(st.integers(0, 1))
    chosen = draw(st.lists(st.sampled_from(others), max_size=2, unique=True)) if others else []
    return net.pointwise([first, *chosen], name, pad=pad, in_place=draw(st.booleans()))


def _concat(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    first = _source(draw, images)
    others = [i for i in images if i.height == first.height and i != first]
    sources = [first, draw(st.sampled_from(others))] if others else [first]
    return net.pointwise(sources, name, sum(s.row_bytes for s in sources), draw(st.integers(0, 1)))


def _joined(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    first = _source(draw, images)
    others = [i for i in images if i.row_bytes == first.row_bytes]
    return net.joined([first, *draw(st.lists(st.sampled_from(others), max_size=2))], name)


def _strided(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    source = _source(draw, images)
    return net.strided(source, name, draw(st.integers(1, 40)), draw(st.integers(1, min(2, source.height))))


def _gate(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    source = _source(draw, images)
    pooled = net.pool(source, f"{name}_pool", source.row_bytes, 4 * source.row_bytes)
    return net.scaled(source, pooled, name, draw(st.integers(0, 1)))


def _pool(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    return net.pool(_source(draw, images), name, draw(st.integers(1, 40)), draw(st.integers(0, 40)))


def _split(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    sizes = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    first, second = net.split(_source(draw, images), (f"{name}a", f"{name}b"), sizes)
    images.append(first)
    return second


def _in_pairs(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    source = _source(draw, images)
    if source.rows < 3:
        return net.window(source, name, draw(st.integers(1, 40)))
    return net.in_pairs(source, name, draw(st.integers(1, 40)))


def _dense(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    return net.dense(_source(draw, images), name, draw(st.integers(1, 60)))


def _remembered(draw: st.DrawFn, net: Net, images: list[Image], name: str) -> Image:
    return net.remembered(_source(draw, images), name)


Step = Callable[[st.DrawFn, Net, list[Image], str], Image]
_LAYERS: tuple[Step, ...] = (_window, _window, _window, _join, _join, _concat, _joined, _strided)
STEPS = (*_LAYERS, _split, _in_pairs, _gate, _pool, _dense, _remembered)


def _with_scratch(request: PlanRequest, draw: st.DrawFn) -> PlanRequest:
    """Every third stage or so works in memory of its own."""
    sizes = [draw(st.sampled_from((0, 0, 4, 52))) for _ in request.stages]
    stages = (replace(s, scratch_bytes=size) for s, size in zip(request.stages, sizes, strict=True))
    return replace(request, stages=tuple(stages))


def _with_outputs(request: PlanRequest, draw: st.DrawFn) -> PlanRequest:
    """What nobody reads is an output, and now and then something that is read; rarely it is just dead."""
    read = {name for stage in request.stages for name in stage.reads}
    tensors = []
    for tensor in request.tensors:
        is_output = tensor.kind is Kind.INNER and draw(st.integers(0, 9)) < (1 if tensor.name in read else 9)
        tensors.append(replace(tensor, kind=Kind.OUTPUT) if is_output else tensor)
    return replace(request, tensors=tuple(tensors))
