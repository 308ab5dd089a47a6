// Small parts of pages: bars in the cells of a table, and the table of numbers behind a chart.

import { cell, figureCell, h, s, table } from "./dom.js";
import { number } from "./format.js";

/** Scores scene by scene as small bars; a gap is an empty frame. */
export function sparkline(values, top, scenes, open, unit) {
  const step = Math.max(4, Math.min(9, 220 / values.length));
  return s(
    "svg",
    { class: "spark", width: step * values.length, height: 16, role: "img", "aria-label": "Scores scene by scene" },
    values.map((value, index) => {
      const size = Math.min(1, Math.abs(number(value)) / (top || 1));
      const height = value === null ? 15 : Math.max(1, 15 * size);
      return s(
        "rect",
        {
          x: index * step,
          y: 16 - height,
          width: step - 1,
          height,
          class: value === null ? "none" : null,
          onclick: () => open(scenes[index]),
        },
        s("title", `${scenes[index]}: ${value === null ? "no score" : `${value} ${unit}`}`),
      );
    }),
  );
}

/** The table behind a chart, filled when it is opened; `rows` is a list or a function that makes one. */
export function behind(head, rows) {
  const content = h("div.scroll");
  const shown = (one, at) =>
    typeof one === "number"
      ? figureCell(one, at ? {} : { class: "text" })
      : cell({ class: at && one === null ? null : "text" }, { inf: "∞", "-inf": "−∞" }[one] ?? one ?? "–");
  const fill = () => {
    const made = typeof rows === "function" ? rows : () => rows;
    if (!content.hasChildNodes())
      content.append(
        table(
          head,
          made().map((row) => row.map(shown)),
        ),
      );
  };
  return h("details", { class: "data", ontoggle: fill }, h("summary", "data table"), content);
}
