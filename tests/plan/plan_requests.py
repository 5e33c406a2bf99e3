"""Plan requests made by hand: layers over images of int8 rows, as the compiler makes them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aot.plan.model import NO_ROWS, Kind, PlanRequest, PlanTensor, Pool, Rows, Stage, Step


@dataclass(frozen=True)
class Image:
    """A tensor of `height` rows of `row_bytes`, with `pad` rows above and below."""

    name: str
    height: int
    row_bytes: int
    pad: int = 0

    @property
    def rows(self) -> int:
        return self.height + 2 * self.pad


@dataclass
class Net:
    tensors: list[PlanTensor] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    def tensor(self, image: Image, kind: Kind = Kind.INNER) -> Image:
        self.tensors.append(PlanTensor(image.name, image.rows, image.row_bytes, kind))
        return image

    def input(self, name: str, height: int, row_bytes: int) -> Image:
        return self.tensor(Image(name, height, row_bytes), Kind.INPUT)

    def window(
        self,
        source: Image,
        name: str,
        row_bytes: int,
        kernel: int = 1,
        stride: int = 1,
        pad: int = 0,
        kind: Kind = Kind.INNER,
    ) -> Image:
        """Output row y reads `kernel` rows from y * stride on; the source's padding makes "same"."""
        height = (source.rows - kernel) // stride + 1
        image = self.tensor(Image(name, height, row_bytes, pad), kind)
        self._rows((source.name,), image, lambda y: (Rows(y * stride, y * stride + kernel),))
        return image

    def pointwise(
        self,
        sources: Sequence[Image],
        name: str,
        row_bytes: int = 0,
        pad: int = 0,
        in_place: bool = False,
        kind: Kind = Kind.INNER,
    ) -> Image:
        """Row y of the output reads row y of all sources: residual additions, concatenations."""
        image = self.tensor(Image(name, sources[0].height, row_bytes or sources[0].row_bytes, pad), kind)

        def reads(y: int) -> tuple[Rows, ...]:
            return tuple(Rows(y + source.pad, y + source.pad + 1) for source in sources)

        pairs = ((0, 0),) if in_place else ()
        self._rows(tuple(source.name for source in sources), image, reads, in_place=pairs)
        return image

    def joined(self, sources: Sequence[Image], name: str, kind: Kind = Kind.INNER) -> Image:
        """The sources' rows behind one another, each copied by a stage of its own."""
        image = self.tensor(Image(name, sum(s.height for s in sources), sources[0].row_bytes), kind)
        base = 0
        for number, source in enumerate(sources):
            steps = [
                Step((Rows(source.pad + y, source.pad + y + 1),), (Rows(base + y, base + y + 1),))
                for y in range(source.height)
            ]
            self.stages.append(Stage(f"{name}[{number}]", (source.name,), (name,), tuple(steps)))
            base += source.height
        return image

    def strided(self, source: Image, name: str, row_bytes: int, stride: int) -> Image:
        """A 1x1 convolution with stride: rows between are not read."""
        image = self.tensor(Image(name, source.height // stride, row_bytes))
        first = source.pad
        self._rows((source.name,), image, lambda y: (Rows(first + y * stride, first + y * stride + 1),))
        return image

    def pool(self, source: Image, name: str, row_bytes: int, state: int) -> Image:
        """Reads a row per step and writes at the last."""
        image = self.tensor(Image(name, 1, row_bytes))
        last = source.height - 1
        steps = [
            Step((Rows(y + source.pad, y + source.pad + 1),), (Rows(0, 1) if y == last else NO_ROWS,))
            for y in range(source.height)
        ]
        self.stages.append(Stage(name, (source.name,), (name,), tuple(steps), state_bytes=state))
        return image

    def split(self, source: Image, names: tuple[str, str], row_bytes: tuple[int, int]) -> list[Image]:
        """One stage makes both: row y of each comes from row y of the source."""
        images = [
            self.tensor(Image(n, source.height, size)) for n, size in zip(names, row_bytes, strict=True)
        ]
        steps = [
            Step((Rows(y + source.pad, y + source.pad + 1),), (Rows(y, y + 1),) * 2)
            for y in range(source.height)
        ]
        self.stages.append(Stage("+".join(names), (source.name,), names, tuple(steps)))
        return images

    def in_pairs(self, source: Image, name: str, row_bytes: int) -> Image:
        """A window of three rows that makes two rows at a time of four; the last may be single."""
        image = self.tensor(Image(name, source.rows - 2, row_bytes))
        steps = []
        for y in range(0, image.height, 2):
            count = min(2, image.height - y)
            steps.append(Step((Rows(y, y + count + 2),), (Rows(y, y + count),)))
        self.stages.append(Stage(name, (source.name,), (name,), tuple(steps)))
        return image

    def dense(self, source: Image, name: str, row_bytes: int, kind: Kind = Kind.INNER) -> Image:
        """One step that reads everything."""
        image = self.tensor(Image(name, 1, row_bytes), kind)
        step = Step((Rows(0, source.rows),), (Rows(0, 1),))
        self.stages.append(Stage(name, (source.name,), (name,), (step,)))
        return image

    def scaled(self, source: Image, scale: Image, name: str, pad: int = 0) -> Image:
        """Each row of one times the only row of the other: squeeze and excite."""
        image = self.tensor(Image(name, source.height, source.row_bytes, pad))
        first = source.pad
        names = (source.name, scale.name)
        self._rows(names, image, lambda y: (Rows(first + y, first + y + 1), Rows(0, 1)))
        return image

    def remembered(self, source: Image, name: str) -> Image:
        """Every output row reads a row of what the last run left, then that row is replaced."""
        state = self.tensor(Image(f"{name}_before", source.height, source.row_bytes), Kind.STATE)
        image = self.pointwise([source, state], name)
        rows = [Rows(y, y + 1) for y in range(source.height)]
        steps = [Step((Rows(y.first + source.pad, y.stop + source.pad),), (y,)) for y in rows]
        self.stages.append(Stage(f"{name}_keep", (source.name,), (state.name,), tuple(steps)))
        return image

    def _rows(
        self,
        names: tuple[str, ...],
        image: Image,
        reads: Callable[[int], tuple[Rows, ...]],
        in_place: tuple[tuple[int, int], ...] = (),
    ) -> None:
        nothing = tuple(NO_ROWS for _ in names)
        steps = [Step(nothing, (Rows(y, y + 1),)) for y in range(image.pad)]
        shifted = range(image.pad, image.pad + image.height)
        steps += [Step(reads(y - image.pad), (Rows(y, y + 1),)) for y in shifted]
        steps += [Step(nothing, (Rows(y, y + 1),)) for y in range(image.pad + image.height, image.rows)]
        stage = Stage(image.name, names, (image.name,), tuple(steps), in_place=in_place)
        self.stages.append(stage)

    def request(self, rows: bool = True, pools: tuple[Pool, ...] = (Pool("arena"),)) -> PlanRequest:
        return PlanRequest(tuple(self.tensors), tuple(self.stages), pools, rows)


def vww(rows: bool = True) -> PlanRequest:
    """MobileNetV1 0.25 at 96 x 96."""
    net = Net()
    x = net.input("input", 96, 96 * 3)
    x = net.pointwise([x], "padded", pad=1, row_bytes=98 * 3)
    x = net.window(x, "conv", 48 * 8, 3, 2, pad=1)
    width, channels = 48, 8
    for n, (stride, out) in enumerate(
        [(1, 16), (2, 32), (1, 32), (2, 64), (1, 64), (2, 128)] + [(1, 128)] * 5 + [(2, 256), (1, 256)]
    ):
        width //= stride
        x = net.window(x, f"dw{n}", width * channels, 3, stride)
        following = n < 12
        x = net.window(x, f"pw{n}", width * out, 1, 1, pad=1 if following else 0)
        channels = out
    x = net.pool(x, "pool", channels, channels * 4)
    x = net.dense(x, "dense", 2)
    net.dense(x, "softmax", 2, Kind.OUTPUT)
    return net.request(rows)


def resnet8(rows: bool = True) -> PlanRequest:
    net = Net()
    x = net.input("input", 32, 32 * 3)
    x = net.pointwise([x], "padded", pad=1, row_bytes=34 * 3)
    x = net.window(x, "conv", 32 * 16, 3, pad=1)
    for n, (stride, channels) in enumerate([(1, 16), (2, 32), (2, 64)]):
        width = 32 // 2**n
        y = net.window(x, f"a{n}", width * channels, 3, stride, pad=1)
        y = net.window(y, f"b{n}", width * channels, 3)
        skip = x if stride == 1 else net.strided(x, f"s{n}", width * channels, stride)
        x = net.pointwise([y, skip], f"add{n}", pad=1 if n < 2 else 0, in_place=True)
    x = net.pool(x, "pool", 64, 256)
    x = net.dense(x, "dense", 10)
    net.dense(x, "softmax", 10, Kind.OUTPUT)
    return net.request(rows)


def dscnn(rows: bool = True) -> PlanRequest:
    net = Net()
    x = net.input("input", 49, 10)
    x = net.pointwise([x], "padded", pad=5, row_bytes=14)
    x = net.window(x, "conv", 5 * 64, 10, 2, pad=1)
    for n in range(4):
        x = net.window(x, f"dw{n}", 5 * 64, 3)
        x = net.window(x, f"pw{n}", 5 * 64, 1, pad=1 if n < 3 else 0)
    x = net.pool(x, "pool", 64, 256)
    x = net.dense(x, "dense", 12)
    net.dense(x, "softmax", 12, Kind.OUTPUT)
    return net.request(rows)


def autoencoder(rows: bool = True) -> PlanRequest:
    net = Net()
    x = net.input("input", 1, 640)
    for n, size in enumerate([128] * 4 + [8] + [128] * 4):
        x = net.dense(x, f"dense{n}", size)
    net.dense(x, "output", 640, Kind.OUTPUT)
    return net.request(rows)


def mobilenet_v2(rows: bool = True) -> PlanRequest:
    """MobileNetV2 0.35 at 160 x 160."""
    net = Net()
    x = net.input("input", 160, 160 * 3)
    x = net.pointwise([x], "padded", pad=1, row_bytes=162 * 3)
    x = net.window(x, "conv", 80 * 16, 3, 2, pad=1)
    x = net.window(x, "dw_first", 80 * 16, 3)
    x = net.window(x, "pw_first", 80 * 8)
    width, channels, n = 80, 8, 0
    for out, repeat, first in [(8, 2, 2), (16, 3, 2), (24, 4, 2), (32, 3, 1), (56, 3, 2), (112, 1, 1)]:
        for r in range(repeat):
            stride = first if r == 0 else 1
            y = net.window(x, f"e{n}", width * channels * 6, pad=1)
            width //= stride
            y = net.window(y, f"d{n}", width * channels * 6, 3, stride)
            y = net.window(y, f"p{n}", width * out)
            x = net.pointwise([y, x], f"add{n}") if stride == 1 and out == channels else y
            channels, n = out, n + 1
    x = net.window(x, "last", width * 1280)
    x = net.pool(x, "pool", 1280, 1280 * 4)
    x = net.dense(x, "dense", 2)
    net.dense(x, "softmax", 2, Kind.OUTPUT)
    return net.request(rows)


MODELS = {
    "resnet8": resnet8,
    "dscnn": dscnn,
    "vww": vww,
    "autoencoder": autoencoder,
    "mobilenet_v2": mobilenet_v2,
}
