// The pointer over a chart: what stands below it is described; a dragged rectangle is looked at closer.

import { h, put, s } from "../dom.js";
import { described } from "./figure.js";

const NEAR = 16; // px
const DRAGGED = 6; // px

const within = ({ left, right, top, bottom }, x, y) => x >= left && x <= right && y >= top && y <= bottom;

/** How far a place is from the straight line between two points, px. */
function fromSegment(x, y, a, b) {
  const [dx, dy] = [b.left - a.left, b.top - a.top];
  const along = Math.max(0, Math.min(1, ((x - a.left) * dx + (y - a.top) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - a.left - along * dx, y - a.top - along * dy);
}

/** The point, bar or line near a place: points first, then bars, then lines that only have a name. */
function nearest(placed, x, y) {
  let [best, distance] = [null, NEAR];
  const consider = (point, away) => {
    if (away < distance) [best, distance] = [point, away];
  };
  for (const { trace, points, boxes } of placed) {
    if (trace.hoverinfo === "skip" || trace.hoverinfo === "name" || boxes) continue;
    const shown = (at) => !Array.isArray(trace.marker?.size) || trace.mode.includes("lines") || trace.marker.size[at];
    for (const point of points) if (shown(point.at)) consider(point, Math.hypot(point.left - x, point.top - y));
  }
  if (best) return best;
  for (const { boxes = [] } of placed) {
    const box = boxes.find((one) => within(one, x, y));
    if (box) return { ...box.point, left: (box.left + box.right) / 2, top: box.top };
  }
  for (const { trace, points } of placed) {
    if (trace.hoverinfo !== "name") continue;
    for (let at = 1; at < points.length; at += 1)
      consider({ ...points[at], left: x, top: y }, 2 * fromSegment(x, y, points[at - 1], points[at]));
  }
  return best;
}

/** Let a chart answer the pointer; `zoomed` is given the ranges of a dragged rectangle, or null for everything. */
export function followPointer(picture, tip, placed, { x, y, frame, width }, { onPoint, onHover }, zoomed) {
  let start = null;
  let box = null;
  let last = null;

  const place = (event) => {
    const own = picture.getBoundingClientRect();
    const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
    return [
      clamp(event.clientX - own.left, frame.left, frame.right),
      clamp(event.clientY - own.top, frame.top, frame.bottom),
    ];
  };

  function describe(point) {
    tip.hidden = point === null;
    picture.style.cursor = point && onPoint ? "pointer" : "";
    if (point === null) return;
    put(
      tip,
      described(point.trace, point).map((line) => h("div", {}, line)),
    );
    const beside = point.left > width / 2;
    tip.style.left = beside ? "auto" : `${point.left + 12}px`;
    tip.style.right = beside ? `${width - point.left + 12}px` : "auto";
    tip.style.top = `${Math.max(0, point.top - 14)}px`;
  }

  function drag(event) {
    const [left, top] = place(event);
    if (!box && Math.hypot(left - start[0], top - start[1]) < DRAGGED) return;
    box ??= picture.appendChild(s("rect", { class: "closer" }));
    describe(null);
    const sides = { x: Math.min(left, start[0]), y: Math.min(top, start[1]) };
    const size = { width: Math.abs(left - start[0]), height: Math.abs(top - start[1]) };
    for (const [name, value] of Object.entries({ ...sides, ...size })) box.setAttribute(name, value);
  }

  picture.addEventListener("pointermove", (event) => {
    if (start) return drag(event);
    const point = nearest(placed, ...place(event));
    describe(point);
    if (point && (point.trace !== last?.trace || point.at !== last?.at)) onHover?.(point.trace, point.at);
    last = point;
    return undefined;
  });
  picture.addEventListener("pointerleave", () => start || describe(null));
  picture.addEventListener("pointerdown", (event) => {
    // One finger scrolls the page; only a mouse draws rectangles.
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    start = place(event);
    picture.setPointerCapture(event.pointerId);
  });
  picture.addEventListener("pointerup", (event) => {
    const from = start;
    start = null;
    if (!box) return;
    const [to, drawn] = [place(event), box];
    drawn.remove();
    // The click that follows belongs to the drag.
    setTimeout(() => {
      box = null;
    });
    if (Math.abs(to[0] - from[0]) < DRAGGED || Math.abs(to[1] - from[1]) < DRAGGED) return;
    const range = (axis, at, low, high) => [axis.value(at(low)), axis.value(at(high))];
    zoomed({
      x: range(x, (one) => one[0], from[0] < to[0] ? from : to, from[0] < to[0] ? to : from),
      y: range(y, (one) => one[1], from[1] > to[1] ? from : to, from[1] > to[1] ? to : from),
    });
  });
  picture.addEventListener("click", (event) => {
    const point = box ? null : nearest(placed, ...place(event));
    if (point && point.trace.hoverinfo !== "name") onPoint?.(point.trace, point.at);
  });
  picture.addEventListener("dblclick", () => zoomed(null));
}
