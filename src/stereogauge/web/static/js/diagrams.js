// Small diagrams as SVG, drawn here and not by the server: radar and parallel coordinates emphasise the same algorithm
// in both when the pointer is over one and follow the check boxes at once; sparklines stand in the cells of a table.

import { markerPath } from "./charts/markers.js";
import { textWidth } from "./charts/text.js";
import { h, s } from "./dom.js";
import { digits, number } from "./format.js";
import { shown } from "./theme.js";

/** A marker of one of Plotly's shapes, centred on x, y. */
export const marker = (shape, x, y, colour, size = 4.2) =>
  s("path", { d: markerPath(shape, x, y, size), fill: shown(colour) });

/** The swatch of an algorithm: its colour in its shape. */
export function badge(style) {
  return s(
    "svg",
    { width: 11, height: 11, viewBox: "0 0 11 11", class: "swatch", "aria-hidden": "true" },
    marker(style?.marker, 5.5, 5.5, style?.colour ?? "#888888"),
  );
}

const RIM = 1.12;

/**
 * Algorithms over several columns; the centre is best. `radius(algorithm, column)` lies between 0 and 1, null is a gap;
 * a point beyond the rim is drawn there, hollow. `rings` are pairs of a radius and what it means.
 */
export function radar(names, columns, radius, label, styles, rings, size = 420) {
  const centre = size / 2;
  const reach = size / 2 - 62;
  const angle = (column) => (2 * Math.PI * column) / columns.length - Math.PI / 2;
  const point = (column, share) => [
    centre + Math.cos(angle(column)) * reach * share,
    centre + Math.sin(angle(column)) * reach * share,
  ];
  const parts = rings.map(([share]) =>
    s("circle", { cx: centre, cy: centre, r: reach * share, fill: "none", class: "rule" }),
  );
  let [start, end] = [centre - reach, centre + reach];
  columns.forEach((column, index) => {
    const [x, y] = point(index, 1);
    const [tx, ty] = point(index, 1.07);
    const side = Math.cos(angle(index));
    const wide = textWidth(column.label);
    const left = side > 0.2 ? tx : side < -0.2 ? tx - wide : tx - wide / 2;
    [start, end] = [Math.min(start, left - 4), Math.max(end, left + wide + 4)];
    parts.push(
      s("line", { x1: centre, y1: centre, x2: x, y2: y, class: "rule" }),
      s("text", { x: left, y: ty + 4 }, column.label),
    );
  });
  for (const [share, text] of rings) {
    const between = angle(0.5);
    const [x, y] = [centre + Math.cos(between) * reach * share, centre + Math.sin(between) * reach * share];
    parts.push(s("text", { x, y: y + 4, class: "soft", "text-anchor": "middle" }, text));
  }
  names.forEach((name, row) => {
    const colour = shown(styles.get(name)?.colour ?? "#888888");
    const known = columns.map((_, index) => [index, radius(row, index)]).filter(([, share]) => share !== null);
    const corners = known.map(([index, share]) => point(index, Math.min(share, RIM)));
    // The line goes around, and ends where a neighbouring axis has no value.
    const path = known.map(([index], at) => {
      const after = (at + 1) % known.length;
      return known[after][0] === (index + 1) % columns.length ? `M${corners[at]}L${corners[after]}` : "";
    });
    parts.push(
      s(
        "path",
        {
          d: path.join(""),
          fill: "none",
          stroke: colour,
          "stroke-width": 1.4,
          "data-series": name,
        },
        s("title", {}, name),
      ),
    );
    known.forEach(([index, share], corner) => {
      const beyond = share > RIM;
      const [x, y] = corners[corner];
      const mark = beyond
        ? s("path", { d: `M${x} ${y - 6}l6 10h-12z`, fill: "none", stroke: colour, "data-beyond": "" })
        : marker(styles.get(name)?.marker, x, y, styles.get(name)?.colour ?? "#888888", 3.2);
      mark.append(s("title", {}, `${name}: ${label(row, index)}${beyond ? `, beyond the rim: ${digits(share)}` : ""}`));
      parts.push(mark);
    });
  });
  const tall = 2 * reach * 1.15 + 24;
  return s(
    "svg",
    {
      class: "chart",
      viewBox: `${start} ${centre - tall / 2} ${end - start} ${tall}`,
      width: end - start,
      height: tall,
      role: "img",
      "aria-label": "Radar chart",
    },
    parts,
  );
}

/** One vertical axis per column, one line per algorithm; best on top. */
export function parallel(names, columns, values, ranks, styles, width = 640) {
  const left = 30;
  const widest = Math.max(0, ...columns.map((column) => textWidth(column.label)));
  // Labels that would touch stand aslant.
  const aslant = widest + 8 > (width - 2 * left) / Math.max(1, columns.length - 1);
  const top = aslant ? 34 + 0.57 * widest : 46;
  const height = top + 204;
  const right = aslant ? Math.max(left, 0.82 * widest) : left;
  const x = (index) => left + ((width - left - right) * index) / Math.max(1, columns.length - 1);
  const range = columns.map((column, index) => {
    const known = values.map((row) => row[index]).filter((value) => value !== null);
    if (!known.length) return [null, null];
    const low = Math.min(...known);
    const high = Math.max(...known);
    return column.direction === "higher" ? [high, low] : [low, high];
  });
  const y = (value, index) =>
    top +
    (height - top - 24) *
      (range[index][1] === range[index][0] ? 0.5 : (value - range[index][0]) / (range[index][1] - range[index][0]));
  // Where the ends of neighbouring axes would run into each other, they stand in the data table only.
  const ends = range.flat().map(digits);
  const apart = Math.max(0, ...ends.map(textWidth)) + 4 < x(1) - x(0);
  const end = (index, side, y) =>
    apart && s("text", { x: x(index), y, "text-anchor": "middle", class: "soft" }, digits(range[index][side]));
  const parts = columns.map((column, index) => [
    s("line", { x1: x(index), x2: x(index), y1: top, y2: height - 24, class: "rule" }),
    aslant
      ? s("text", { x: x(index), y: top - 20, transform: `rotate(-35 ${x(index)} ${top - 20})` }, column.label)
      : s("text", { x: x(index), y: top - 20, "text-anchor": "middle" }, column.label),
    end(index, 0, top - 6),
    end(index, 1, height - 10),
  ]);
  names.forEach((name, row) => {
    const colour = shown(styles.get(name)?.colour ?? "#888888");
    let open = false;
    const path = columns
      .map((_, index) => {
        if (values[row][index] === null) {
          open = false;
          return "";
        }
        const step = `${open ? "L" : "M"}${x(index)} ${y(values[row][index], index)}`;
        open = true;
        return step;
      })
      .join("");
    parts.push(
      s(
        "path",
        { d: path, fill: "none", stroke: colour, "stroke-width": 1.4, "stroke-opacity": 0.85, "data-series": name },
        s("title", {}, name),
      ),
    );
    columns.forEach((column, index) => {
      if (values[row][index] === null) return;
      const mark = marker(
        styles.get(name)?.marker,
        x(index),
        y(values[row][index], index),
        styles.get(name)?.colour ?? "#888888",
        3,
      );
      mark.append(s("title", {}, `${name}, ${column.id}: ${values[row][index]} (rank ${ranks[row][index]})`));
      parts.push(mark);
    });
  });
  return s(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": "Parallel coordinates",
    },
    parts,
  );
}

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
