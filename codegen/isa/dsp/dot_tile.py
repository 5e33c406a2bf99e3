"""The register tile of an SMLAD dot product, its C code and its assembly. Its shape is a knob."""

from __future__ import annotations

from dataclasses import dataclass

from aot.ir.types import DType
from aot.wording import counted
from codegen.isa.asm import Address, AsmLine, computes, in_order, loads, operand
from codegen.isa.dsp.needs import IN_PAIRS

LDRD_OFFSET_LIMIT = 1020  # bytes, the largest immediate
UNROLLS = (1, 2, 3, 4, 6, 8, 9, 12, 16, 18, 24, 32, 48)


def unroll_text(unroll: int, is_straight: bool) -> str:
    """Describes in a comment how often a group is unrolled."""
    often = {1: "once", 2: "twice"}.get(unroll, f"{unroll} times")
    return often if is_straight else f"{often} in a turn"


@dataclass(frozen=True, slots=True)
class SmladDotTile:
    """A register tile of dot products: `pixels` by `channels` sums over `steps` groups of four."""

    pixels: int
    channels: int
    steps: int
    pixel_step: int  # elements from one pixel of x to the next
    x_dtype: DType  # I16: widened activations; I8: widened in registers
    x_aligned: bool  # every x is at a multiple of four bytes, so LDRD may be used
    most_unrolled: int  # groups per iteration
    w_dtype: DType = DType.I8  # I16: stored widened, which needs twice the flash
    in_pairs: bool = False  # for cores that issue two instructions per cycle
    is_general: bool = False  # one function for any number of groups and any distance between pixels

    @property
    def name(self) -> str:
        step = f"_step{self.pixel_step}" if self.is_step_known else ""
        unroll = f"_{self.unroll}_once" if self.is_straight else f"_by_{self.unroll}"
        aligned = "" if self.x_aligned else "_unaligned"
        weights = "_w16" if self.w_dtype is DType.I16 else ""
        pairs = "_in_pairs" if self.in_pairs else ""
        return (
            f"dot_{self.pixels}x{self.channels}_{self.x_dtype.value}{weights}{step}{aligned}{unroll}{pairs}"
        )

    @property
    def pairs_cross(self) -> bool:
        """Returns True if one factor pairs neighbors in memory and the other every second element."""
        return self.x_dtype is not self.w_dtype

    @property
    def is_step_known(self) -> bool:
        """Returns True if the distance between pixels is in the code; otherwise each pixel has a pointer."""
        return self.pixels > 1 and not self.is_general

    @property
    def is_straight(self) -> bool:
        """Returns True if all groups are unrolled, without a loop."""
        return self.unroll == self.steps and not self.is_general

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """Returns the numbers that a call passes to its function."""
        if self.is_straight:
            return ()
        step = (("pixel_step", self.pixel_step),) if self.pixels > 1 and self.is_general else ()
        return (("groups", self.steps), *step)

    @property
    def unroll(self) -> int:
        """Returns the groups per iteration: the largest allowed divisor of the steps."""
        if self.is_general:
            return 1
        return max(u for u in UNROLLS if u <= self.most_unrolled and self.steps % u == 0)


def takes_all_registers(tile: SmladDotTile) -> bool:
    """Returns True if one asm statement needs more registers than every compiler guarantees."""
    return tile.pixels > 2 or (tile.pixels == 2 and not tile.is_step_known)


def dot_text(tile: SmladDotTile) -> str:
    """Returns the C function: sums in registers, one asm statement per iteration."""
    if not takes_all_registers(tile):
        return _function(tile, _loop(tile))
    groups, step = (str(tile.steps) if tile.is_straight else "groups"), _step_text(tile, 1)
    sums = ", ".join(f"sum{i}{j}" for i, j in _sums(tile))
    either = [
        "#ifdef FEW_REGISTERS",
        f"    return {name_in_c(tile)}({sums}, x, w, {groups}, {step});",
        "#else",
        *_loop_in_asm(tile),
        "#endif",
    ]
    return _function(tile, either)


def name_in_c(tile: SmladDotTile) -> str:
    """Returns the name of the function in intrinsics, for any number of groups and pixel distance."""
    aligned = "" if tile.x_aligned else "_unaligned"
    return f"dot_{tile.pixels}x{tile.channels}_{tile.x_dtype.value}_{tile.w_dtype.value}{aligned}_in_c"


def text_in_c(tile: SmladDotTile) -> str:
    """Returns its C code, for compilers that allocate registers themselves."""
    x, w = tile.x_dtype, tile.w_dtype
    lines = [
        "#ifdef FEW_REGISTERS",
        f"static inline __attribute__((always_inline)) const {w.c_name} *{name_in_c(tile)}(",
        f"    {', '.join(f'int32_t *sum{i}{j}' for i, j in _sums(tile))},",
        f"    const {x.c_name} *x, const {w.c_name} *w, int32_t groups, int32_t pixel_step)",
        "{",
        "    for (int32_t n = 0; n < groups; ++n) {",
    ]
    for j in range(tile.channels):
        lines += _two_pairs(w, f"w{j}", f"w + {4 * j}" if j else "w", is_aligned=True)
    for i in range(tile.pixels):
        place = {0: "x", 1: "x + pixel_step"}.get(i, f"x + pixel_step * {i}")
        lines += _two_pairs(x, f"x{i}", place, tile.x_aligned)
        for j in range(tile.channels):
            lines.append(
                f"        *sum{i}{j} = __smlad(x{i}_23, w{j}_23, __smlad(x{i}_01, w{j}_01, *sum{i}{j}));"
            )
    return "\n".join(
        [
            *lines,
            "        x += 4;",
            f"        w += {4 * tile.channels};",
            "    }",
            "    return w;",
            "}",
            "#endif",
            "",
        ]
    )


def _two_pairs(dtype: DType, name: str, place: str, is_aligned: bool) -> list[str]:
    """Returns C code that loads four values from memory into two registers of two."""
    load = "aligned_word" if is_aligned else "word_at"
    if dtype is DType.I16:
        return [f"        const int32_t {name}_01 = {load}({place}), {name}_23 = {load}({place} + 2);"]
    return [
        f"        const int32_t {name} = {load}({place});",
        f"        const int32_t {name}_01 = __sxtb16({name}), {name}_23 = odd_bytes({name});",
    ]


def instructions_of(tile: SmladDotTile) -> int:
    """Returns the number of instructions of one call."""
    return len(_asm_step(tile).lines) * tile.unroll


def registers_of(tile: SmladDotTile) -> int:
    """Returns the number of registers of its statement besides the operands."""
    return len(_asm_step(tile).temps)


def _step_macro(tile: SmladDotTile) -> str:
    return f"{tile.name.upper()}_STEP"


def _step_definition(tile: SmladDotTile) -> list[str]:
    """Returns the assembly of one group of four, repeated `unroll` times; for dual issue, all groups."""
    step = _asm_step(tile).lines
    lines = in_order(step * tile.unroll, IN_PAIRS) if tile.in_pairs else step
    *most, last = (f'    "{line.text}\\n\\t"' for line in lines)
    return [f"#define {_step_macro(tile)} \\", *(f"{line} \\" for line in most), last]


def _steps(tile: SmladDotTile) -> list[str]:
    """Returns the macro as often as it is unrolled, a few per line."""
    names = [_step_macro(tile)] * (1 if tile.in_pairs else tile.unroll)
    return [" ".join(names[first : first + 2]) for first in range(0, len(names), 2)]


def _function(tile: SmladDotTile, body: list[str]) -> str:
    params = ", ".join(f"int32_t *sum{i}{j}" for i, j in _sums(tile))
    numbers = "".join(f", int32_t {name}" for name, _ in tile.numbers)
    lines = [
        *(_step_definition(tile) if any(_step_macro(tile) in line for line in body) else []),
        f"/* {_describe(tile)}, four terms at a time, {unroll_text(tile.unroll, tile.is_straight)};",
        f"   {_kinds_text(tile)}; returns the end of the weights. */",
        f"static inline __attribute__((always_inline)) const {tile.w_dtype.c_name} *{tile.name}(",
        f"    {params},",
        f"    const {tile.x_dtype.c_name} *x, const {tile.w_dtype.c_name} *w{numbers})",
        "{",
        *body,
        "}",
    ]
    return "\n".join(lines) + "\n"


def _sums(tile: SmladDotTile) -> list[tuple[int, int]]:
    return [(i, j) for i in range(tile.pixels) for j in range(tile.channels)]


def _step_text(tile: SmladDotTile, pixels: int) -> str:
    return str(pixels * tile.pixel_step) if tile.is_step_known else "pixel_step"


def _locals(tile: SmladDotTile, temps: tuple[str, ...]) -> list[str]:
    lines = [
        f"    int32_t {', '.join(f's{i}{j} = *sum{i}{j}' for i, j in _sums(tile))};",
        f"    int32_t {', '.join(temps)};",
    ]
    if _pointer(tile, 1) != "x":
        lines.append(f"    const {tile.x_dtype.c_name} *{_pointer(tile, 1)} = x + pixel_step;")
    return lines


def _pointer(tile: SmladDotTile, pixel: int) -> str:
    """Returns the pointer register of a pixel."""
    return f"x{pixel}" if 0 < pixel < tile.pixels and not tile.is_step_known else "x"


def _operands(tile: SmladDotTile, temps: tuple[str, ...]) -> list[str]:
    sums = ", ".join(f'[s{i}{j}] "+r"(s{i}{j})' for i, j in _sums(tile))
    pointers = [*dict.fromkeys(_pointer(tile, i) for i in range(tile.pixels)), "w"]
    moved = ", ".join(f'[{name}] "+r"({name})' for name in pointers)
    return [f"{sums},", f"{moved},", ", ".join(f'[{t}] "=&r"({t})' for t in temps)]


def _results(tile: SmladDotTile) -> list[str]:
    """Returns code that stores the sums and returns the pointer to the next weights."""
    return [*(f"    *sum{i}{j} = s{i}{j};" for i, j in _sums(tile)), "    return w;"]


def _loop(tile: SmladDotTile) -> list[str]:
    step = _asm_step(tile)
    asm = _asm(tile, step, _steps(tile), "")
    if tile.is_straight:
        return [*_locals(tile, step.temps), *asm, *_results(tile)]
    return [
        *_locals(tile, step.temps),
        f"    const {tile.w_dtype.c_name} *const end = w + groups * {4 * tile.channels};",
        "    do {",
        *(f"    {line}" for line in asm),
        "    } while (w != end);",
        *_results(tile),
    ]


def _loop_in_asm(tile: SmladDotTile) -> list[str]:
    """Returns the loop as one statement. Its end is in memory, and compared in a free register."""
    step = _asm_step(tile)
    if tile.is_straight:
        return [*_locals(tile, step.temps), *_asm(tile, step, _steps(tile), ""), *_results(tile)]
    again = ['"ldr %[p], %[end]\\n\\t"', '"cmp %[w], %[p]\\n\\t"', '"bne 1b\\n\\t"']
    lines = ['"1:\\n\\t"', *_steps(tile), *again]
    return [
        *_locals(tile, step.temps),
        f"    const {tile.w_dtype.c_name} *const end = w + groups * {4 * tile.channels};",
        *_asm(tile, step, lines, '[end] "m"(end)'),
        *_results(tile),
    ]


def _asm(tile: SmladDotTile, step: _Step, lines: list[str], inputs: str) -> list[str]:
    first, *rest = _operands(tile, step.temps)
    return [
        "    __asm__ volatile(",
        *(f"        {line}" for line in lines),
        f"        : {first}",
        *(f"          {line}" for line in rest),
        f"        : {inputs}".rstrip(),
        f'        : "memory"{", " + chr(34) + "cc" + chr(34) if inputs else ""});',
    ]


def _describe(tile: SmladDotTile) -> str:
    channels = counted(tile.channels, "channel")
    if tile.pixels == 1:
        return f"Sums of one pixel and {channels}"
    return f"Sums of {tile.pixels} pixels, {_step_text(tile, 1)} elements apart, and {channels}"


def _kinds_text(tile: SmladDotTile) -> str:
    """Describes the types, alignment and issue width, which distinguish functions of the same sums."""
    address = "" if tile.x_aligned else " at any address"
    pairs = ", two instructions at a time" if tile.in_pairs else ""
    return f"x of {tile.x_dtype.value}{address}, weights of {tile.w_dtype.value}{pairs}"


@dataclass(frozen=True, slots=True)
class _Step:
    lines: tuple[AsmLine, ...]
    temps: tuple[str, ...]


def _asm_step(tile: SmladDotTile) -> _Step:
    """Returns the step. It keeps the widened weights of two channels, or a single pixel, in registers."""
    return _one_pixel_step(tile) if tile.pixels == 1 else _many_pixels_step(tile)


def _one_pixel_step(tile: SmladDotTile) -> _Step:
    lines = _load_x(tile, 0, "p", "q", last=True)
    if tile.w_dtype is DType.I16:
        for j in range(tile.channels):
            lines += [*_load_wide(tile, "a", "b"), *_products(0, j, "a", "b")]
        return _Step(tuple(lines), ("a", "b", "p", "q"))
    for j in range(0, tile.channels, 2):
        pair = min(2, tile.channels - j)
        lines += _load_w(tile, pair)
        for channel, word in list(zip(range(j, j + pair), "ab", strict=False)):
            lines += [*_widened("e", word), *_products(0, channel, "e", word)]
    temps = ("a", "b", "e", "p", "q") if tile.channels > 1 else ("a", "e", "p", "q")
    return _Step(tuple(lines), temps)


def _many_pixels_step(tile: SmladDotTile) -> _Step:
    if tile.w_dtype is DType.I16:
        return _wide_many_pixels_step(tile)
    words = "ab"[: tile.channels]
    even = dict(zip(words, "ef", strict=False))
    lines = _load_w(tile, tile.channels)
    for word in words:
        lines += _widened(even[word], word)
    for i in reversed(range(tile.pixels)):
        lines += _load_x(tile, i, "p", "q", last=i == 0)
        lines += [_product(i, j, "p", even[word]) for j, word in enumerate(words)]
        lines += [_product(i, j, "q", word) for j, word in enumerate(words)]
    temps = (*words, *even.values(), "p", "q")
    return _Step(tuple(lines), temps)


def _widened(even: str, word: str) -> list[AsmLine]:
    """Returns bytes 0 and 2 of a word in one register, and bytes 1 and 3 in the word's register."""
    return [
        computes("sxtb16", operand(even), operand(word)),
        computes("sxtb16", operand(word), operand(word), end="ror #8"),
    ]


def _load_word(register: str, address: Address) -> AsmLine:
    return loads("ldr", (operand(register),), address)


def _load_two(first: str, second: str, address: Address) -> AsmLine:
    return loads("ldrd", (operand(first), operand(second)), address)


def _load_wide(tile: SmladDotTile, first: str, second: str) -> list[AsmLine]:
    w = operand("w")
    if tile.in_pairs:
        return [_load_word(first, Address(w, 8, moves=True)), _load_word(second, Address(w, -4))]
    return [_load_two(first, second, Address(w, 8, moves=True))]


def _product(pixel: int, channel: int, x: str, w: str) -> AsmLine:
    total = operand(f"s{pixel}{channel}")
    return computes("smlad", total, operand(x), operand(w), total)


def _products(pixel: int, channel: int, first: str, second: str) -> list[AsmLine]:
    """Returns four products: the pairs p and q of a pixel with a channel's."""
    return [_product(pixel, channel, "p", first), _product(pixel, channel, "q", second)]


def _wide_many_pixels_step(tile: SmladDotTile) -> _Step:
    """Returns the step for weights without widening: two registers of pairs per channel."""
    pairs = (("a", "b"), ("e", "f"))[: tile.channels]
    lines = [line for pair in pairs for line in _load_wide(tile, *pair)]
    for i in reversed(range(tile.pixels)):
        lines += _load_x(tile, i, "p", "q", last=i == 0)
        for j, pair in enumerate(pairs):
            lines += _products(i, j, *pair)
    return _Step(tuple(lines), (*(word for pair in pairs for word in pair), "p", "q"))


def _load_w(tile: SmladDotTile, channels: int) -> list[AsmLine]:
    if channels == 2:
        return _load_wide(tile, "a", "b")
    return [_load_word("a", Address(operand("w"), 4, moves=True))]


def _load_x(tile: SmladDotTile, pixel: int, first: str, second: str, last: bool) -> list[AsmLine]:
    """Returns the loads of a pixel's four activations as 16-bit pairs; the last load advances the pointer."""
    pointer = operand(_pointer(tile, pixel))
    last = last or pointer != operand("x")  # the pointer has no other reader
    offset = pixel * tile.pixel_step * tile.x_dtype.bytes
    if tile.x_dtype is DType.I8:
        address = Address(pointer, 4, moves=True) if last else Address(pointer, offset)
        return [_load_word(second, address), *_widened(first, second)]
    on = Address(pointer, 8, moves=True)
    if tile.x_aligned and not tile.in_pairs:
        return [_load_two(first, second, on if last else Address(pointer, offset))]
    if last and tile.in_pairs:  # first the word whose register is free first
        return [_load_word(first, on), _load_word(second, Address(pointer, -4))]
    if last:
        return [_load_word(second, Address(pointer, 4)), _load_word(first, on)]
    return [_load_word(first, Address(pointer, offset)), _load_word(second, Address(pointer, offset + 4))]
