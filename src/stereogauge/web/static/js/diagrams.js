// Small diagrams as SVG: critical difference, radar, parallel coordinates, sparklines. They draw what the server
// computed.

import { h, s } from "./dom.js";
import { digits } from "./format.js";
import { shown } from "./theme.js";

/** A marker of one of Plotly's shapes, centred on x, y. */
export function marker(shape, x, y, colour, size = 4.2) {
  const fill = shown(colour);
  const points = (corners) => corners.map(([a, b]) => `${x + a * size},${y + b * size}`).join(" ");
  const polygons = {
    square: [
      [-0.9, -0.9],
      [0.9, -0.9],
      [0.9, 0.9],
      [-0.9, 0.9],
    ],
    diamond: [
      [0, -1.25],
      [1.25, 0],
      [0, 1.25],
      [-1.25, 0],
    ],
    "triangle-up": [
      [0, -1.2],
      [1.1, 0.8],
      [-1.1, 0.8],
    ],
    "triangle-down": [
      [0, 1.2],
      [1.1, -0.8],
      [-1.1, -0.8],
    ],
    "triangle-left": [
      [-1.2, 0],
      [0.8, 1.1],
      [0.8, -1.1],
    ],
    "triangle-right": [
      [1.2, 0],
      [-0.8, 1.1],
      [-0.8, -1.1],
    ],
    cross: [
      [-0.4, -1.1],
      [0.4, -1.1],
      [0.4, -0.4],
      [1.1, -0.4],
      [1.1, 0.4],
      [0.4, 0.4],
      [0.4, 1.1],
      [-0.4, 1.1],
      [-0.4, 0.4],
      [-1.1, 0.4],
      [-1.1, -0.4],
      [-0.4, -0.4],
    ],
    x: [
      [-1.1, -0.7],
      [-0.7, -1.1],
      [0, -0.4],
      [0.7, -1.1],
      [1.1, -0.7],
      [0.4, 0],
      [1.1, 0.7],
      [0.7, 1.1],
      [0, 0.4],
      [-0.7, 1.1],
      [-1.1, 0.7],
      [-0.4, 0],
    ],
    star: [
      [0, -1.3],
      [0.35, -0.4],
      [1.25, -0.4],
      [0.55, 0.2],
      [0.8, 1.1],
      [0, 0.55],
      [-0.8, 1.1],
      [-0.55, 0.2],
      [-1.25, -0.4],
      [-0.35, -0.4],
    ],
    pentagon: [
      [0, -1.2],
      [1.15, -0.35],
      [0.7, 1],
      [-0.7, 1],
      [-1.15, -0.35],
    ],
  };
  return polygons[shape]
    ? s("polygon", { points: points(polygons[shape]), fill })
    : s("circle", { cx: x, cy: y, r: size, fill });
}

/** The swatch of an algorithm: its colour in its shape. */
export function badge(style) {
  return s(
    "svg",
    { width: 11, height: 11, viewBox: "0 0 11 11", class: "swatch", "aria-hidden": "true" },
    marker(style?.marker, 5.5, 5.5, style?.colour ?? "#888888"),
  );
}

const pen = document.createElement("canvas").getContext("2d");

/** How wide a text stands in a diagram, px. */
function textWidth(text) {
  pen.font = `11.5px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(text).width;
}

/** A name, cut with an ellipsis where it would be wider than `room` px. */
function fitted(name, room) {
  if (textWidth(name) <= room) return name;
  let length = name.length - 1;
  while (length > 1 && textWidth(`${name.slice(0, length)}…`) > room) length -= 1;
  return `${name.slice(0, length)}…`;
}

/** Average ranks on a line; thick bars join algorithms that the test does not tell apart. */
export function criticalDifference(answer, styles, width = 640) {
  const names = answer.algorithms;
  const ranks = answer.average_rank;
  const low = 1;
  const high = Math.max(names.length, Math.ceil(ranks.at(-1)));
  const half = Math.ceil(names.length / 2);
  const labels = names.map((name, place) => `${fitted(name, width * 0.28)}  ${ranks[place].toFixed(2)}`);
  const [before, after] = [labels.slice(0, half), labels.slice(half)].map(
    (own) => 20 + Math.max(0, ...own.map(textWidth)),
  );
  const x = (rank) => before + ((width - before - after) * (rank - low)) / (high - low || 1);
  const bars = answer.cliques.length;
  const top = 46 + bars * 6;
  const height = top + half * 16 + 8;
  const step = Math.max(1, Math.ceil((high - low) / 12));
  const parts = [s("line", { x1: x(low), x2: x(high), y1: 34, y2: 34, class: "ink" })];
  for (let rank = low; rank <= high; rank += step) {
    parts.push(
      s("line", { x1: x(rank), x2: x(rank), y1: 30, y2: 34, class: "ink" }),
      s("text", { x: x(rank), y: 26, "text-anchor": "middle", class: "soft" }, rank),
    );
  }
  const reach = Math.min(width, x(low + answer.critical_distance));
  const said = `critical difference ${digits(answer.critical_distance)}`;
  parts.push(
    s("line", { x1: x(low), x2: reach, y1: 10, y2: 10, class: "ink", "stroke-width": 1.5 }),
    reach + 6 + textWidth(said) <= width
      ? s("text", { x: reach + 6, y: 14 }, said)
      : s("text", { x: x(low) - 6, y: 14, "text-anchor": "end" }, said),
  );
  answer.cliques.forEach(([first, last], row) => {
    const [x1, x2, y] = [x(ranks[first]) - 3, x(ranks[last]) + 3, 42 + row * 6];
    parts.push(s("line", { x1, x2, y1: y, y2: y, class: "ink", "stroke-width": 3 }));
  });
  names.forEach((name, place) => {
    const left = place < half;
    const y = top + 12 + (left ? place : names.length - 1 - place) * 16;
    const end = left ? before - 8 : width - after + 8;
    parts.push(
      s("path", {
        d: `M${x(ranks[place])} 34V${y}H${end}`,
        fill: "none",
        stroke: shown(styles.get(name)?.colour ?? "#888888"),
      }),
      marker(styles.get(name)?.marker, x(ranks[place]), 34, styles.get(name)?.colour ?? "#888888", 3.6),
      s(
        "text",
        { x: left ? end - 4 : end + 4, y: y + 4, "text-anchor": left ? "end" : "start" },
        labels[place],
        s("title", {}, name),
      ),
    );
  });
  return s(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": "Critical-difference diagram",
    },
    parts,
  );
}

/**
 * Algorithms over several columns; the centre is best. `radius(algorithm, column)` lies between 0 and 1, null is a gap.
 */
export function radar(names, columns, radius, label, styles, size = 420) {
  const centre = size / 2;
  const reach = size / 2 - 62;
  const angle = (column) => (2 * Math.PI * column) / columns.length - Math.PI / 2;
  const point = (column, share) => [
    centre + Math.cos(angle(column)) * reach * share,
    centre + Math.sin(angle(column)) * reach * share,
  ];
  const parts = [0.25, 0.5, 0.75, 1].map((share) =>
    s("circle", { cx: centre, cy: centre, r: reach * share, fill: "none", class: "rule" }),
  );
  let [start, end] = [centre - reach, centre + reach];
  columns.forEach((column, place) => {
    const [x, y] = point(place, 1);
    const [tx, ty] = point(place, 1.07);
    const side = Math.cos(angle(place));
    const wide = textWidth(column.label);
    const left = side > 0.2 ? tx : side < -0.2 ? tx - wide : tx - wide / 2;
    [start, end] = [Math.min(start, left - 4), Math.max(end, left + wide + 4)];
    parts.push(
      s("line", { x1: centre, y1: centre, x2: x, y2: y, class: "rule" }),
      s("text", { x: left, y: ty + 4 }, column.label),
    );
  });
  names.forEach((name, row) => {
    const colour = shown(styles.get(name)?.colour ?? "#888888");
    const known = columns.map((_, place) => [place, radius(row, place)]).filter(([, share]) => share !== null);
    const corners = known.map(([place, share]) => point(place, Math.min(share, 1.12)));
    const shape = known.length === columns.length ? "polygon" : "polyline";
    parts.push(
      s(
        shape,
        {
          points: corners.map((corner) => corner.join()).join(" "),
          fill: "none",
          stroke: colour,
          "stroke-width": 1.4,
          "data-series": name,
        },
        s("title", {}, name),
      ),
    );
    known.forEach(([place], index) => {
      const mark = marker(styles.get(name)?.marker, ...corners[index], styles.get(name)?.colour ?? "#888888", 3.2);
      mark.append(s("title", {}, `${name}: ${label(row, place)}`));
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
  const x = (place) => left + ((width - left - right) * place) / Math.max(1, columns.length - 1);
  const range = columns.map((column, place) => {
    const known = values.map((row) => row[place]).filter((value) => value !== null);
    const low = Math.min(...known);
    const high = Math.max(...known);
    return column.direction === "higher" ? [high, low] : [low, high];
  });
  const y = (value, place) =>
    top +
    (height - top - 24) *
      (range[place][1] === range[place][0] ? 0.5 : (value - range[place][0]) / (range[place][1] - range[place][0]));
  const parts = columns.map((column, place) => [
    s("line", { x1: x(place), x2: x(place), y1: top, y2: height - 24, class: "rule" }),
    aslant
      ? s("text", { x: x(place), y: top - 20, transform: `rotate(-35 ${x(place)} ${top - 20})` }, column.label)
      : s("text", { x: x(place), y: top - 20, "text-anchor": "middle" }, column.label),
    s("text", { x: x(place), y: top - 6, "text-anchor": "middle", class: "soft" }, digits(range[place][0])),
    s("text", { x: x(place), y: height - 10, "text-anchor": "middle", class: "soft" }, digits(range[place][1])),
  ]);
  names.forEach((name, row) => {
    const colour = shown(styles.get(name)?.colour ?? "#888888");
    let open = false;
    const path = columns
      .map((_, place) => {
        if (values[row][place] === null) {
          open = false;
          return "";
        }
        const step = `${open ? "L" : "M"}${x(place)} ${y(values[row][place], place)}`;
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
    columns.forEach((column, place) => {
      if (values[row][place] === null) return;
      const mark = marker(
        styles.get(name)?.marker,
        x(place),
        y(values[row][place], place),
        styles.get(name)?.colour ?? "#888888",
        3,
      );
      mark.append(s("title", {}, `${name}, ${column.id}: ${values[row][place]} (rank ${ranks[row][place]})`));
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
    values.map((value, place) => {
      const height = value === null ? 15 : Math.max(1, 15 * Math.min(1, Math.abs(value) / (top || 1)));
      return s(
        "rect",
        {
          x: place * step,
          y: 16 - height,
          width: step - 1,
          height,
          class: value === null ? "none" : null,
          onclick: () => open(scenes[place]),
        },
        s("title", {}, `${scenes[place]}: ${value === null ? "no score" : `${value} ${unit}`}`),
      );
    }),
  );
}

/** The table behind a chart, filled when it is opened; `rows` is a list or a function that makes one. */
export function behind(head, rows) {
  const place = h("div", { class: "scroll" });
  const cell = (one, at) =>
    h(
      "td",
      {
        class: at && (typeof one === "number" || one === null) ? null : "text",
        title: typeof one === "number" ? String(one) : null,
      },
      typeof one === "number" ? digits(one) : (one ?? "–"),
    );
  const fill = () =>
    place.hasChildNodes() ||
    place.append(
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
  return h("details", { class: "data", ontoggle: fill }, h("summary", {}, "data table"), place);
}
