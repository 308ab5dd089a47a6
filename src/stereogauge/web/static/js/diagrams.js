// Small parts of pages: bars in the cells of a table, and the table of numbers behind a chart.

import { cell, figureCell, h, s, table } from "./dom.js";
import { number } from "./format.js";

/** Scores scene by scene as small bars; a gap is an empty frame. */
export function sparkline(values, top, scenes, open, unit) {
  const step = Math.max(4, Math.min(9, 220 / values.length));
  const bar = (value, index) => {
    const none = value === null;
    const height = none ? 15 : Math.max(1, 15 * Math.min(1, Math.abs(number(value)) / (top || 1)));
    const place = { x: index * step, y: 16 - height, width: step - 1, height };
    return s(
      "rect",
      { ...place, class: none ? "none" : null, onclick: () => open(scenes[index]) },
      s("title", `${scenes[index]}: ${none ? "no score" : `${value} ${unit}`}`),
    );
  };
  const size = { width: step * values.length, height: 16 };
  return s("svg", { class: "spark", ...size, role: "img", "aria-label": "Scores scene by scene" }, values.map(bar));
}

/** The table behind a chart, filled when it is opened; `rows` is a list or a function that makes one. */
export function behind(head, rows) {
  const content = h("div.scroll");
  const shown = (one, at) =>
    typeof one === "number"
      ? figureCell(one, at ? {} : { class: "text" })
      : cell({ class: at && one === null ? null : "text" }, { inf: "∞", "-inf": "−∞" }[one] ?? one ?? "–");
  const ontoggle = () => {
    const made = typeof rows === "function" ? rows() : rows;
    const cells = made.map((row) => row.map(shown));
    if (!content.hasChildNodes()) content.append(table(head, cells));
  };
  return h("details.data", { ontoggle }, h("summary", "data table"), content);
}
