// A ranked list with intervals: one dot and its interval per algorithm on one axis.

import { h } from "../dom.js";
import { takeAway } from "../figure.js";
import { digits, drawable } from "../format.js";
import { colourOf, named } from "../words.js";

const SPACE = 0.04; // of the axis, free at both ends
const TICKS = 6;

/** Round numbers between two values. */
function ticks(low, high) {
  const rough = (high - low) / TICKS || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough);
  const first = Math.ceil(low / step);
  const count = Math.floor(high / step) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

/** The same as a chart to take away. */
function declaration(context, rows, axis) {
  const place = (field) => ({ field, type: "quantitative", title: axis, scale: { zero: false } });
  const names = rows.map((one) => one.name);
  const colour = { domain: names, range: names.map((one) => context.styles.get(one)?.colour ?? "#888888") };
  const y = { field: "name", type: "nominal", sort: null, title: null };
  const color = { field: "name", type: "nominal", scale: colour, legend: null };
  return {
    data: { values: rows },
    width: 420,
    height: { step: 18 },
    layer: [
      { mark: { type: "rule", strokeWidth: 3 }, encoding: { y, color, x: place("low"), x2: { field: "high" } } },
      { mark: { type: "point", filled: true, size: 80 }, encoding: { y, color, x: place("value") } },
    ],
  };
}

/**
 * Rows are { name, value, low, high, note }; `low` and `high` are null where no interval is known. `name` is that of
 * the files that it is saved as, `over` says how scenes become one number.
 */
export function strip(context, rows, { axis, note = "", caption = "", name, over }) {
  const values = rows
    .flatMap((one) => [one.value, one.low, one.high])
    .map(drawable)
    .filter((one) => one !== null);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const width = most - least || Math.abs(most) || 1;
  const [low, high] = [least - SPACE * width, most + SPACE * width];
  const place = (value) => `${(100 * (value - low)) / (high - low)}%`;
  const marks = ticks(low, high);
  const grid = () => marks.map((one) => h("i.tick", { style: { left: place(one) } }));
  const dot = ({ name, value, low: from, high: to }) => {
    if (drawable(value) === null) return null;
    const background = colourOf(context, name);
    const known = drawable(from) !== null && drawable(to) !== null;
    const span = () => ({ left: place(from), right: `calc(100% - ${place(to)})`, background });
    return [known && h("i.whisker", { style: span() }), h("i.dot", { style: { left: place(value), background } })];
  };
  const text = (one) =>
    `${digits(one.value)}${drawable(one.low) === null ? "" : `, ${digits(one.low)} to ${digits(one.high)}`}`;
  const row = (one) =>
    h(
      "div.strip-row",
      { role: "row", "data-strip": one.name },
      h("span.strip-name", { role: "rowheader" }, named(context, one.name)),
      h("span.strip-track", { role: "cell", title: text(one) }, grid(), dot(one), h("span.unseen", text(one))),
      h("span.strip-note", { role: "cell" }, one.note || ""),
    );
  const unseen = (words) => h("span.unseen", words);
  const heads = [unseen("algorithm"), unseen("value"), note].map((one) => h("span", { role: "columnheader" }, one));
  const numbers = marks.map((one) => h("span", { style: { left: place(one) } }, String(one)));
  return h(
    "div.strip",
    h(
      "div",
      { role: "table", "aria-label": axis },
      note && h("div.strip-row.strip-head", { role: "row" }, heads),
      rows.map(row),
    ),
    h("div.strip-row", { "aria-hidden": "true" }, h("span"), h("span.strip-axis", numbers), h("span")),
    h("p.caption", axis, ". ", caption),
    takeAway(declaration(context, rows, axis), context, { name, label: axis, over }),
  );
}
