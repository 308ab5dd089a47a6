"use strict";

async function drawAll() {
  for (const place of document.querySelectorAll(".plot")) {
    const chart = JSON.parse(document.getElementById(place.dataset.figure).textContent);
    await vegaEmbed(place, chart, {
      renderer: "svg",
      ast: true,
      actions: { export: true, source: false, compiled: false, editor: false },
    });
  }
  document.body.dataset.ready = "true";
}

function key(row, column) {
  const cell = row.children[column];
  return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
}

function compare(a, b) {
  if (typeof a === typeof b) {
    return typeof a === "number" ? a - b : a.localeCompare(b);
  }
  return typeof a === "number" ? -1 : 1;
}

function sortBy(heading) {
  const table = heading.closest("table");
  const column = [...heading.parentElement.children].indexOf(heading);
  const down = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentElement.children) {
    other.removeAttribute("aria-sort");
  }
  heading.setAttribute("aria-sort", down ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].sort((a, b) => compare(key(a, column), key(b, column)) * (down ? -1 : 1));
  table.tBodies[0].append(...rows);
}

for (const heading of document.querySelectorAll("thead th")) {
  heading.tabIndex = 0;
  heading.addEventListener("click", () => sortBy(heading));
  heading.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      sortBy(heading);
    }
  });
}

drawAll();
