/* Makes tables sortable by their headings, by mouse and keyboard. */
"use strict";

function makeSortable(table) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const descends = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((each) => each.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", descends ? "descending" : "ascending");
      sortBy(table, column, descends ? -1 : 1);
    });
  });
}

function sortBy(table, column, sign) {
  const valueOf = (row) => row.cells[column].dataset.value;
  const compare = (a, b) => {
    const [one, other] = [valueOf(a), valueOf(b)];
    if (one === "" || other === "") return (one === "") - (other === ""); // what is absent comes last
    return sign * (isNaN(one) || isNaN(other) ? one.localeCompare(other) : one - other);
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
}

