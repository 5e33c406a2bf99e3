/* Makes an exploration explorable: figures to be chosen, filters, points and rows that are picked together. */
const SVG = "http://www.w3.org/2000/svg";
const FIGURES = {
  "RAM needed, bytes": "ram_bytes",
  "flash needed, bytes": "flash_bytes",
  "time of a run, ms": "time_ms",
  "cycles of a run": "cycles",
  "accuracy, %": "percent",
  "RAM of the board, bytes": "ram_there",
};
const MORE_IS_BETTER = new Set(["accuracy"]);
const JUDGED = ["ram_bytes", "flash_bytes", "time_s", "accuracy"];
const COLOURS = ["#4477aa", "#ee8866", "#228833", "#aa3377", "#ccbb44", "#44bb99", "#7f63b8", "#8c6d46"];
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT] = [1000, 460, 90, 60, 20, 30];
const TICKS = 5; // about so many steps to an axis

const times = (value, factor) => (value === null ? null : value * factor);
const results = JSON.parse(document.getElementById("results").textContent)
  .map((each) => ({ ...each, time_ms: times(each.time_s, 1000), percent: times(each.accuracy, 100) }));
const models = [...new Set(results.map((each) => each.model))];
const at = (id) => document.getElementById(id);
let picked = "";

function fill(select, names, chosen) {
  for (const [text, value] of names) select.append(new Option(text, value, false, value === chosen));
}

function known(key) {
  return results.some((each) => each[key] !== null);
}

function shown() {
  const [ram, rate] = [Number(at("ram").value) || Infinity, Number(at("rate").value) || 0];
  const kept = results.filter((each) =>
    (!at("model").value || each.model === at("model").value) &&
    (!at("fitting").checked || each.fits) &&
    (each.ram_bytes ?? Infinity) <= ram && (each.rate_hz ?? 0) >= rate);
  const best = new Set(kept.filter((each) => each.fits && !kept.some((other) => beats(other, each))));
  return { kept: at("unbeaten").checked ? kept.filter((each) => best.has(each)) : kept, best };
}

function beats(one, other) {
  if (!one.fits || (one.model !== other.model && one.accuracy === null)) return false;
  if (one.counts_firmware !== other.counts_firmware) return false;
  const grades = JUDGED.filter((key) => one[key] !== null && other[key] !== null)
    .map((key) => (MORE_IS_BETTER.has(key) ? other[key] - one[key] : one[key] - other[key]));
  return grades.every((grade) => grade <= 0) && grades.some((grade) => grade < 0);
}

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function scale(values, from, to) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = roundStep((high - low || Math.abs(high) || 1) / TICKS);
  const [first, last] = [Math.floor(low / step) * step, Math.ceil(high / step + (high === low)) * step];
  const ticks = Array.from({ length: Math.round((last - first) / step) + 1 }, (_, n) => first + n * step);
  return { place: (value) => from + ((value - first) / (last - first)) * (to - from), ticks };
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((times) => times * power >= rough);
}

function axis(svg, scaled, isAcross, title) {
  for (const value of scaled.ticks) {
    const where = scaled.place(value);
    const line = isAcross ? { x1: where, x2: where, y1: TOP, y2: HEIGHT - BOTTOM } : { x1: LEFT, x2: WIDTH - RIGHT, y1: where, y2: where };
    svg.append(element("line", { ...line, stroke: "var(--line)" }));
    const label = isAcross ? { x: where, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" } : { x: LEFT - 8, y: where + 4, "text-anchor": "end" };
    svg.append(element("text", { ...label, fill: "var(--faint)" }, Number(value.toPrecision(6)).toLocaleString("en")));
  }
  const place = isAcross ? { x: (LEFT + WIDTH) / 2, y: HEIGHT - 14, "text-anchor": "middle" } : { x: 14, y: HEIGHT / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${HEIGHT / 2})` };
  svg.append(element("text", { ...place, fill: "var(--ink)" }, title));
}

function draw() {
  const [across, up] = [at("across").value, at("up").value];
  const { kept, best } = shown();
  const points = kept.filter((each) => each[across] !== null && each[up] !== null);
  const svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "font-size": 12 });
  if (points.length) {
    const x = scale(points.map((each) => each[across]), LEFT, WIDTH - RIGHT);
    const y = scale(points.map((each) => each[up]), HEIGHT - BOTTOM, TOP);
    axis(svg, x, true, at("across").selectedOptions[0].text);
    axis(svg, y, false, at("up").selectedOptions[0].text);
    for (const each of points) svg.append(point(each, x.place(each[across]), y.place(each[up]), best.has(each)));
  }
  document.querySelector("#explorer .picture").replaceChildren(svg);
  const visible = new Set(kept.map((each) => each.key));
  for (const each of results) at(each.key).hidden = !visible.has(each.key);
  say(kept.length, best.size);
}

function point(each, cx, cy, isBest) {
  const colour = COLOURS[models.indexOf(each.model) % COLOURS.length];
  const dot = element("circle", {
    cx, cy, r: each.key === picked ? 9 : 6, stroke: colour, "stroke-width": each.key === picked ? 4 : 2,
    fill: isBest ? colour : "var(--paper)", "data-key": each.key,
  });
  dot.append(element("title", {}, named(each)));
  dot.addEventListener("click", () => pick(each.key));
  return dot;
}

function named(each) {
  return [each.model, `on ${each.board}`, each.options].filter(Boolean).join(" ");
}

function say(count, best) {
  const one = results.find((each) => each.key === picked);
  document.querySelector("#explorer output").textContent = `${count} of ${results.length} shown, ${best} unbeaten${one ? `; picked: ${named(one)}` : ""}`;
}

function pick(key) {
  picked = picked === key ? "" : key;
  for (const each of results) at(each.key).classList.toggle("picked", each.key === picked);
  draw();
}

const figures = Object.entries(FIGURES).filter(([, key]) => known(key));
fill(at("across"), figures, "ram_bytes");
fill(at("up"), figures, known("time_s") ? "time_ms" : "flash_bytes");
fill(at("model"), models.map((name) => [name, name]));
if (models.length > 1) {
  models.forEach((name, n) => {
    const swatch = document.createElement("span");
    swatch.className = `swatch part-${n % COLOURS.length}`;
    const item = document.createElement("li");
    item.append(swatch, name);
    at("legend").append(item);
  });
}
document.querySelectorAll("#explorer select, #explorer input").forEach((each) => each.addEventListener("input", draw));
document.querySelectorAll("table").forEach(makeSortable);
for (const row of document.querySelectorAll("tbody tr")) row.addEventListener("click", () => pick(row.id));
at("explorer").hidden = false;
draw();
