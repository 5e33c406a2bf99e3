/* A field above each table of more than twenty rows: it leaves the rows that hold all words typed. */
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".md-typeset table")) {
    const rows = [...table.querySelectorAll("tbody tr")];
    if (rows.length <= 20) continue;
    const field = document.createElement("input");
    field.type = "search";
    field.className = "filter-table";
    field.placeholder = `Filter ${rows.length} rows: cortex-m33 zephyr`;
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
