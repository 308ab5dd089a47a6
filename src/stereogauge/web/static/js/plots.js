// The figures of the server (`figures/plotly`), in the colours of the page.

import { chart } from "./charts/chart.js";
import { shown } from "./theme.js";

const colours = (value) => (Array.isArray(value) ? value.map(shown) : typeof value === "string" ? shown(value) : value);
const recoloured = (part) => (part?.color ? { ...part, color: colours(part.color) } : part);
const isAxis = (name) => name === "xaxis" || name === "yaxis";

/** Draw a figure that the server made; `layout` replaces parts of its own, `options` are those of `chart`. */
export function draw(element, figure, layout = {}, options = {}) {
  const traces = figure.data.map((trace) => ({
    ...trace,
    line: recoloured(trace.line),
    marker: recoloured(trace.marker),
  }));
  const axes = Object.entries(figure.layout)
    .filter(([name]) => isAxis(name))
    .map(([name, own]) => [name, { ...own, ...layout[name] }]);
  const shapes = (figure.layout.shapes ?? []).map((shape) => ({ ...shape, line: recoloured(shape.line) }));
  chart(element, traces, { ...figure.layout, ...layout, shapes, ...Object.fromEntries(axes) }, options);
}
