// Charts as SVG: points, lines and bars as Plotly's JSON describes them, on one pair of axes. Only what the figures of
// this site use is understood; that spares every visitor a library of several megabytes.

import { h, put, s } from "../dom.js";
import { axisOf } from "./axis.js";
import { lines, values } from "./figure.js";
import { barBoxes, barMarks, sample, scatterMarks } from "./marks.js";
import { followPointer } from "./pointing.js";
import { textWidth } from "./text.js";

const HEIGHT = 320;
const LINE = 15; // px between lines of text
const RIGHT = 16;
const CLIP = 7; // markers on the rim are drawn whole
const GAPS = { x: 64, y: 42 }; // px between ticks, at least

const charts = new WeakMap();
const isBar = (trace) => trace.type === "bar";
/** Whether a straight line stands upright: it runs over all of the y axis. */
const isUpright = ({ yref }) => yref === "paper" || String(yref).endsWith("domain");
const groupOf = (trace) => trace.legendgroup ?? trace.name;

/**
 * Draw traces into an element, in place of an earlier chart. `label` is said to those who do not see it;
 * `onPoint(trace, index)` is called when a point is clicked, `onHover(trace, index)` when the pointer comes near one.
 */
export function chart(element, traces, layout, options = {}) {
  const known = charts.get(element);
  const own = known ?? { hidden: new Set(), width: 0 };
  const unpacked = (trace) =>
    ["x", "y", "width"].filter((name) => trace[name]).map((name) => [name, values(trace[name])]);
  const read = traces.map((trace) => ({ ...trace, ...Object.fromEntries(unpacked(trace)) }));
  Object.assign(own, { traces: read, layout, options, zoom: null });
  charts.set(element, own);
  if (!known) new ResizeObserver(() => element.clientWidth !== own.width && drawChart(element, own)).observe(element);
  drawChart(element, own);
}

/** The part of the page that the chart fills, and its axes. */
function arranged(own, shown) {
  const { layout, zoom, width } = own;
  const { xaxis = {}, yaxis = {}, height = HEIGHT } = layout;
  const [bars, marked] = [shown.filter(isBar), shown.some((trace) => !isBar(trace) && trace.mode?.includes("markers"))];
  const lying = bars.some((trace) => trace.orientation === "h");
  const titles = { x: lines(xaxis.title?.text), y: lines(yaxis.title?.text).join(" ") };
  const edges = bars.flatMap(({ x, width: wide = [] }) =>
    wide.flatMap((one, at) => [x[at] - one / 2, x[at] + one / 2]),
  );
  const frame = {
    top: (layout.annotations ?? []).length ? LINE + 6 : 8,
    bottom: height - 8 - LINE - (titles.x[0] ? LINE * titles.x.length + 4 : 0),
  };
  const across = (layout.shapes ?? []).filter(isUpright).map((shape) => shape.x0);
  const up = (layout.shapes ?? []).filter((shape) => !isUpright(shape)).map((shape) => shape.y0);
  const on = (name) => shown.flatMap((trace) => trace[name]);
  const vertical = axisOf(yaxis, [...on("y"), ...up], { zero: bars.length > 0 && !lying, pad: marked, zoom: zoom?.y });
  const y = vertical.fit(frame.bottom, frame.top, GAPS.y);
  frame.left = Math.max(0, ...y.ticks.map((tick) => textWidth(tick.text))) + (titles.y ? LINE + 14 : 12);
  frame.right = width - (bars.some((trace) => trace.texttemplate) ? 3 * RIGHT : RIGHT);
  const x = axisOf(xaxis, [...(edges.length ? edges : on("x")), ...across], {
    zero: lying,
    pad: marked,
    zoom: zoom?.x,
  }).fit(frame.left, frame.right, GAPS.x);
  return { x, y, frame, titles, width, height };
}

function axes({ x, y, frame, titles, height }) {
  const middle = (frame.top + frame.bottom) / 2;
  return [
    x.ticks.map(({ at, text }) =>
      s(
        "g",
        { class: "xtick" },
        s("line", { x1: at, x2: at, y1: frame.top, y2: frame.bottom + 3, class: "grid" }),
        s("text", { x: at, y: frame.bottom + LINE, "text-anchor": "middle" }, text),
      ),
    ),
    y.ticks.map(({ at, text }) =>
      s(
        "g",
        { class: "ytick" },
        s("line", { x1: frame.left - 3, x2: frame.right, y1: at, y2: at, class: "grid" }),
        s("text", { x: frame.left - 7, y: at + 4, "text-anchor": "end" }, text),
      ),
    ),
    s("path", { d: `M${frame.left},${frame.top}V${frame.bottom}H${frame.right}`, class: "rule", fill: "none" }),
    titles.x.map((line, at) =>
      s(
        "text",
        {
          x: (frame.left + frame.right) / 2,
          y: height - 6 - LINE * (titles.x.length - 1 - at),
          "text-anchor": "middle",
        },
        line,
      ),
    ),
    titles.y &&
      s("text", { x: 11, y: middle, transform: `rotate(-90 11 ${middle})`, "text-anchor": "middle" }, titles.y),
  ];
}

/** Straight lines across the chart, at a value of one axis. */
function rules({ x, y, frame }, shapes = []) {
  return shapes.map(({ x0, y0, yref, line }) => {
    const upright = isUpright({ yref });
    const at = upright ? x.place(x0) : y.place(y0);
    const [from, to] = upright ? [frame.top, frame.bottom] : [frame.left, frame.right];
    return s("path", {
      d: upright ? `M${at},${from}V${to}` : `M${from},${at}H${to}`,
      stroke: line.color,
      "stroke-width": line.width ?? 1.5,
      "stroke-dasharray": line.dash ? "6 4" : null,
    });
  });
}

/** Remarks above the chart, or at a value of the y axis. */
function remarks({ y, frame }, annotations = []) {
  return annotations.map(({ text, yref, y: at }) => {
    const above = isUpright({ yref });
    const height = above ? frame.top - 7 : y.place(at) - 5;
    return s("text", { x: frame.right, y: height, "text-anchor": "end", class: "soft" }, lines(text).join(" "));
  });
}

function drawChart(element, own) {
  own.width = element.clientWidth;
  if (!own.width) return;
  const shown = own.traces.filter((trace) => !own.hidden.has(groupOf(trace)));
  const parts = arranged(own, shown);
  const { x, y, frame, width, height } = parts;
  const bars = shown.filter(isBar);
  const placed = shown.map((trace) => {
    const points = trace.x.map((_, at) => {
      const [across, up] = [trace.x[at], trace.y[at]];
      const known = across !== null && up !== null;
      return {
        trace,
        at,
        x: across,
        y: up,
        text: Array.isArray(trace.text) ? trace.text[at] : trace.text,
        left: known ? x.place(across) : NaN,
        top: known ? y.place(up) : NaN,
      };
    });
    if (!isBar(trace)) return { trace, points, marks: scatterMarks(trace, points) };
    const boxes = barBoxes(trace, points, x, y, bars.indexOf(trace), bars.length);
    return { trace, points, boxes, marks: barMarks(trace, boxes) };
  });
  const inside = [frame.left - CLIP, frame.top - CLIP];
  const size = [frame.right - frame.left + 2 * CLIP, frame.bottom - frame.top + 2 * CLIP];
  const [below, above] = [true, false].map((under) =>
    rules(
      parts,
      own.layout.shapes?.filter((shape) => (shape.layer === "below") === under),
    ),
  );
  const picture = s(
    "svg",
    {
      class: "figure",
      width,
      height,
      viewBox: `0 0 ${width} ${height}`,
      role: "img",
      "aria-label": own.options.label,
    },
    axes(parts),
    // An inner picture cuts off what a closer look leaves outside the axes; numbers beside bars may stand outside.
    bars.some((trace) => trace.texttemplate)
      ? placed.map((one) => one.marks)
      : s(
          "svg",
          { x: inside[0], y: inside[1], width: size[0], height: size[1], viewBox: [...inside, ...size].join(" ") },
          below,
          placed.map((one) => one.marks),
          above,
        ),
    remarks(parts, own.layout.annotations),
  );
  const tip = h("div", { class: "tip", hidden: true });
  put(element, picture, tip, own.layout.showlegend && legend(element, own));
  const zoomed = (zoom) => {
    own.zoom = zoom;
    drawChart(element, own);
  };
  followPointer(picture, tip, placed, parts, own.options, zoomed);
}

/** What the traces are called; a click hides those of a name, or shows them again. */
function legend(element, own) {
  const named = own.traces.filter((trace) => trace.name && trace.showlegend !== false);
  const toggle = (group) => {
    own.hidden.has(group) ? own.hidden.delete(group) : own.hidden.add(group);
    drawChart(element, own);
    element.querySelector(`.legend button[data-trace="${CSS.escape(group)}"]`)?.focus();
  };
  return h(
    "div",
    { class: "legend" },
    named
      .filter((trace, at) => named.findIndex((other) => groupOf(other) === groupOf(trace)) === at)
      .map((trace) =>
        h(
          "button",
          {
            type: "button",
            "data-trace": groupOf(trace),
            "aria-pressed": String(!own.hidden.has(groupOf(trace))),
            onclick: () => toggle(groupOf(trace)),
          },
          sample(trace),
          trace.name,
        ),
      ),
  );
}
