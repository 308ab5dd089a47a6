// The marks of a trace as SVG: lines, markers, bars.

import { s } from "../dom.js";
import { filled } from "./figure.js";
import { markerPath } from "./markers.js";

const DASHES = { dash: "6 4", dot: "2 3", dashdot: "8 3 2 3", longdash: "12 4" };
const GROUP = 0.8; // of the step between two names

const one = (value, at) => (Array.isArray(value) ? value[at] : value);
const stroke = ({ color, width = 2, dash }) => ({
  fill: "none",
  stroke: color,
  "stroke-width": width,
  "stroke-dasharray": DASHES[dash],
});

/** The line through the points; it ends at a gap. */
export function linePath(points, shape) {
  let open = false;
  return points
    .map(({ left, top }) => {
      if (!Number.isFinite(left) || !Number.isFinite(top)) {
        open = false;
        return "";
      }
      const [x, y] = [left.toFixed(1), top.toFixed(1)];
      const step = !open ? `M${x},${y}` : shape === "hv" ? `H${x}V${y}` : `L${x},${y}`;
      open = true;
      return step;
    })
    .join("");
}

/** Markers, one path per colour: a path of many is drawn much faster than many paths. */
function markers(trace, points) {
  const paths = new Map();
  points.forEach(({ left, top }, at) => {
    const size = one(trace.marker?.size ?? 6, at) / 2;
    if (!(size > 0) || !Number.isFinite(left) || !Number.isFinite(top)) return;
    const shape = one(trace.marker?.symbol ?? "circle", at);
    const key = `${one(trace.marker?.color, at)} ${shape.endsWith("-open")}`;
    paths.set(key, (paths.get(key) ?? "") + markerPath(shape, left, top, size));
  });
  return [...paths].map(([key, d]) => {
    const [colour, open] = key.split(/ (?=true$|false$)/);
    return s("path", { class: "points", d, ...(open === "true" ? stroke({ color: colour }) : { fill: colour }) });
  });
}

/** The line and the markers of a scatter trace at its points. */
export const scatterMarks = (trace, points) =>
  s(
    "g",
    { opacity: trace.opacity },
    trace.mode?.includes("lines") &&
      s("path", { class: "line", d: linePath(points, trace.line?.shape), ...stroke(trace.line ?? {}) }),
    trace.mode?.includes("markers") && markers(trace, points),
  );

/** The rectangles of a bar trace, the `place`-th of `count` side by side; each says which point it stands for. */
export function barBoxes(trace, points, x, y, place, count) {
  const lying = trace.orientation === "h";
  return points.map((point, at) => {
    const [along, value] = lying ? [y, point.x] : [x, point.y];
    const step = one(trace.width, at) ?? GROUP / count;
    const middle = along.number(lying ? point.y : point.x);
    const start = trace.width ? middle - step / 2 : middle - GROUP / 2 + place * step;
    const sides = [along.at(start), along.at(start + step)].sort((a, b) => a - b);
    const ends = [(lying ? x : y).at(0), (lying ? x : y).at(value)].sort((a, b) => a - b);
    const [across, up] = lying ? [ends, sides] : [sides, ends];
    return { point, left: across[0], right: across[1], top: up[0], bottom: up[1] };
  });
}

/** Bars, and the number at the end of each where the trace has a template for it. */
export const barMarks = (trace, boxes) =>
  s(
    "g",
    { class: "bars-of" },
    boxes.map(({ point, left, right, top, bottom }) => [
      s("rect", {
        class: "bar-of",
        x: left,
        y: top,
        width: Math.max(0, right - left),
        height: Math.max(0, bottom - top),
        fill: trace.marker?.color,
      }),
      trace.texttemplate && s("text", { x: right + 4, y: (top + bottom) / 2 + 4 }, filled(trace.texttemplate, point)),
    ]),
  );

/** A trace in the legend: its line and its marker. */
export const sample = (trace) =>
  s(
    "svg",
    { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" },
    trace.type === "bar" && s("rect", { x: 8, y: 1, width: 10, height: 10, fill: trace.marker?.color }),
    trace.mode?.includes("lines") && s("path", { d: "M0,6H26", opacity: trace.opacity, ...stroke(trace.line ?? {}) }),
    trace.mode?.includes("markers") &&
      s("path", {
        d: markerPath(one(trace.marker?.symbol, 0), 13, 6, 4),
        fill: one(trace.marker?.color, 0),
      }),
  );
