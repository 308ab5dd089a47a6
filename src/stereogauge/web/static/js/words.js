// Words before ids: what a metric, a region and a column are called.

import { h, s } from "./dom.js";
import * as state from "./state.js";
import { shown } from "./theme.js";

const CIRCLE = "M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z";

/** The SVG path of a marker. */
export const mark = (shape) => (shape?.startsWith?.("M") ? shape : CIRCLE);

/** The swatch of an algorithm: its colour in its shape. */
export const badge = (own) =>
  s(
    "svg",
    { width: 11, height: 11, viewBox: "-5.5 -5.5 11 11", class: "swatch", "aria-hidden": "true" },
    s("path", { d: mark(own?.shape), fill: shown(own?.colour ?? "#888888"), transform: "scale(4.2)" }),
  );

/** An algorithm's name behind its swatch, whatever way it is written; with an address it is a link. */
export const named = (context, name, href = null) =>
  h(href ? "a" : "span", { class: "algorithm", href, title: name }, badge(context.styles.get(name)), h("bdi", name));

/** An algorithm's name that leads to its page. */
export const linked = (context, name) => named(context, name, state.address({ name }, "algorithm"));

/** Text that the server sent in parts: words, and names of algorithms. */
export const spoken = (context, parts) => parts.map(({ text, name }) => (name ? named(context, text) : text));

/** A text of the server in which names of algorithms stay whole, whatever way they are written. */
export function isolated(context, text) {
  const escaped = [...context.styles.keys()].map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!escaped.length) return text;
  const names = new RegExp(`(${escaped.sort((a, b) => b.length - a.length).join("|")})`);
  return text.split(names).map((part, at) => (at % 2 ? h("bdi", part) : part));
}

/** The colour of an algorithm, the same in every view. */
export const colourOf = (context, name) => shown(context.styles.get(name)?.colour ?? "#888888");

/** The text with a small first letter, unless its first word has capitals or digits inside. */
export function lowerFirst(text) {
  const [first] = text.split(" ");
  return /[A-Z0-9]/.test(first.slice(1)) ? text : text.charAt(0).toLowerCase() + text.slice(1);
}

/** A metric in words with its parameters: "bad pixels (1 px)"; an unknown one by its id. */
export function metricWords(context, metric) {
  const [id, stated] = metric.split("@");
  const declared = context.catalogue.metrics.find((one) => one.id === id);
  if (!declared) return metric;
  const values = stated?.split(",").map((value, at) => `${value} ${declared.parameters[at]?.unit ?? ""}`.trim());
  return `${lowerFirst(declared.name)}${values ? ` (${values.join(", ")})` : ""}`;
}

/** A region in words; a mask that comes with the scenes by its name. */
export function regionWords(context, region) {
  const declared = context.catalogue.regions.find((one) => one.id === region);
  return declared ? lowerFirst(declared.name) : region;
}

/** A column in words: the metric, and its region where it was chosen and does not belong to the metric. */
export function columnWords(context, column) {
  const own = column.label === column.metric;
  const words = metricWords(context, column.metric);
  return own ? words : `${words}, ${regionWords(context, column.region)}`;
}

/** A term of weights, which is a metric or a column's id, in words. */
export function termWords(context, term) {
  const [metric, region] = term.split(":");
  return region ? `${metricWords(context, metric)}, ${regionWords(context, region)}` : metricWords(context, metric);
}

/** An option of a list of columns: words first, the id second. */
export const columnOption = (context, column) => [column.id, `${columnWords(context, column)} · ${column.label}`];

/** An id, small beside its words. */
export const idMark = (id) => h("span.id", id);
