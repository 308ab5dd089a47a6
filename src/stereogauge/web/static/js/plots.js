// Plotly, loaded when a view first needs it, in the colours of the page.

import { ink, shown } from "./theme.js";

let loading = null;

/** Plotly from the server's own copy; a view that will need it asks for it before it asks for its numbers. */
export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "static/plotly.min.js";
    script.onload = () => resolve(globalThis.Plotly);
    script.onerror = () => reject(new Error("plotly.min.js cannot be loaded"));
    document.head.append(script);
  });
  return loading;
}

/** Text that Plotly shows as it is: it reads a subset of HTML. */
export const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const isAxis = (name) => /^[xy]axis\d*$/.test(name);

/** Draw traces into an element. */
export async function plot(element, traces, layout = {}) {
  const library = await plotly();
  const axis = {
    gridcolor: ink("line"),
    zerolinecolor: ink("faint"),
    linecolor: ink("faint"),
    ticks: "outside",
    ticklen: 3,
    tickcolor: ink("faint"),
    automargin: true,
  };
  const axes = Object.entries({ xaxis: {}, yaxis: {}, ...layout }).filter(([name]) => isAxis(name));
  await library.react(
    element,
    traces,
    {
      margin: { l: 50, r: 10, t: 10, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      showlegend: false,
      hoverlabel: { font: { size: 11.5 }, align: "left" },
      ...layout,
      ...Object.fromEntries(axes.map(([name, own]) => [name, { ...axis, ...own }])),
      font: { family: getComputedStyle(document.body).fontFamily, size: 11.5, color: ink("ink") },
    },
    { responsive: true, displaylogo: false, displayModeBar: false },
  );
}

const names = (value) => (Array.isArray(value) ? value.map(names) : typeof value === "string" ? plain(value) : value);
const colours = (value) => (Array.isArray(value) ? value.map(shown) : typeof value === "string" ? shown(value) : value);
const recoloured = (part) => (part?.color ? { ...part, color: colours(part.color) } : part);
const ADAPTED = { name: names, text: names, x: names, y: names, line: recoloured, marker: recoloured };

/**
 * Draw a figure that the server made (`figures/plotly`), in the colours of the page. Names in it are shown as they are
 * written; `meta` of a trace keeps its name for listeners.
 */
export function draw(element, figure, layout = {}) {
  const traces = figure.data.map((trace) => ({
    ...trace,
    meta: trace.name,
    ...Object.fromEntries(
      Object.entries(ADAPTED)
        .filter(([key]) => key in trace)
        .map(([key, adapt]) => [key, adapt(trace[key])]),
    ),
  }));
  const axes = Object.entries(figure.layout)
    .filter(([name]) => isAxis(name))
    .map(([name, { gridcolor, ticktext, ...own }]) => [
      name,
      { ...own, ...(ticktext ? { ticktext: names(ticktext) } : {}), ...layout[name] },
    ]);
  const lines = (figure.layout.shapes ?? []).map((shape) => ({ ...shape, line: recoloured(shape.line) }));
  element.style.height = `${layout.height ?? figure.layout.height}px`;
  return plot(element, traces, { ...figure.layout, shapes: lines, ...layout, ...Object.fromEntries(axes) });
}

/** Call `listener(event)` on one kind of Plotly's events, in place of an earlier listener. */
export function listen(element, kind, listener) {
  element.removeAllListeners?.(kind);
  element.on(kind, listener);
}
