/* What is wider than the page can be scrolled with the keyboard, and each part has a name of its own. */
addEventListener("load", () => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((wide, n) => {
    wide.tabIndex = 0;
    wide.setAttribute("role", "region");
    wide.setAttribute("aria-label", `Table ${n + 1}: ${wide.querySelector("th")?.textContent}`);
  });
  document.querySelectorAll(".md-code__nav").forEach((nav, n) => nav.setAttribute("aria-label", `Code ${n + 1}`));
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
});
/* A field above each table of more than twenty rows: it leaves the rows that hold all words typed. */
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".md-typeset table")) {
    const rows = [...table.querySelectorAll("tbody tr")];
    if (rows.length <= 20) continue;
    const field = document.createElement("input");
    field.type = "search";
    field.className = "filter-table";
    field.placeholder = `Filter ${rows.length} rows by words`;
    field.setAttribute("aria-label", "Filter the table below");
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    const place = table.closest(".md-typeset__scrollwrap") || table;
    place.parentNode.insertBefore(field, place);
  }
});
