/* Makes a report explorable: the arena is read step by step. */
const SVG = "http://www.w3.org/2000/svg";
const WIDEST = 8; // times the page's width
const grouped = new Intl.NumberFormat("en").format;

class Arena {
  constructor(figure) {
    this.facts = JSON.parse(figure.querySelector("script").textContent);
    this.buffers = this.facts.pools.flatMap((pool) => pool.buffers);
    this.svg = figure.querySelector("svg");
    this.range = figure.querySelector("input");
    this.output = figure.querySelector("output");
    this.rows = [...figure.querySelectorAll(".buffers tbody tr")];
    this.picked = "";
    this.wide = 1;
    this.cursor = this.addCursor();
    this.actions = {
      peak: () => this.show(this.facts.live_bytes.indexOf(Math.max(...this.facts.live_bytes))),
      wider: () => this.widen(2),
      narrower: () => this.widen(0.5),
      all: () => this.pick(""),
    };
    this.listen(figure);
    figure.querySelector(".tools").hidden = false;
    this.actions.peak();
  }

  addCursor() {
    const line = document.createElementNS(SVG, "line");
    const { top, bottom } = this.svg.dataset;
    for (const [name, value] of [["y1", top], ["y2", bottom], ["stroke", "var(--ink)"], ["stroke-width", 1.5]]) {
      line.setAttribute(name, value);
    }
    this.svg.append(line);
    return line;
  }

  listen(figure) {
    this.range.addEventListener("input", () => this.show(Number(this.range.value)));
    this.range.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() === "p") this.actions.peak();
    });
    figure.querySelectorAll("[data-do]").forEach((button) => {
      button.addEventListener("click", this.actions[button.dataset.do]);
    });
    this.svg.addEventListener("click", (event) => {
      this.pick(event.target.closest("[data-buffer]")?.dataset.buffer ?? "");
    });
    this.svg.addEventListener("pointermove", (event) => this.follow(event));
    this.rows.forEach((row) => {
      const button = document.createElement("button");
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.textContent = row.cells[0].textContent;
      row.cells[0].replaceChildren(button);
      button.addEventListener("click", () => this.pick(this.picked === button.textContent ? "" : button.textContent));
    });
  }

  follow(event) {
    const { left, plot } = this.svg.dataset;
    const box = this.svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * this.svg.viewBox.baseVal.width;
    const step = Math.floor(((x - left) / plot) * this.facts.steps);
    if (step >= 0 && step < this.facts.steps) this.show(step);
  }

  show(step) {
    const { left, plot } = this.svg.dataset;
    const x = Number(left) + ((step + 0.5) * plot) / this.facts.steps;
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
    this.range.value = step;
    this.output.textContent = this.said(step);
  }

  said(step) {
    const head = `step ${step} of ${this.facts.steps}, layer ${this.facts.order[step]}: ${grouped(this.facts.live_bytes[step])} bytes needed`;
    const held = this.buffers
      .filter((buffer) => !this.picked || buffer.name === this.picked)
      .map((buffer) => [buffer.name, rowsAt(buffer, step)])
      .filter(([, rows]) => rows.length);
    if (this.picked && !held.length) return `${head}; ${this.picked} holds nothing`;
    return `${head}; ${held.map(([name, rows]) => `${name} ${rowsSaid(rows)}`).join(", ")}`;
  }

  pick(name) {
    this.picked = name;
    this.svg.querySelectorAll("[data-buffer]").forEach((part) => {
      part.classList.toggle("dimmed", name !== "" && part.dataset.buffer !== name);
    });
    this.rows.forEach((row) => {
      const is = row.cells[0].textContent === name;
      row.classList.toggle("picked", is);
      row.cells[0].firstElementChild.setAttribute("aria-pressed", String(is));
    });
    this.show(Number(this.range.value));
  }

  widen(times) {
    this.wide = Math.min(WIDEST, Math.max(1, this.wide * times));
    this.svg.style.width = `${this.wide * 100}%`;
  }
}

function rowsAt(buffer, step) {
  return buffer.stays.filter(([, first, last]) => first <= step && step <= last).map(([row]) => row).sort((a, b) => a - b);
}

function rowsSaid(rows) {
  const [first, last] = [rows[0], rows.at(-1)];
  return rows.length === 1 ? `row ${first}` : `rows ${first}–${last}`;
}

document.querySelectorAll("table").forEach(makeSortable);
document.querySelectorAll("figure.arena").forEach((figure) => new Arena(figure));
