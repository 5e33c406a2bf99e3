/* Makes the tables of the evidence sortable. */
"use strict";

document.querySelectorAll("table").forEach(makeSortable);
