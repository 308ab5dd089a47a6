// Charts that the server declares in Vega-Lite, drawn in the colours of the page.

import { h, put, s } from "./dom.js";
import { drawing } from "./drawing.js";
import { ink, shown } from "./theme.js";
import { mark } from "./words.js";

const MOST_ELEMENTS = 1500; // rows from which a canvas is faster than SVG
const MOST_TICKS = 8;
const views = new WeakMap();
let library = null;

/** Load Vega once, when the first chart needs it. */
function loadVega() {
  library ??= new Promise((resolve, reject) => {
    const script = h("script", { src: "static/vega.js", onload: () => resolve(window.vegaEmbed), onerror: reject });
    document.head.append(script);
  });
  return library;
}

const PAPER_COLOURS = { "#1a1a1a": "ink", "#6b6b6b": "muted", "#dddddd": "line" }; // those of `figures.palette`

/** The same declaration with colours that show on the paper of the present theme, and without its lists of names. */
function recoloured(value) {
  if (typeof value === "string") return PAPER_COLOURS[value] ? ink(PAPER_COLOURS[value]) : shown(value);
  if (Array.isArray(value)) return value.map(recoloured);
  if (value === null || typeof value !== "object") return value;
  const part = (key, own) => (key === "data" ? own : key === "legend" && own?.columns ? null : recoloured(own));
  return Object.fromEntries(Object.entries(value).map(([key, own]) => [key, part(key, own)]));
}

function style() {
  const font = getComputedStyle(document.body).fontFamily;
  const text = { labelColor: ink("ink"), titleColor: ink("ink"), labelFontSize: 11.5, titleFontSize: 11.5 };
  return {
    aria: false,
    background: "transparent",
    font,
    view: { stroke: null },
    axis: {
      ...text,
      titleFontWeight: "normal",
      gridColor: ink("line"),
      domainColor: ink("faint"),
      tickColor: ink("faint"),
      labelLimit: Math.max(90, innerWidth / 5),
      titleLimit: 600,
      tickCount: MOST_TICKS,
    },
    legend: { ...text, disable: true },
    title: { color: ink("muted"), fontSize: 11.5, fontWeight: "normal" },
    text: { color: ink("ink"), fontSize: 11.5, font },
    point: { filled: true, opacity: 1 },
  };
}

/** A box with a text per line beside the pointer. */
function tipFor(element) {
  const tip = h("div", { class: "tip", hidden: true });
  element.append(tip);
  return (_handler, event, _item, value) => {
    tip.hidden = value === null || value === undefined || value === "";
    if (tip.hidden) return;
    const lines = Object.entries(value).filter(([, text]) => text !== "" && text !== "null");
    put(
      tip,
      lines.map(([name, text]) => h("div", h("span.hint", `${name} `), text)),
    );
    const frame = element.getBoundingClientRect();
    const [left, top] = [event.clientX - frame.left, event.clientY - frame.top];
    const beside = left > frame.width / 2;
    tip.style.left = beside ? "auto" : `${left + 12}px`;
    tip.style.right = beside ? `${frame.width - left + 12}px` : "auto";
    tip.style.top = `${Math.max(0, top - 14)}px`;
  };
}

const scale = (view, name) => {
  try {
    return view.scale(name);
  } catch {
    return null; // the chart has no such scale
  }
};

/** The names of the series; a click hides one or shows it again. */
function legend(view, series) {
  const [colour, shape, dash] = ["color", "shape", "strokeDash"].map((name) => scale(view, name));
  const hidden = new Set();
  const toggle = (event, name) => {
    hidden.has(name) ? hidden.delete(name) : hidden.add(name);
    event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(name)));
    view.signal("hidden", [...hidden]).runAsync();
  };
  const sample = (name) =>
    s(
      "svg",
      { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" },
      dash &&
        s("path", { d: "M0,6H26", stroke: colour(name), "stroke-width": 2, "stroke-dasharray": dash(name).join(" ") }),
      !dash && s("path", { d: mark(shape?.(name)), fill: colour(name), transform: "translate(13 6) scale(4.2)" }),
    );
  return h(
    "div.legend",
    (colour?.domain() ?? []).map((name) =>
      series
        ? h(
            "button",
            { type: "button", "data-trace": name, "aria-pressed": "true", onclick: (event) => toggle(event, name) },
            sample(name),
            name,
          )
        : h("span", sample(name), name),
    ),
  );
}

/**
 * Draw a chart into an element, in place of an earlier one; `label` describes it to those who do not see it.
 * `height` replaces the declared one, `named` adds the legend, `hidden` are series that are not drawn.
 * `onPoint(row)` is called for a click on a mark, `onHover(row)` when the pointer is over one, or with null.
 */
export const chart = (element, declared, options) => drawing(drawn(element, declared, options));

async function drawn(element, declared, { label, height, named = false, hidden = [], onPoint, onHover }) {
  const embed = await loadVega();
  const spec = recoloured(declared);
  spec.config = style();
  delete spec.title;
  if (spec.autosize?.type === "fit-x") spec.width = element.clientWidth || 600;
  if (height) spec.height = height;
  const many = declared.data.values.length > MOST_ELEMENTS;
  const place = h("div");
  views.get(element)?.finalize();
  put(element, place);
  const options = { ast: true, actions: false, logLevel: 1, defaultStyle: false, renderer: many ? "canvas" : "svg" };
  const { view } = await embed(place, spec, { ...options, tooltip: tipFor(element) });
  if (!place.isConnected) {
    view.finalize();
    return null;
  }
  views.set(element, view);
  if (hidden.length) await view.signal("hidden", hidden).runAsync();
  const picture = place.querySelector("svg, canvas");
  for (const [name, value] of Object.entries({ role: "img", "aria-label": label })) picture.setAttribute(name, value);
  // One label for the picture, and a table behind it, instead of a role for every mark.
  for (const part of picture.children) part.setAttribute("aria-hidden", "true");
  picture.classList.add("figure");
  if (named) element.append(legend(view, spec.usermeta?.series));
  if (onPoint) {
    view.addEventListener("click", (_, item) => item?.datum && onPoint(item.datum));
    view.addEventListener("pointermove", (_, item) => {
      picture.style.cursor = item?.datum ? "pointer" : "";
    });
  }
  if (onHover) {
    view.addEventListener("pointermove", (_, item) => onHover(item?.datum ?? null));
    view.addEventListener("pointerout", () => onHover(null));
  }
  if (spec.autosize?.type === "fit-x")
    new ResizeObserver(() => {
      const width = element.clientWidth;
      if (width && place.isConnected && width !== view.width()) view.signal("width", width).runAsync();
    }).observe(element);
  element.dataset.drawn = label;
  return view;
}

/** A chart as the text of an SVG or the bytes of a PNG, on white paper, with its title, caption and shown series. */
export async function saved(declared, form, { title, caption, hidden = [] }) {
  const embed = await loadVega();
  const lines = caption.match(/.{1,110}(\s|$)/gu) ?? [caption];
  const spec = structuredClone(declared);
  spec.title = { text: title, subtitle: lines, anchor: "start", fontSize: 13, subtitleFontSize: 9 };
  if (spec.autosize?.type === "fit-x") spec.width = 720;
  spec.params = spec.params?.map((one) => (one.name === "hidden" ? { ...one, value: hidden } : one));
  const place = h("div", { style: { position: "absolute", left: "-9999px" } });
  document.body.append(place);
  const options = { ast: true, actions: false, logLevel: 1, defaultStyle: false, tooltip: false, renderer: "svg" };
  spec.config = { ...spec.config, aria: false, background: "transparent" };
  const { view } = await embed(place, spec, options);
  try {
    // White paper is drawn here: a background of Vega's would be a style, which the page's policy forbids.
    if (form === "svg")
      return (await view.toSVG()).replace(/(<svg[^>]*>)/, '$1<rect width="100%" height="100%" fill="#fff"/>');
    const rendered = await view.toCanvas(2);
    const canvas = Object.assign(document.createElement("canvas"), { width: rendered.width, height: rendered.height });
    const pen = canvas.getContext("2d");
    pen.fillStyle = "#ffffff";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(rendered, 0, 0);
    return await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  } finally {
    view.finalize();
    place.remove();
  }
}
