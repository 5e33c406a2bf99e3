"""Changes that survive because nobody could notice them: what is changed (code_changes.py) -> why."""

from collections.abc import Mapping

_NUMBER = "a number that stands for something and is compared with itself alone"
_BYTES = "the whole stack is estimated at most two bytes less, which no bound of an estimate can hold"
_WORDS = "a few words less are estimated, which other parts of the estimate have to spare on these cores"
_THUMB_2 = "83, 17.2, 39.6, 0.0, 11.5"
_OF_THUMB_2 = "2.0, 12.2, 0.0, 1.5, 30.2, 38.0, 0.0, 0.0, 0.0, 16.0, 4.0"
_OF_THUMB_1 = "5.0, 12.3, 0.0, 11.2, 11.0, 48.0, 0.0, 0.0, 0.0, 16.0, 4.0"
_OF_PAIRS = "83, 26.8, 0.0, 21.2, 6.3, 11.0, 4.8, 18.4, 0.0, 4.6, 58.0, 34.6, 14.9, 0.0, 0.0, 32.7"
_OF_LONG = "  # machine instructions; longer ones use more registers that need not be saved"
_OF_FRAMES = "  # limit for buffered bytes without a zero; devices send shorter frames"
_RATE = "RATE_TRIES and self._clock() > effort.began_at + RATE_S:"
_CHANCE = "one more of them is tried: which arenas grow by that and which shrink is chance"
_WHOLES = "of whole tensors only which stage reads and writes them counts, not their rows"
_OF_ALIKE = "  # of the best drafts from several climbs, placed even if they rank equally"
_OF_IDLE = "  # a position idle for more rounds of all stages than this can hold other data"
_READINGS = "readings = list(zip(stage.kernel.row_params, stage.reads, strict="
_BY_AREA = "lambda block: (-block.bytes * max(_end(block) - _begin(block)"
_LEAST = "  # proven: no placement of these rings in this order needs less"
_CROWDED = "  # too many buffers are live at once to search for a smaller placement"
_TOLD = "the planner tells it of each plan; what else is made is changed from one of its plans"
_REFINE = "tried = _refine(tried, QUICK, placed.cost["
_BASE = "base = np.repeat(np.arange(len(rows)), rows) * (lives.after"
_APART = "  # separates the tensors"
_BOTH = "return Use(one.stage, one.is_write, np.where(least"
_OF_BOTH = ", most, least), np.maximum(one.last, other.last))"
_DRAWS = "self.draws = [bool(f) or on for f, on in zip(self.followers, steps.reads_on, "
_GROUPED = "  # number of stages whose groups are cached: variants of a graph share most stages"
_WORK = "  # multiplications per run: a rough measure of how often it loads its inputs"
_SIZE = "NumPy takes any negative number for the size that is left"
REASONS: Mapping[str, str] = {
    "NOBODY = 0  ->  NOBODY = 1": _NUMBER,
    "CALLER, NOBODY_YET = -1, -2  ->  CALLER, NOBODY_YET = -1, -3": _NUMBER,
    'things = [("", 1, "nothing", False)]  ->  things = [("", 2, "nothing", False)]': _NUMBER,
    "self.position = 0  ->  self.position = 1": "each step sets the position before anything reads it",
    "def _touch(self, name: str, rows: int = 1) -> None:  ->  "
    "def _touch(self, name: str, rows: int = 2) -> None:": "only none and some rows are distinguished",
    "if 2 * step > modulus:  ->  if 2 * step >= modulus:": "of half the modulus the numbers that are wanted "
    "are mirrored onto themselves: the same turns lead into them",
    "return _largest_sum(weights, bias) + most_offset(ENLARGED) <= INT32_MAX  ->  "
    "return _largest_sum(weights, bias) + most_offset(ENLARGED) < INT32_MAX": "the sum is a multiple of 128, "
    "and the greatest number is odd",
    "table[: angles.size] = angles.reshape(-1)  ->  table[: angles.size] = angles.reshape(-2)": _SIZE,
    "return _Part(buffer, element, size, site.constants[position].reshape(-1))  ->  "
    "return _Part(buffer, element, size, site.constants[position].reshape(-2))": _SIZE,
    "_ALIGN = 8  ->  _ALIGN = 9": "row counters take a byte or two more, and compilers round too",
    f"_SHORT_INSTRUCTIONS = 12{_OF_LONG}  ->  _SHORT_INSTRUCTIONS = 1{_OF_LONG}": "no instruction that "
    "works in vector registers has 2 to 12 machine instructions",
    f"{_THUMB_2}, 1.1, {_OF_THUMB_2}  ->  {_THUMB_2}, 0.11000000000000001, {_OF_THUMB_2}": _BYTES,
    f"{_THUMB_2}, 1.1, {_OF_THUMB_2}  ->  {_THUMB_2}, 1.1, {_OF_THUMB_2.removesuffix('4.0')}0.4": _WORDS,
    f"131, 40.7, 21.0, 0.4, 3.1, 11.8, {_OF_THUMB_1}  ->  "
    f"131, 40.7, 21.0, 0.4, 3.1, 11.8, {_OF_THUMB_1.removesuffix('4.0')}0.4": _WORDS,
    f"{_OF_PAIRS}, 4.0  ->  {_OF_PAIRS}, 0.4": _WORDS,
    f"131, 40.7, 21.0, 0.4, 3.1, 11.8, {_OF_THUMB_1}  ->  "
    f"131, 40.7, 21.0, 0.04, 3.1, 11.8, {_OF_THUMB_1}": _BYTES,
    "return load(rows.xs, (of + (rows.x.left + column)) * rows.x.x_step, 1 + row)  ->  "
    "return load(rows.xs, (of + (rows.x.left - column)) * rows.x.x_step, 1 + row)": "pixels on both sides "
    "are only taken together, in means",
    "ADDRESSABLE_BYTES = 1 << 32  ->  ADDRESSABLE_BYTES = 2 << 32": "sizes are sent in 32 bits",
    f"LONGEST_FRAME = 1 << 16{_OF_FRAMES}  ->  LONGEST_FRAME = 2 << 16{_OF_FRAMES}": "noise is kept for "
    "twice as long, on a computer that has room for it; the longest frame of a device has 2 KB",
    "first = _HEAD.size + _DESCRIPTION.size * len(values)  ->  "
    "first = _HEAD.size - _DESCRIPTION.size * len(values)": "only the remainder by eight counts, and a "
    "description has eight bytes",
    f"if effort.tries > {_RATE}  ->  if effort.tries >= {_RATE}": "the third try comes within a second",
    f"ALIKE = 4{_OF_ALIKE}  ->  ALIKE = 5{_OF_ALIKE}": _CHANCE,
    f"_IDLE_ROUNDS = 1{_OF_IDLE}  ->  _IDLE_ROUNDS = 2{_OF_IDLE}": _CHANCE,
    "_FEW_BLOCKS = 5  # their 120 sequences can all be tried  ->  "
    "_FEW_BLOCKS = 6  # their 120 sequences can all be tried": _CHANCE,
    "REFINED_ORDERS = 2  # orders placed with CAREFUL effort, besides the one with the lowest floor  ->  "
    "REFINED_ORDERS = 3  # orders placed with CAREFUL effort, besides the one with the lowest floor": _CHANCE,
    f"{_BY_AREA} + 1, 0),),  ->  {_BY_AREA} + 1, 1),),": "a block that nobody touches lies at 0, whenever it "
    "is placed",
    "steps = range(len(columns[0].first) if columns else 0)  ->  "
    "steps = range(len(columns[0].first) if columns else 1)": "each stage reads or writes a tensor",
    f"{_DRAWS}strict=True)]  ->  {_DRAWS}strict=False)]": "both have an entry for each stage",
    f"work: int = 0{_WORK}  ->  work: int = 1{_WORK}": "what is read or written has a byte or more, which "
    "counts as much",
    f"_STAGES_KEPT = 512{_GROUPED}  ->  _STAGES_KEPT = 51{_GROUPED}": "groups that are forgotten "
    "are found again",
    "_ENDLESS = 1 << 62  # bytes  ->  _ENDLESS = 2 << 62  # bytes": "no memory has so many bytes",
    f"{_REFINE}-1])  ->  {_REFINE}-2])": "for each device there are at most 150 trials more, and no arena "
    "grows by that",
    f"{_BASE} + 1){_APART}  ->  {_BASE} + 2){_APART}": "any greater number keeps them apart as well",
    "if weight > self.heaviest:  ->  if weight >= self.heaviest:": "of equally heavy sets another is taken: "
    "which has the larger core is chance",
    f"{_BOTH} < 0{_OF_BOTH}  ->  {_BOTH} <= 0{_OF_BOTH}": "no stage writes a tensor twice, and of rows that "
    "are read only the last time counts",
    f"is_least: bool = False{_LEAST}  ->  is_least: bool = True{_LEAST}": _TOLD,
    f"is_crowded: bool = False{_CROWDED}  ->  is_crowded: bool = True{_CROWDED}": _TOLD,
    "_ONCE = Rows(0, 1)  ->  _ONCE = Rows(1, 1)": _WHOLES,
    "_ONCE = Rows(0, 1)  ->  _ONCE = Rows(0, 2)": _WHOLES,
    "if longer.rank < queued.get(longer.done, (longer.peak + 1,)):  ->  "
    "if longer.rank < queued.get(longer.done, (longer.peak + 2,)):": "what is not queued is always taken",
    f"{_READINGS}True))  ->  {_READINGS}False))": "a kernel has a row parameter for each reading",
    "are_narrow = self.graph.types[value].dtype.bytes < 4  ->  "
    "are_narrow = self.graph.types[value].dtype.bytes <= 4": "rows of words end at words as they are",
}
