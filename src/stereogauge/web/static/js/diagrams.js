// Small parts of pages: bars in the cells of a table, and the table of numbers behind a chart.

import { h, s } from "./dom.js";
import { digits, number } from "./format.js";

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
        s("title", {}, `${scenes[index]}: ${value === null ? "no score" : `${value} ${unit}`}`),
      );
    }),
  );
}

/** The table behind a chart, filled when it is opened; `rows` is a list or a function that makes one. */
export function behind(head, rows) {
  const content = h("div", { class: "scroll" });
  const cell = (one, at) =>
    h(
      "td",
      {
        class: at && (typeof one === "number" || one === null) ? null : "text",
        title: typeof one === "number" ? String(one) : null,
      },
      typeof one === "number" ? digits(one) : ({ inf: "∞", "-inf": "−∞" }[one] ?? one ?? "–"),
    );
  const fill = () =>
    content.hasChildNodes() ||
    content.append(
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head.map((one, at) => h("th", { class: at ? null : "text", scope: "col" }, one)),
          ),
        ),
        h(
          "tbody",
          {},
          (typeof rows === "function" ? rows() : rows).map((row) => h("tr", {}, row.map(cell))),
        ),
      ),
    );
  return h("details", { class: "data", ontoggle: fill }, h("summary", {}, "data table"), content);
}
